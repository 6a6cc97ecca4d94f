/* The ordered tree by slot: a treap over an array of nodes.
 *
 * Slots are in search order by (key, tie) and in heap order by priority, a bijective hash of the
 * slot. So no two priorities are equal, and the shape is a function of the content. After Seidel
 * and Aragon, Randomized search trees, 1996. */
#include "base/tree.h"

static uint32_t priority(uint32_t slot)
{
    uint32_t x = slot ^ 0x9E3779B9u;
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return x ^ (x >> 16);
}

static bool is_before(const struct tree_node *a, const struct tree_node *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

void tree_init(struct tree *tree)
{
    *tree = (struct tree){ .root = TREE_NONE, .first = TREE_NONE, .last = TREE_NONE };
}

/* Puts `child` in the place that `old` has under `parent`. */
static void replace_child(struct tree *tree, struct tree_node *nodes, uint32_t parent, uint32_t old,
                          uint32_t child)
{
    if (parent == TREE_NONE)
        tree->root = child;
    else if (nodes[parent].left == old)
        nodes[parent].left = child;
    else
        nodes[parent].right = child;
    if (child != TREE_NONE)
        nodes[child].parent = parent;
}

/* Turns the edge between slot and its parent, so that slot stands above. */
static void rotate_up(struct tree *tree, struct tree_node *nodes, uint32_t slot)
{
    uint32_t parent = nodes[slot].parent;
    uint32_t moved;
    replace_child(tree, nodes, nodes[parent].parent, parent, slot);
    if (nodes[parent].left == slot) {
        moved = nodes[slot].right;
        nodes[slot].right = parent;
        nodes[parent].left = moved;
    } else {
        moved = nodes[slot].left;
        nodes[slot].left = parent;
        nodes[parent].right = moved;
    }
    nodes[parent].parent = slot;
    if (moved != TREE_NONE)
        nodes[moved].parent = parent;
}

void tree_insert(struct tree *tree, struct tree_node *nodes, uint32_t slot, int64_t key,
                 uint64_t tie)
{
    struct tree_node *node = &nodes[slot];
    CHECK(node->in_tree != 1);
    *node = (struct tree_node){ key, tie, TREE_NONE, TREE_NONE, TREE_NONE, 1 };
    uint32_t parent = TREE_NONE, at = tree->root;
    bool goes_left = false;
    if (tree->last != TREE_NONE && !is_before(node, &nodes[tree->last])) { /* in order: no search */
        parent = tree->last;
        at = TREE_NONE;
    }
    while (at != TREE_NONE) {
        parent = at;
        goes_left = is_before(node, &nodes[at]);
        at = goes_left ? nodes[at].left : nodes[at].right;
    }
    node->parent = parent;
    if (parent == TREE_NONE)
        tree->root = slot;
    else if (goes_left)
        nodes[parent].left = slot;
    else
        nodes[parent].right = slot;
    while (node->parent != TREE_NONE && priority(slot) > priority(node->parent))
        rotate_up(tree, nodes, slot);
    if (tree->first == TREE_NONE || is_before(node, &nodes[tree->first]))
        tree->first = slot;
    if (!goes_left && (parent == TREE_NONE || parent == tree->last))
        tree->last = slot;
    tree->n++;
}

uint32_t tree_next(const struct tree *tree, const struct tree_node *nodes, uint32_t slot)
{
    (void)tree;
    uint32_t at = nodes[slot].right;
    if (at != TREE_NONE) {
        while (nodes[at].left != TREE_NONE)
            at = nodes[at].left;
        return at;
    }
    at = slot;
    uint32_t parent = nodes[at].parent;
    while (parent != TREE_NONE && nodes[parent].right == at) {
        at = parent;
        parent = nodes[at].parent;
    }
    return parent;
}

/* Returns the new last slot when the last one, on the right edge, leaves. */
static uint32_t last_before(const struct tree_node *nodes, uint32_t slot)
{
    uint32_t at = nodes[slot].left;
    if (at == TREE_NONE)
        return nodes[slot].parent;
    while (nodes[at].right != TREE_NONE)
        at = nodes[at].right;
    return at;
}

void tree_remove(struct tree *tree, struct tree_node *nodes, uint32_t slot)
{
    struct tree_node *node = &nodes[slot];
    CHECK(node->in_tree == 1 && tree->n > 0);
    if (tree->first == slot)
        tree->first = tree_next(tree, nodes, slot);
    if (tree->last == slot)
        tree->last = last_before(nodes, slot);
    /* Sink until a side is empty, then the other side takes the place. */
    while (node->left != TREE_NONE && node->right != TREE_NONE)
        rotate_up(tree, nodes,
                  priority(node->left) > priority(node->right) ? node->left : node->right);
    uint32_t child = node->left != TREE_NONE ? node->left : node->right;
    replace_child(tree, nodes, node->parent, slot, child);
    node->left = node->right = node->parent = TREE_NONE;
    node->in_tree = 0;
    tree->n--;
}
