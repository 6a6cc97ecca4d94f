/* Decides how many workers a service has: Equation 7 of Aladdin after its rate changed, with the
 * cold start and the cost of a switch that the paper leaves out.
 *
 * Arrivals are counted in bins, and a two-sided CUSUM detects when their rate has changed. Its
 * state is the mean that it believes in, and how far counts have drifted above and below. The mean
 * also follows slow drift, over SCALE_MEAN_BINS bins. More workers are requested at once. Fewer are
 * requested only if a lower number has been enough for `down_ns`, and if a worker given up so far
 * stayed away for longer than a switch costs. The host chooses the worker to give up. The
 * simulator's choice (sim/scaled.h) is the emptiest, which stops when its own requests have ended.
 *
 * It is pure, without clock or memory, and the simulator and the manager call it alike.
 * Source: Aladdin, section 5.2; docs/ALGORITHMS.md section 3.6, D-19. */
#pragma once
#include "place/workers.h"

enum { SCALE_MEAN_BINS = 30 };

struct scale_config {
    struct workers_line line;
    int64_t bin_ns;        /* 10 s */
    double drift;          /* of the mean that is no change: 0.05 */
    double threshold;      /* deviations of a bin's count that make a change: 5 */
    int64_t down_ns;       /* 60 s */
    int32_t n_min, n_max;  /* workers: 1, 0 = any */
    int64_t cold_start_ns; /* from the order until a worker takes requests */
    /* A switch costs this much of a worker's time (loading, and what else the operator counts); 0:
     * as cold_start_ns. */
    int64_t switch_ns;
    double headroom; /* the rate is planned for (1 + headroom) times: 0 */
};
void scale_config_init(struct scale_config *config); /* the defaults named above, cold start 20 s */
/* Sets one field by its name: "k5=0.1", "c5=1", "rate_min=2", "cold_start_ns=20000" (those in ns
 * take milliseconds). */
enum status scale_config_set(struct scale_config *config, const char *text,
                             struct fault *fault) MUST_USE;

/* ---- The change detector by itself. ---- */

struct scale_cusum {
    double mean;              /* of a bin's count, as believed; negative: not known yet */
    int32_t n_mean;           /* bins that it is of, at most SCALE_MEAN_BINS */
    double high, low;         /* S+ and S-: drifted so far, in counts */
    double sum_high, sum_low; /* counts since S+ and S- were last 0 */
    int32_t n_high, n_low;    /* number of bins in each sum */
};
void scale_cusum_init(struct scale_cusum *cusum);
/* Adds the count of a finished bin. Returns whether the rate has changed. If so, `mean` is that of
 * the bins since then. */
bool scale_cusum_saw(struct scale_cusum *cusum, const struct scale_config *config, double count);

/* ---- The scaler. ---- */

struct scale {
    struct scale_cusum cusum;
    int64_t bin_begin_ns; /* of the bin that is being filled; INT64_MIN: none yet */
    int64_t n_arrived;    /* in it */
    int64_t low_since_ns; /* since when fewer workers would be enough; INT64_MAX: they are not */
    int32_t n_low;        /* the most that was needed since then */
    double stay_ns;       /* smoothed time between going down and going up again; 0: never went */
    int64_t down_ns;      /* when workers were last taken away; INT64_MIN: never */
};
void scale_init(struct scale *scale);
/* Arrivals since the last call. */
void scale_arrived(struct scale *scale, int64_t n);
struct scale_order {
    int32_t n_wanted; /* workers: those that serve and those that are starting */
    bool is_changed;  /* a change of the rate was just detected */
    double rate;      /* requests per second that it plans for */
    int64_t wake_ns;  /* time of the next call */
};
/* n_workers: running or starting, without those that are about to leave. */
struct scale_order scale_tick(struct scale *scale, const struct scale_config *config,
                              int64_t now_ns, int32_t n_workers);
