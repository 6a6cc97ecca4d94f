/* Builds a trie from sorted texts. */
#include "grammar/trie.h"

#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
    const struct trie_entry *x = a, *y = b;
    size_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
    int order = memcmp(x->text.at, y->text.at, n);
    if (order != 0)
        return order;
    if (x->text.n != y->text.n)
        return x->text.n < y->text.n ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static size_t shared(struct view a, struct view b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.at[n] == b.at[n])
        n++;
    return n;
}

void trie_open(struct trie *trie, struct trie_entry *entries, uint32_t n)
{
    size_t n_nodes = 0, n_deepest = 0, n_open = 0;
    struct view last = view_of("", 0);
    qsort(entries, n, sizeof(*entries), by_text);
    for (uint32_t i = 0; i < n; i++) {
        n_nodes += entries[i].text.n - shared(last, entries[i].text);
        n_deepest = entries[i].text.n > n_deepest ? entries[i].text.n : n_deepest;
        last = entries[i].text;
    }
    *trie = (struct trie){ 0,
                           n,
                           mem_take(n_nodes + 1),
                           mem_take(4 * (n_nodes + 1)),
                           mem_take(4 * (n_nodes + 1)),
                           mem_take(4 * ((size_t)n + 1)) };
    uint32_t *open = mem_take(4 * (n_deepest + 1)); /* the nodes of the current path */
    last = view_of("", 0);
    for (uint32_t i = 0; i < n; i++) {
        size_t same = shared(last, entries[i].text);
        for (; n_open > same; n_open--)
            trie->ends[open[n_open - 1]] = trie->n_nodes;
        for (; n_open < entries[i].text.n; n_open++) {
            open[n_open] = trie->n_nodes;
            trie->bytes[trie->n_nodes] = (uint8_t)entries[i].text.at[n_open];
            trie->firsts[trie->n_nodes++] = i;
        }
        trie->ids[i] = entries[i].id;
        last = entries[i].text;
    }
    for (; n_open > 0; n_open--)
        trie->ends[open[n_open - 1]] = trie->n_nodes;
    trie->firsts[trie->n_nodes] = n;
    mem_give(open);
}

void trie_close(struct trie *trie)
{
    mem_give(trie->bytes);
    mem_give(trie->ends);
    mem_give(trie->firsts);
    mem_give(trie->ids);
    *trie = (struct trie){ 0 };
}

size_t trie_bytes(const struct trie *trie)
{
    return 9 * (size_t)trie->n_nodes + 4 * (size_t)trie->n_entries;
}
