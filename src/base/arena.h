/* Memory of one lifetime, given back all at once: bump allocation in one block that was taken
 * before.
 *
 * arena_init owns a block of `capacity` bytes; arena_take returns zeroed memory or NULL when it is
 * full (shortage is a value). */
#pragma once
#include "base/base.h"

struct arena {
    unsigned char *base;
    size_t capacity, used, used_max;
};

void arena_init(struct arena *arena, size_t capacity);
void arena_free(struct arena *arena);
void *arena_take(struct arena *arena, size_t n_bytes,
                 size_t align) MUST_USE; /* align: power of two <= 64 */
void arena_reset(struct arena *arena);

/* Growing arena for loaders (model cards, vocabularies): never NULL, chunks chained, freed
 * together. */
struct pile {
    struct pile_chunk *chunks; /* private */
    size_t n_bytes;
};
void pile_init(struct pile *pile);
void pile_free(struct pile *pile);
void *pile_take(struct pile *pile, size_t n_bytes);                   /* zeroed, 16-byte aligned */
char *pile_text(struct pile *pile, const char *text, size_t n_bytes); /* a zero-terminated copy */
