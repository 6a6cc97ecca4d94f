/* How many workers a service has now: Equation 7 of Aladdin where its rate has changed, with the
 * cold start and the cost of a switch that the paper leaves out.
 *
 * Arrivals are counted in bins; a two-sided CUSUM says when their rate is another one (its state:
 * the mean it believes in, and how far counts have drifted above and below). The mean also follows
 * slow drift, over SCALE_MEAN_BINS bins. More workers are asked for at once; fewer only when a
 * lower number has been enough for `down_ns`, and when a worker given up so far stayed away for
 * longer than a switch costs. The worker to go is the host's choice: the simulator's
 * (sim/scaled.h) is the emptiest, which goes when its own requests have ended.
 *
 * Pure: no clock, no memory; the simulator and the manager call it alike.
 * Source: Aladdin, section 5.2; docs/ALGORITHMS.md section 3.6, D-19. */
#pragma once
#include "place/workers.h"

enum { SCALE_MEAN_BINS = 30 };

struct scale_config {
    struct workers_line line;
    int64_t bin_ns;        /* 10 s */
    double drift;          /* of the mean that is no change: 0.05 */
    double threshold;      /* deviations of a bin's count that are one: 5 */
    int64_t down_ns;       /* 60 s */
    int32_t n_min, n_max;  /* workers: 1, 0 = any */
    int64_t cold_start_ns; /* from the order until a worker takes requests */
    /* A switch costs this much of a worker's time (loading, and what else the operator counts);
     * 0: what cold_start_ns says. */
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
    int32_t n_high, n_low;    /* bins of them */
};
void scale_cusum_init(struct scale_cusum *cusum);
/* A bin is over. Has the rate changed? Then `mean` is that of the bins since it did. */
bool scale_cusum_saw(struct scale_cusum *cusum, const struct scale_config *config, double count);

/* ---- The scaler. ---- */

struct scale {
    struct scale_cusum cusum;
    int64_t bin_begin_ns; /* of the bin that is being filled; INT64_MIN: none yet */
    int64_t n_arrived;    /* in it */
    int64_t low_since_ns; /* fewer workers would be enough since; INT64_MAX: not so */
    int32_t n_low;        /* the most that was needed since then */
    double stay_ns;       /* smoothed time between going down and going up again; 0: never went */
    int64_t down_ns;      /* when workers were last taken away; INT64_MIN: never */
};
void scale_init(struct scale *scale);
/* Arrivals since the last call. */
void scale_arrived(struct scale *scale, int64_t n);
struct scale_order {
    int32_t n_wanted; /* workers: those that serve and those that are starting */
    bool is_changed;  /* the rate was found to be another one just now */
    double rate;      /* requests per second that it plans for */
    int64_t wake_ns;  /* ask again then */
};
/* n_workers: there or starting, without those that are on their way out. */
struct scale_order scale_tick(struct scale *scale, const struct scale_config *config,
                              int64_t now_ns, int32_t n_workers);
