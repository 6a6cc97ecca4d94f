/* What became of the chains of a simulation. */
#pragma once
#include <stdint.h>

struct sim_chains_report {
    int64_t n_reruns[4];    /* by enum watch_why; WATCH_NOTHING: weighed again */
    int64_t n_maps;         /* of them: another map was installed */
    int64_t n_same, n_none; /* the map stayed; no map holds the model */
    int64_t n_kept;         /* the map stayed: another gained less than it cost (chain_weigh.h) */
    int64_t n_returned;     /* requests that went back to the door */
    int64_t n_crashes;      /* of devices of a map */
    int64_t n_crashed;      /* requests that went back for one */
    int64_t loaded_bytes, away_ns;
};
