/* Workers of one service: how many devices each has (Aladdin's Equations 5 and 6), and how many
 * there are (Equation 7; Equation 8 for groups).
 *
 * The best worker has the most throughput per device within the target of its decode steps. If its
 * memory bounds it, the batch that fills the memory is computed at its own pace. If the target
 * bounds it, the batch is the largest whose step lasts T_dec. Steps come from performance models
 * per degree of tensor parallelism instead of Equation 5. The function place_workers_step_ps has
 * that equation, for callers with only its coefficients.
 *
 * Source: Aladdin, sections 4.1, 5.2 and appendix A; docs/ALGORITHMS.md sections 3.2, 3.6, 3.7,
 * D-14. */
#pragma once
#include "base/status.h"
#include "predict/perf.h"

enum { WORKERS_OPTIONS_MAX = 8 };

struct workers_option { /* a worker of n_devices devices */
    int32_t n_devices;
    struct perf perf; /* of the model on them */
};
struct workers_ask {
    int64_t device_bytes, reserve_bytes; /* of each device; reserve: activations, the driver */
    int64_t weights_bytes, kv_bytes_per_token;
    double n_prompt, n_output; /* means of the service */
    int64_t tpot_ns;           /* T_dec; 0: none, memory alone bounds */
    bool counts_prefill;       /* a step also bears its share of prompts (D-14) */
    bool is_safe; /* each request counts with the KV at its end; else with half of its answer */
    double price; /* of a device and hour; 0: ignored */
};
/* Why an option gives what it gives. */
enum workers_bound { WORKERS_NO_ROOM, WORKERS_TOO_SLOW, WORKERS_BY_MEMORY, WORKERS_BY_TARGET };
struct workers_answer { /* of one option */
    enum workers_bound bound;
    int64_t kv_bytes;    /* M: memory less weights */
    double n_in_memory;  /* requests whose KV fits */
    double n_in_target;  /* B: the largest number whose step is within the target; infinite without
                            one */
    double tokens_per_s; /* T_max: per device, in decode; 0 with NO_ROOM and TOO_SLOW */
    double price_per_million; /* tokens */
};
/* Evaluates Equation 6 for every option (answers: (n)). Returns the index of the best answer; among
 * equals the one with the fewest devices. Returns -1 if none has room and meets the target. */
int place_workers_configure(const struct workers_ask *ask, const struct workers_option *options,
                            int n, struct workers_answer *answers);
/* Equation 5 with what All-reduce adds: k4 / n + c4 + ka (n - 1) / n. Times of whole steps alone
 * can't separate k4 and ka (1 / n, 1 and (n - 1) / n are dependent). So each is fitted by itself,
 * to steps without communication and to All-reduces. */
struct workers_split {
    double k4_ps, c4_ps, ka_ps;
};
int64_t place_workers_step_ps(const struct workers_split *split, int32_t n_devices);
/* compute_ps, reduce_ms: (n) times at n_devices. Returns false with too few different degrees. */
bool place_workers_fit_split(const int32_t *n_devices, const int64_t *compute_ps,
                             const int64_t *reduce_ps, int n, struct workers_split *out) MUST_USE;

/* ---- How many workers. ---- */

struct workers_line { /* Equation 7: ceil(k5 rate + c5), for rates above R */
    double k5, c5;
    double rate_min; /* R: the line is not reliable below it */
};
struct workers_point {
    double rate; /* requests per second */
    double n;    /* the fewest workers that met the target at it */
};
/* Fits least squares over points at rates above R; k5 >= 0. Returns false with fewer than two
 * different rates. */
bool place_workers_fit(const struct workers_point *points, int n, double rate_min,
                       struct workers_line *out) MUST_USE;
/* Returns R, the least rate at which a window has enough requests. The mean of their lengths must
 * be within `part` (0.1) of its true value at 95%: 1.96 deviation / (mean sqrt(n)) <= part. */
double place_workers_rate_min(double mean, double deviation, double window_s, double part);
/* Returns the workers for a rate, at least 1. Below R, where the line may be far off, returns the
 * most that R needs. */
int32_t place_workers_count(const struct workers_line *line, double rate);

/* Distributed groups (appendix A), as corrected. Each group places its share of the requests on its
 * own workers, so it rounds up by itself. To need at most `part` (0.1) more workers in all, a group
 * must have at least 1 / (2 part) of them. */
struct workers_groups {
    int32_t n_groups, n_workers; /* workers of all groups */
    int32_t n_extra;             /* more than one group would need */
    bool is_slow;                /* no number of groups keeps both bounds, so a pass takes longer */
};
/* Returns the number of groups for workers that are there: the fewest that keep up with the rate,
 * and at most as many as `part` allows. rate_max and part as below, both positive. */
int32_t place_workers_n_groups(int32_t n_workers, double rate, double rate_max, double part);
/* rate_max: requests per second for which one group's pass takes the longest allowed time. */
struct workers_groups place_workers_group(const struct workers_line *line, double rate,
                                          double rate_max, double part);
