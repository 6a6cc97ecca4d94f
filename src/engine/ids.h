/* Finds a request's slot by its id: a hash table of slots only, since the ids are in the requests'
 * records.
 *
 * No decision may depend on its order. */
#pragma once
#include "core/request.h"

#define ENGINE_IDS_NONE UINT32_MAX

struct engine_ids {
    const struct request *requests; /* by slot, the engine's */
    uint32_t *places;               /* (n_places) the first slot; ENGINE_IDS_NONE: none */
    uint32_t *next;                 /* by slot: the next one in the same place */
    uint32_t n, n_places;           /* a power of two, at least the number of slots */
};

void engine_ids_open(struct engine_ids *ids, const struct request *requests, uint32_t n_max);
void engine_ids_close(struct engine_ids *ids);
uint32_t engine_ids_find(const struct engine_ids *ids, uint64_t id); /* ENGINE_IDS_NONE: absent */
/* Adds the slot's request, whose id must not be in the table. */
void engine_ids_add(struct engine_ids *ids, uint32_t slot);
void engine_ids_remove(struct engine_ids *ids, uint32_t slot); /* it was added */
