/* Decides which services are on which of the simulator's equal engines, if no setting does: simple
 * packing, no planner. */
#pragma once
#include "base/set.h"
#include "core/limits.h"

struct scenario_pack {
    int32_t n_services;
    int32_t n_engines; /* 0: the needed number, which is then set */
    int64_t memory_bytes;
    int64_t weights_bytes[LIMIT_SERVICES];
    double loads[LIMIT_SERVICES]; /* engine seconds per second */
    struct set *sets;             /* out: (n_engines) their services */
};
/* With n_engines: all services are on each engine if their weights leave 30% for KV. Else each
 * goes, heaviest load first, to the engine with the least load that has room, and empty engines
 * take the service with the most load per copy. Without n_engines: a service has as many copies as
 * its load over 0.5, first fit, largest weights first. Returns -1, or the service without room. */
int32_t scenario_pack_solve(struct scenario_pack *pack);
void scenario_pack_free(struct scenario_pack *pack);
