/* A queue of variable-length records between one writer and one reader, without locks and without
 * pointers.
 *
 * The memory may be shared between threads or processes. A record is published by one release store
 * of `head`, so a reader never sees half a record, also when the writer is killed. Layout: struct
 * ring, then `capacity` bytes (a power of two). Each record is {uint32 n_bytes, uint32 unused,
 * payload, padding to 8}, so that a payload is aligned to 8. A record never wraps: a skip mark
 * fills the end. Readers copy a record out before they use it, and they check its length against
 * the ring, because the other side may be hostile. */
#pragma once
#include "base/base.h"
#include <stdatomic.h>

struct ring {
    uint64_t capacity;                  /* bytes of data, power of two */
    _Alignas(64) _Atomic uint64_t head; /* written by the writer: bytes ever published */
    _Alignas(64) _Atomic uint64_t tail; /* written by the reader: bytes ever consumed */
    _Alignas(64) unsigned char data[];
};

size_t ring_bytes(uint64_t capacity); /* memory that a ring of this capacity needs */
void ring_init(struct ring *ring,
               uint64_t capacity); /* in memory of ring_bytes(capacity), 64-byte aligned */
/* Copies the parts one after the other as one record. Returns false, with nothing written, when it
 * does not fit. */
bool ring_put(struct ring *ring, const void *part1, size_t n1, const void *part2,
              size_t n2) MUST_USE;
/* Does the same in a ring that is shared with an untrusted process. Such a process can overwrite
 * ring->capacity, so the writer passes the capacity that it knows. */
bool ring_put_within(struct ring *ring, uint64_t capacity, const void *part1, size_t n1,
                     const void *part2, size_t n2) MUST_USE;
/* Points at the oldest record; it stays valid until ring_pop. False when the ring is empty (or lies
 * about a length). */
bool ring_peek(const struct ring *ring, const void **record, size_t *n_bytes) MUST_USE;
void ring_pop(struct ring *ring); /* drops the record that ring_peek showed */
/* Do the same for a ring that is shared with an untrusted process. Such a process can overwrite
 * ring->capacity too, so the reader passes the capacity that it knows. */
bool ring_peek_within(const struct ring *ring, uint64_t capacity, const void **record,
                      size_t *n_bytes) MUST_USE;
void ring_pop_within(struct ring *ring, uint64_t capacity);
bool ring_is_empty(const struct ring *ring);
