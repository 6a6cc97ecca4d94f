/* Which slot a request lies in, by its id: a hash table of slots alone, since the ids stand in the
 * requests' records.
 *
 * Its order is never looked at by anything that decides. */
#pragma once
#include "core/request.h"

#define ENGINE_IDS_NONE UINT32_MAX

struct engine_ids {
    const struct request *requests; /* by slot, the engine's */
    uint32_t *places;               /* (n_places) the first slot; ENGINE_IDS_NONE: there is none */
    uint32_t *next;                 /* by slot: the next one of the same place */
    uint32_t n, n_places;           /* a power of two, as many as there may be or more */
};

void engine_ids_open(struct engine_ids *ids, const struct request *requests, uint32_t n_max);
void engine_ids_close(struct engine_ids *ids);
uint32_t engine_ids_find(const struct engine_ids *ids, uint64_t id); /* ENGINE_IDS_NONE: absent */
void engine_ids_fetch(const struct engine_ids *ids, uint64_t id);    /* for what comes of it soon */
/* The slot's request, whose id is not there yet. */
void engine_ids_add(struct engine_ids *ids, uint32_t slot);
void engine_ids_remove(struct engine_ids *ids, uint32_t slot); /* it was added */
