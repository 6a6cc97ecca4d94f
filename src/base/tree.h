/* An ordered tree of slots: the nodes lie in an array beside the records that they order, index by
 * index.
 *
 * Keys are (key, tie): they are compared by key, then by tie (an id, so that the order is total).
 * Insert and remove take O(log n); an insert behind all others, and first, take O(1) amortised. It
 * is a treap whose priorities are a hash of the slot, so that its shape depends on the content
 * alone. */
#pragma once
#include "base/base.h"

#define TREE_NONE UINT32_MAX

struct tree_node {
    int64_t key;
    uint64_t tie;
    uint32_t left, right, parent; /* TREE_NONE: none */
    uint32_t in_tree;             /* 1 while a member */
};
struct tree {
    uint32_t root, first, last;
    uint32_t n;
};

void tree_init(struct tree *tree);
void tree_insert(struct tree *tree, struct tree_node *nodes, uint32_t slot, int64_t key,
                 uint64_t tie);
void tree_remove(struct tree *tree, struct tree_node *nodes, uint32_t slot);
uint32_t tree_next(const struct tree *tree, const struct tree_node *nodes,
                   uint32_t slot); /* TREE_NONE at the end */
static inline uint32_t tree_first(const struct tree *tree)
{
    return tree->first;
}
