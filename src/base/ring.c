/* The ring: records between one writer and one reader in memory that they share.
 *
 * head and tail count bytes since the beginning and are multiples of 8. The writer owns head, and
 * the reader owns tail. Each reads the other's with acquire and publishes its own with release.
 * Every offset is derived from a masked position and checked against `capacity`, so whatever the
 * other side writes, no access leaves data[0..capacity). */
#include "base/ring.h"
#include <string.h>

#define RING_SKIP       UINT32_MAX
#define RING_HEAD_BYTES sizeof(uint64_t) /* so that records lie at multiples of 8 */

size_t ring_bytes(uint64_t capacity)
{
    return sizeof(struct ring) + (size_t)capacity;
}

void ring_init(struct ring *ring, uint64_t capacity)
{
    CHECK(capacity >= 64 && capacity <= UINT32_MAX && (capacity & (capacity - 1)) == 0);
    CHECK((uintptr_t)ring % 64 == 0);
    ring->capacity = capacity;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
}

static uint64_t record_bytes(uint64_t n_bytes)
{
    return align_up_u64(RING_HEAD_BYTES + n_bytes, 8);
}

bool ring_put_within(struct ring *ring, uint64_t capacity, const void *part1, size_t n1,
                     const void *part2, size_t n2)
{
    if (n1 >= capacity || n2 >= capacity)
        return false;
    uint64_t n = record_bytes(n1 + n2);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint64_t used = head - tail, offset = head & (capacity - 1);
    uint64_t to_end = capacity - offset;
    uint64_t skipped = n > to_end ? to_end : 0;
    if (used > capacity || n > capacity || head % 8 != 0 || skipped + n > capacity - used)
        return false;
    if (skipped > 0) {
        uint32_t mark = RING_SKIP;
        memcpy(ring->data + offset, &mark, sizeof(mark));
        offset = 0;
    }
    uint32_t n_bytes = (uint32_t)(n1 + n2);
    unsigned char *at = ring->data + offset;
    memcpy(at, &n_bytes, sizeof(n_bytes));
    if (n1 > 0)
        memcpy(at + RING_HEAD_BYTES, part1, n1);
    if (n2 > 0)
        memcpy(at + RING_HEAD_BYTES + n1, part2, n2);
    atomic_store_explicit(&ring->head, head + skipped + n, memory_order_release);
    return true;
}

bool ring_put(struct ring *ring, const void *part1, size_t n1, const void *part2, size_t n2)
{
    return ring_put_within(ring, ring->capacity, part1, n1, part2, n2);
}

/* Finds the oldest record. Returns the bytes from tail to its end; 0 if there is no record, or only
 * one with an invalid length. */
static uint64_t find(const struct ring *ring, uint64_t capacity, uint64_t tail, uint64_t *offset,
                     uint32_t *n_bytes)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t used = head - tail, skipped = 0;
    *offset = tail & (capacity - 1);
    if (used == 0 || used > capacity || used % 8 != 0 || tail % 8 != 0)
        return 0;
    memcpy(n_bytes, ring->data + *offset, sizeof(*n_bytes));
    if (*n_bytes == RING_SKIP) {
        skipped = capacity - *offset;
        *offset = 0;
        if (skipped >= used)
            return 0;
        memcpy(n_bytes, ring->data, sizeof(*n_bytes));
    }
    uint64_t n = record_bytes(*n_bytes);
    if (n > capacity - *offset || n > used - skipped)
        return 0;
    return skipped + n;
}

bool ring_peek_within(const struct ring *ring, uint64_t capacity, const void **record,
                      size_t *n_bytes)
{
    uint64_t offset;
    uint32_t n;
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (find(ring, capacity, tail, &offset, &n) == 0)
        return false;
    *record = ring->data + offset + RING_HEAD_BYTES;
    *n_bytes = n;
    return true;
}

void ring_pop_within(struct ring *ring, uint64_t capacity)
{
    uint64_t offset;
    uint32_t n;
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t passed = find(ring, capacity, tail, &offset, &n);
    /* The length changed after it was peeked at, so no content can be trusted any more. */
    uint64_t next =
        passed > 0 ? tail + passed : atomic_load_explicit(&ring->head, memory_order_acquire);
    atomic_store_explicit(&ring->tail, next, memory_order_release);
}

bool ring_peek(const struct ring *ring, const void **record, size_t *n_bytes)
{
    return ring_peek_within(ring, ring->capacity, record, n_bytes);
}

void ring_pop(struct ring *ring)
{
    ring_pop_within(ring, ring->capacity);
}

bool ring_is_empty(const struct ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire) ==
           atomic_load_explicit(&ring->tail, memory_order_relaxed);
}
