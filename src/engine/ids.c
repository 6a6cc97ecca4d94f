/* Keeps chains of slots; at most one is expected in each place. */
#include "engine/ids.h"

#include "base/mem.h"
#include <string.h>

static uint32_t *place_of(const struct engine_ids *ids, uint64_t id)
{
    uint64_t x = id * 0x9E3779B97F4A7C15u; /* Fibonacci hashing, then folded */
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return &ids->places[(uint32_t)(x >> 32) & (ids->n_places - 1)];
}

void engine_ids_open(struct engine_ids *ids, const struct request *requests, uint32_t n_max)
{
    uint32_t n_places = 1;
    CHECK(n_max <= 1u << 31);
    while (n_places < n_max)
        n_places *= 2;
    *ids = (struct engine_ids){ .requests = requests, .n_places = n_places };
    ids->places = mem_take(n_places * sizeof(*ids->places));
    memset(ids->places, 0xFF, n_places * sizeof(*ids->places));
    ids->next = mem_take(n_max * sizeof(*ids->next));
}

void engine_ids_close(struct engine_ids *ids)
{
    mem_give(ids->next);
    mem_give(ids->places);
    *ids = (struct engine_ids){ 0 };
}

uint32_t engine_ids_find(const struct engine_ids *ids, uint64_t id)
{
    uint32_t slot = *place_of(ids, id);
    while (slot != ENGINE_IDS_NONE && ids->requests[slot].id != id)
        slot = ids->next[slot];
    return slot;
}

void engine_ids_add(struct engine_ids *ids, uint32_t slot)
{
    uint32_t *place = place_of(ids, ids->requests[slot].id);
    ids->next[slot] = *place;
    *place = slot;
    ids->n++;
}

void engine_ids_remove(struct engine_ids *ids, uint32_t slot)
{
    uint32_t *at = place_of(ids, ids->requests[slot].id);
    while (*at != slot) {
        CHECK(*at != ENGINE_IDS_NONE);
        at = &ids->next[*at];
    }
    *at = ids->next[slot];
    ids->n--;
}
