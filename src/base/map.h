/* A hash map from uint64 keys to uint32 values: open addressing in one block, deletion by backward
 * shift, fixed capacity.
 *
 * No decision may depend on its order. */
#pragma once
#include "base/base.h"

#define MAP_NONE UINT32_MAX

struct map {
    uint64_t *keys;
    uint32_t *values; /* MAP_NONE marks an empty place, so it can't be stored */
    uint32_t n, n_places, n_max;
};

void map_init(struct map *map,
              uint32_t n_max); /* takes memory for n_max entries (load at most 1/2) */
void map_free(struct map *map);
bool map_put(struct map *map, uint64_t key, uint32_t value); /* replaces; false when full */
uint32_t map_find(const struct map *map, uint64_t key);      /* MAP_NONE when absent */
bool map_remove(struct map *map, uint64_t key);              /* false when absent */
