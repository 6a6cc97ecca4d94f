/* Results of the chains of a simulation. */
#pragma once
#include <stdint.h>

struct sim_chains_report {
    int64_t n_reruns[4];    /* by enum watch_why; WATCH_NOTHING: weighed again */
    int64_t n_maps;         /* plans that installed another map */
    int64_t n_same, n_none; /* plans that kept the map; plans where no map holds the model */
    int64_t n_kept;         /* plans that kept the map because another gained less than it cost
                               (chain_weigh.h) */
    int64_t n_returned;     /* requests that returned to the gateway */
    int64_t n_crashes;      /* of devices of a map */
    int64_t n_crashed;      /* requests that went back for one */
    int64_t loaded_bytes, away_ns;
};
