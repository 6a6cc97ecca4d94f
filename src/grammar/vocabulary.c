/* Sorts a vocabulary into plain tokens and tails. */
#include "grammar/vocabulary.h"

#include "base/mem.h"
#include <string.h>

/* Returns the bytes of the plain part, and its code points. */
static size_t plain_part(struct view text, uint32_t *n_codes)
{
    size_t n = 0;
    *n_codes = 0;
    while (n < text.n) {
        unsigned char c = (unsigned char)text.at[n];
        int k = c < 0x20 || c == '"' || c == '\\'
                    ? 0
                    : utf8_decode(view_of(text.at + n, text.n - n), NULL);
        if (k <= 0)
            break;
        n += (size_t)k;
        ++*n_codes;
    }
    return n;
}

/* Numbers the different tails in their order, and lists the tokens of each. */
static void sort_tails(struct grammar_vocabulary *v, struct trie_entry *tails, uint32_t n)
{
    struct trie all;
    trie_open(&all, tails, n); /* sorts them by tail, then token */
    trie_close(&all);
    v->tail_first = mem_take(4 * ((size_t)n + 2));
    v->by_tail = mem_take(4 * ((size_t)n + 1));
    int32_t *tail_of = mem_take(4 * ((size_t)v->n + 1));
    struct trie_entry *different = mem_take(sizeof(*different) * ((size_t)n + 1));
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || !view_equal(tails[i - 1].text, tails[i].text)) {
            v->tail_first[v->n_tails] = i;
            different[v->n_tails] = (struct trie_entry){ tails[i].text, (int32_t)v->n_tails };
            v->n_tails++;
        }
        v->by_tail[i] = tails[i].id;
        tail_of[tails[i].id] = (int32_t)v->n_tails - 1;
    }
    v->tail_first[v->n_tails] = n;
    trie_open(&v->tails, different, v->n_tails);
    v->tails_of = mem_take(4 * ((size_t)v->mixed.n_entries + 1));
    for (uint32_t i = 0; i < v->mixed.n_entries; i++)
        v->tails_of[i] = (uint32_t)tail_of[v->mixed.ids[i]];
    mem_give(different);
    mem_give(tail_of);
}

struct grammar_vocabulary *grammar_vocabulary_open(const struct view *pieces, int32_t n)
{
    struct grammar_vocabulary *v = mem_take(sizeof(*v));
    size_t n_bytes = sizeof(struct trie_entry) * ((size_t)n + 1);
    struct trie_entry *all = mem_take(n_bytes), *mixed = mem_take(n_bytes);
    struct trie_entry *tails = mem_take(n_bytes);
    uint32_t n_all = 0, n_mixed = 0, n_codes;
    v->n = n;
    v->n_words = (n + 31) / 32;
    v->plain = mem_take(4 * ((size_t)v->n_words + 1));
    v->blank = mem_take(4 * ((size_t)v->n_words + 1));
    for (int32_t id = 0; id < n; id++) {
        struct view piece = pieces[id];
        if (piece.n == 0) {
            v->blank[id / 32] |= UINT32_C(1) << id % 32;
            continue;
        }
        all[n_all++] = (struct trie_entry){ piece, id };
        size_t n_plain = plain_part(piece, &n_codes);
        v->n_codes = n_codes > v->n_codes ? n_codes : v->n_codes;
        if (n_plain == piece.n) {
            v->plain[id / 32] |= UINT32_C(1) << id % 32;
            continue;
        }
        mixed[n_mixed] = all[n_all - 1];
        tails[n_mixed++] =
            (struct trie_entry){ view_of(piece.at + n_plain, piece.n - n_plain), id };
    }
    trie_open(&v->all, all, n_all);
    trie_open(&v->mixed, mixed, n_mixed);
    sort_tails(v, tails, n_mixed);
    mem_give(all);
    mem_give(mixed);
    mem_give(tails);
    return v;
}

void grammar_vocabulary_close(struct grammar_vocabulary *v)
{
    if (v == NULL)
        return;
    trie_close(&v->all);
    trie_close(&v->mixed);
    trie_close(&v->tails);
    mem_give(v->plain);
    mem_give(v->blank);
    mem_give(v->tails_of);
    mem_give(v->tail_first);
    mem_give(v->by_tail);
    mem_give(v);
}

size_t grammar_vocabulary_bytes(const struct grammar_vocabulary *v)
{
    return trie_bytes(&v->all) + trie_bytes(&v->mixed) + trie_bytes(&v->tails) +
           4 * (2 * (size_t)v->n_words + 2 * (size_t)v->mixed.n_entries + v->n_tails);
}

int32_t grammar_vocabulary_n(const struct grammar_vocabulary *v)
{
    return v->n;
}
