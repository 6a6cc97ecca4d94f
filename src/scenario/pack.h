/* Which services lie on which of the simulator's equal engines, when nobody says: simple packing,
 * no planner. */
#pragma once
#include "base/set.h"
#include "core/limits.h"

struct scenario_pack {
    int32_t n_services;
    int32_t n_engines; /* 0: as many as are needed, then set */
    int64_t memory_bytes;
    int64_t weights_bytes[LIMIT_SERVICES];
    double loads[LIMIT_SERVICES]; /* engine seconds asked per second */
    struct set *sets;             /* out: (n_engines) their services */
};
/* With n_engines: all on each if their weights leave 30% for KV; else each, heaviest load first, on
 * the engine with the least load that has room, and engines left empty take the service with the
 * most load per copy. Without: as many copies of a service as its load over 0.5 asks, first fit,
 * largest weights first. Returns -1, or the service that has no room. */
int32_t scenario_pack_solve(struct scenario_pack *pack);
void scenario_pack_free(struct scenario_pack *pack);
