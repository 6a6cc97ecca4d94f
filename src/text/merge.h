/* The merge loop that both encoders share.
 *
 * It repeatedly joins the neighbouring pair of lowest rank. Among equal pairs it takes the
 * leftmost. */
#pragma once
#include "text/vocab.h"

struct text_ids { /* receives ids; n counts on past n_max */
    int32_t *at;
    int64_t n, n_max;
};
static inline void text_ids_add(struct text_ids *ids, int32_t id)
{
    if (ids->n < ids->n_max)
        ids->at[ids->n] = id;
    ids->n++;
}

#define TEXT_RANK_NONE UINT32_MAX
struct text_symbol {
    uint32_t start, n;  /* bytes within the word; n = 0: joined into its left neighbour */
    int32_t id;         /* -1: no token of its own */
    int32_t prev, next; /* neighbours, -1 at the ends */
    uint32_t rank;      /* of joining it with next, TEXT_RANK_NONE when that forms nothing */
    int32_t joined;     /* the id of that joined pair */
};
struct text_merge {
    struct text_symbol *symbols;
    size_t capacity;
    int32_t n;
    uint64_t *heap; /* rank << 32 | left symbol */
    size_t heap_capacity, n_heap;
    /* Sets left's rank and joined id for the pair (left, right) of the word at `text`. */
    void (*find)(const void *of, const char *text, struct text_symbol *left,
                 const struct text_symbol *right);
    const void *of;
};
void text_merge_init(struct text_merge *merge);
void text_merge_free(struct text_merge *merge);
/* Empties the word and makes room for n_max symbols. */
void text_merge_begin(struct text_merge *merge, size_t n_max);
void text_merge_add(struct text_merge *merge, uint32_t start, uint32_t n, int32_t id);
/* Merges. Afterwards the symbols from 0 on, linked by next, are the result. */
void text_merge_run(struct text_merge *merge, const char *text);
