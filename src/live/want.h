/* How many engines a live service wants: Aladdin's Equation 7 on the monitor's demand (place/
 * scale.h), with the line that Equation 6 gives for one engine of one device.
 *
 * One engine serves at most rate_of_one = T_max / n_output requests per second, where T_max is the
 * throughput of place_workers_configure for the measured profile and lengths. So k5 = 1 /
 * rate_of_one and c5 = 0. A target for TPOT bounds T_max; without one, memory does. It is pure.
 *
 * Source: Aladdin, sections 4.1 and 5.2. */
#pragma once
#include "core/service_size.h"
#include "monitor/monitor.h"
#include "place/scale.h"

struct live_want_ask {
    const struct monitor_reading *reading; /* with the profile */
    struct service_size size;
    int64_t tpot_ns;       /* 0: no target */
    int64_t memory_bytes;  /* of an engine, for models and KV */
    int64_t cold_start_ns; /* of a load; 0: the usual 20 s */
    int64_t n_arrived;     /* requests since the last call */
    int32_t n_copies;      /* loaded or coming, or as wanted before if nothing acts on that */
};
struct live_want {
    int32_t n_wanted;         /* -1: not known, since there is no profile or no request */
    double rate, rate_of_one; /* requests per second: planned for, and of one engine */
    bool is_changed;          /* the rate was just found to have changed */
};
void live_want_tick(struct scale *scale, const struct live_want_ask *ask, int64_t now_ns,
                    struct live_want *out);
