/* Decides when to plan the placement of models anew, and whether to move: SeaLLM's adaptive
 * replacement.
 *
 * Equation 8 shortens the interval between plans while the service deviates from what its plan
 * predicted, and lengthens it while it agrees. At exactly the threshold the interval stays (D-7). A
 * new plan must pass two tests (D-8; the paper always installs). Simulated on the window that it
 * was planned on, it must be better than the old one by more than noise. Its gain until the next
 * plan must also exceed what moving costs.
 *
 * It is pure. Source: SeaLLM, section 4.5; docs/ALGORITHMS.md section 1.5. */
#pragma once
#include "base/base.h"

struct replace_config {
    double beta;                          /* 0.1 */
    int64_t first_ns, least_ns, most_ns;  /* intervals: 600 s, 60 s, 3600 s */
    double gain_latency, gain_attainment; /* differences beyond noise: 0.05 of the old, 0.01 */
    int64_t settle_ns;                    /* every move: 2 s */
};
void replace_config_init(struct replace_config *config);

struct replace_score { /* of a plan on a window: simulated, or measured */
    double normalized_latency, attainment;
};
/* Returns dev: the larger of both relative differences, |real - foretold| / max(foretold, 1e-6). */
double replace_deviation(const struct replace_score *real, const struct replace_score *foretold);
/* Equation 8, clamped. */
int64_t replace_interval_ns(const struct replace_config *config, int64_t interval_ns, double dev);

/* The cost of moving for each engine that changes. */
struct replace_move {
    int64_t weights_bytes;   /* to load onto its devices: the maximum over them */
    bool is_prefetched;      /* they lie in the host's memory already */
    int64_t kv_bytes;        /* of running requests that move with their KV (equal TP) */
    int64_t recompute_ns;    /* to compute anew the requests that can't take their KV along */
    double n_requests_per_s; /* that arrive for it meanwhile */
    double n_there; /* requests that are there and wait all the time; 0: they go elsewhere */
};
struct replace_links {
    double host_bytes_per_s; /* host to one device */
    double disk_bytes_per_s; /* storage to host; 0: weights are always in the host's memory */
    double kv_bytes_per_s;   /* device to device */
};
/* Returns how long the engine serves no request: it loads what was prefetched, moves or computes
 * anew, and settles. Weights on disk are fetched while the old plan still serves. */
int64_t replace_away_ns(const struct replace_config *config, const struct replace_links *links,
                        const struct replace_move *move);
/* Returns the time until every engine's weights are in its host's memory, which is the longest
 * one's. */
int64_t replace_fetch_ns(const struct replace_links *links, const struct replace_move *moves,
                         int32_t n);

enum replace_verdict {
    REPLACE_INSTALL,
    REPLACE_SAME,      /* the plans are equal */
    REPLACE_NO_GAIN,   /* not better than noise */
    REPLACE_NOT_WORTH, /* the move costs more than it gains until the next plan */
};
struct replace_case {
    struct replace_score kept, planned; /* both simulated on the window planned on */
    double rate;                        /* requests per second of the window */
    double latency_s;                   /* mean of a request under the old plan */
    int64_t interval_ns;                /* until the next plan */
    const struct replace_move *moves;   /* engines that change: (n_moves) */
    int32_t n_moves;
    struct replace_links links;
};
/* D-8. The gain is the seconds of latency that all requests of the interval save, at most all that
 * normalized latency promises. The cost is the seconds that requests wait while their engine is
 * away. If only attainment is better, the misses saved in the interval are weighed against those
 * that the move makes. */
enum replace_verdict replace_decide(const struct replace_config *config,
                                    const struct replace_case *c);
