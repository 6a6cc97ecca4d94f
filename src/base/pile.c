/* Piles: bump allocation in chained chunks. */
#include "base/pile.h"
#include "base/mem.h"
#include <string.h>

#define PILE_CHUNK_BYTES ((size_t)1 << 16)

struct pile_chunk {
    struct pile_chunk *next;
    size_t capacity, used;
    _Alignas(16) unsigned char data[];
};

void pile_init(struct pile *pile)
{
    *pile = (struct pile){ 0 };
}

void pile_free(struct pile *pile)
{
    for (struct pile_chunk *chunk = pile->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        mem_give(chunk);
    }
    pile_init(pile);
}

static struct pile_chunk *chunk_add(struct pile *pile, size_t n_bytes)
{
    size_t capacity = n_bytes > PILE_CHUNK_BYTES / 4 ? n_bytes : PILE_CHUNK_BYTES;
    CHECK(capacity <= PTRDIFF_MAX - sizeof(struct pile_chunk));
    struct pile_chunk *chunk = mem_take(sizeof(*chunk) + capacity);
    chunk->capacity = capacity;
    /* A big record gets a chunk of its own behind the first, which stays in use. */
    if (pile->chunks != NULL && capacity == n_bytes) {
        chunk->next = pile->chunks->next;
        pile->chunks->next = chunk;
    } else {
        chunk->next = pile->chunks;
        pile->chunks = chunk;
    }
    return chunk;
}

void *pile_take(struct pile *pile, size_t n_bytes)
{
    CHECK(n_bytes <= PTRDIFF_MAX - 16);
    size_t n = (size_t)align_up_u64(n_bytes > 0 ? n_bytes : 1, 16);
    struct pile_chunk *chunk = pile->chunks;
    if (chunk == NULL || n > chunk->capacity - chunk->used)
        chunk = chunk_add(pile, n);
    void *p = chunk->data + chunk->used; /* fresh memory: mem_take zeroed it */
    chunk->used += n;
    pile->n_bytes += n;
    return p;
}

char *pile_text(struct pile *pile, const char *text, size_t n_bytes)
{
    char *copy = pile_take(pile, n_bytes + 1);
    if (n_bytes > 0)
        memcpy(copy, text, n_bytes);
    return copy;
}
