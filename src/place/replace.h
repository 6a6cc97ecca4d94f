/* When to plan the placement of models anew, and whether to move: SeaLLM's adaptive replacement.
 *
 * Equation 8 shortens the interval between plans while the service goes otherwise than its plan
 * foretold, and lengthens it while it goes as foretold; equal to the threshold it stays (D-7). A
 * new plan is installed only when, on the window that it was planned on, it is simulated to be
 * better than the old one by more than noise, and what it gains until the next plan is more than
 * what moving costs (D-8; the paper always installs).
 *
 * Pure. Source: SeaLLM, section 4.5; docs/ALGORITHMS.md section 1.5. */
#pragma once
#include "base/base.h"

struct replace_config {
    double beta;                          /* 0.1 */
    int64_t first_ns, least_ns, most_ns;  /* intervals: 600 s, 60 s, 3600 s */
    double gain_latency, gain_attainment; /* that are not noise: 0.05 of the old, 0.01 */
    int64_t settle_ns;                    /* every move: 2 s */
};
void replace_config_init(struct replace_config *config);

struct replace_score { /* of a plan on a window: simulated, or as it went */
    double normalized_latency, attainment;
};
/* dev: the larger of both relative differences, |real - foretold| / max(foretold, 1e-6). */
double replace_deviation(const struct replace_score *real, const struct replace_score *foretold);
/* Equation 8, clamped. */
int64_t replace_interval_ns(const struct replace_config *config, int64_t interval_ns, double dev);

/* What moving asks of each engine that changes. */
struct replace_move {
    int64_t weights_bytes;   /* to load onto its devices, of each the most */
    bool is_prefetched;      /* they lie in the host's memory already */
    int64_t kv_bytes;        /* of running requests that move with their KV (equal TP) */
    int64_t recompute_ns;    /* to compute anew the requests that can't take their KV along */
    double n_requests_per_s; /* that arrive for it meanwhile */
    double n_there;          /* that are there and wait for all of it; 0: they go elsewhere */
};
struct replace_links {
    double host_bytes_per_s; /* host to one device */
    double disk_bytes_per_s; /* storage to host; 0: weights are always in the host's memory */
    double kv_bytes_per_s;   /* device to device */
};
/* How long the engine serves nobody: loading what was prefetched, moving or computing anew, and
 * settling. What comes from the disk is fetched while the old plan still serves. */
int64_t replace_away_ns(const struct replace_config *config, const struct replace_links *links,
                        const struct replace_move *move);
/* How long until every engine's weights are in its host's memory: the longest. */
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
/* D-8. Gain: seconds of latency that all requests of the interval save, at most all that normalized
 * latency promises; cost: seconds that requests wait because their engine is away. Where only
 * attainment is better, misses are weighed: those saved in the interval against those made by the
 * move. */
enum replace_verdict replace_decide(const struct replace_config *config,
                                    const struct replace_case *c);
