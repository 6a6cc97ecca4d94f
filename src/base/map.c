/* The hash map from uint64 to uint32: linear probing at a load of at most one half.
 *
 * Invariant: no empty place lies between a key's home place and the place that has it. Removal
 * shifts followers back, so there are no tombstones. */
#include "base/map.h"
#include "base/mem.h"
#include <string.h>

static uint32_t home(const struct map *map, uint64_t key)
{
    uint64_t x = key * 0x9E3779B97F4A7C15u; /* Fibonacci hashing, then folded */
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return (uint32_t)(x >> 32) & (map->n_places - 1);
}

void map_init(struct map *map, uint32_t n_max)
{
    CHECK(n_max <= 1u << 30);
    uint32_t n_places = 2;
    while (n_places < 2 * (uint64_t)n_max)
        n_places *= 2;
    *map = (struct map){ .n_places = n_places, .n_max = n_max };
    map->keys = mem_take(n_places * sizeof(*map->keys));
    map->values = mem_take(n_places * sizeof(*map->values));
    memset(map->values, 0xFF, n_places * sizeof(*map->values));
}

void map_free(struct map *map)
{
    mem_give(map->keys);
    mem_give(map->values);
    *map = (struct map){ 0 };
}

/* Returns the place of the key, or the empty place where it would go. */
static uint32_t find_place(const struct map *map, uint64_t key)
{
    uint32_t at = home(map, key);
    while (map->values[at] != MAP_NONE && map->keys[at] != key)
        at = (at + 1) & (map->n_places - 1);
    return at;
}

bool map_put(struct map *map, uint64_t key, uint32_t value)
{
    CHECK(value != MAP_NONE);
    uint32_t at = find_place(map, key);
    if (map->values[at] == MAP_NONE) {
        if (map->n == map->n_max)
            return false;
        map->n++;
    }
    map->keys[at] = key;
    map->values[at] = value;
    return true;
}

uint32_t map_find(const struct map *map, uint64_t key)
{
    return map->values[find_place(map, key)];
}

bool map_remove(struct map *map, uint64_t key)
{
    uint32_t hole = find_place(map, key), mask = map->n_places - 1;
    if (map->values[hole] == MAP_NONE)
        return false;
    for (uint32_t at = (hole + 1) & mask; map->values[at] != MAP_NONE; at = (at + 1) & mask) {
        /* The entry may move into the hole unless its home lies cyclically in (hole, at]. */
        uint32_t from_home = (at - home(map, map->keys[at])) & mask;
        if (from_home >= ((at - hole) & mask)) {
            map->keys[hole] = map->keys[at];
            map->values[hole] = map->values[at];
            hole = at;
        }
    }
    map->values[hole] = MAP_NONE;
    map->n--;
    return true;
}
