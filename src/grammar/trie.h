/* Texts as a tree of bytes, in preorder: a subtree is a range of nodes, and of entries. */
#pragma once
#include "base/str.h"

struct trie_entry {
    struct view text; /* not empty */
    int32_t id;
};
struct trie {
    uint32_t n_nodes, n_entries;
    uint8_t *bytes;   /* (n_nodes) */
    uint32_t *ends;   /* (n_nodes) the node behind the subtree */
    uint32_t *firsts; /* (n_nodes + 1) the first entry of the subtree; its own entries come first */
    int32_t *ids;     /* (n_entries) */
};
/* Sorts the entries by text, then id. The texts are not kept. */
void trie_open(struct trie *trie, struct trie_entry *entries, uint32_t n);
void trie_close(struct trie *trie);
size_t trie_bytes(const struct trie *trie);
/* Returns the end of the entries whose text ends at this node; they begin at firsts[node]. */
static inline uint32_t trie_own_end(const struct trie *trie, uint32_t node)
{
    return trie->firsts[trie->ends[node] > node + 1 ? node + 1 : trie->ends[node]];
}
