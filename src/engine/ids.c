/* Linear probing at a load of at most one half.
 *
 * Invariant: from an id's home place to where its slot lies there is no empty place; removal shifts
 * followers back, so there are no tombstones. */
#include "engine/ids.h"

#include "base/mem.h"
#include <string.h>

static uint32_t home(const struct engine_ids *ids, uint64_t id)
{
    uint64_t x = id * 0x9E3779B97F4A7C15u; /* Fibonacci hashing, then folded */
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return (uint32_t)(x >> 32) & (ids->n_places - 1);
}

void engine_ids_open(struct engine_ids *ids, const struct request *requests, uint32_t n_max)
{
    uint32_t n_places = 2;
    CHECK(n_max <= 1u << 30);
    while (n_places < 2 * n_max)
        n_places *= 2;
    *ids = (struct engine_ids){ .requests = requests, .n_places = n_places };
    ids->slots = mem_take(n_places * sizeof(*ids->slots));
    memset(ids->slots, 0xFF, n_places * sizeof(*ids->slots));
}

void engine_ids_close(struct engine_ids *ids)
{
    mem_give(ids->slots);
    *ids = (struct engine_ids){ 0 };
}

uint32_t engine_ids_find(const struct engine_ids *ids, uint64_t id)
{
    uint32_t at = home(ids, id);
    while (ids->slots[at] != ENGINE_IDS_NONE && ids->requests[ids->slots[at]].id != id)
        at = (at + 1) & (ids->n_places - 1);
    return ids->slots[at];
}

void engine_ids_add(struct engine_ids *ids, uint32_t slot)
{
    uint32_t at = home(ids, ids->requests[slot].id);
    CHECK(2 * ++ids->n <= ids->n_places);
    while (ids->slots[at] != ENGINE_IDS_NONE)
        at = (at + 1) & (ids->n_places - 1);
    ids->slots[at] = slot;
}

void engine_ids_remove(struct engine_ids *ids, uint32_t slot)
{
    uint32_t mask = ids->n_places - 1, hole = home(ids, ids->requests[slot].id);
    while (ids->slots[hole] != slot) {
        CHECK(ids->slots[hole] != ENGINE_IDS_NONE);
        hole = (hole + 1) & mask;
    }
    for (uint32_t at = (hole + 1) & mask; ids->slots[at] != ENGINE_IDS_NONE; at = (at + 1) & mask) {
        /* The slot may move into the hole unless its home lies cyclically in (hole, at]. */
        uint32_t from_home = (at - home(ids, ids->requests[ids->slots[at]].id)) & mask;
        if (from_home >= ((at - hole) & mask)) {
            ids->slots[hole] = ids->slots[at];
            hole = at;
        }
    }
    ids->slots[hole] = ENGINE_IDS_NONE;
    ids->n--;
}
