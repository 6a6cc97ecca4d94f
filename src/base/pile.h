/* An arena: memory of one lifetime (model cards, vocabularies, plans), taken piece by piece and
 * given back all at once. Its chained chunks grow as they are needed, so that taking never
 * fails. */
#pragma once
#include "base/base.h"

struct pile {
    struct pile_chunk *chunks; /* private */
    size_t n_bytes;
};
void pile_init(struct pile *pile);
void pile_free(struct pile *pile);
void *pile_take(struct pile *pile, size_t n_bytes);                   /* zeroed, 16-byte aligned */
char *pile_text(struct pile *pile, const char *text, size_t n_bytes); /* a zero-terminated copy */
