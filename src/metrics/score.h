/* The figures of a run: every one that we or the papers report, from records alone.
 *
 * docs/METRICS.md has the symbols and formulas (after docs/ALGORITHMS.md section 0.4 and the five
 * papers). Seconds are doubles here, since no decision depends on them. A request that its client
 * cancelled counts only in n_cancelled. One that did not end normally, or not at all, is a miss
 * with a latency until the end of the run. */
#pragma once
#include "core/service_spec.h"
#include "metrics/record.h"

/* ---- Numbers in a row. ---- */

struct score_spread { /* all 0 when n is 0 */
    uint64_t n;
    double mean, deviation; /* of the population: divided by n */
    double min, p50, p90, p95, p99, max;
};
void metrics_score_spread(double *values, size_t n, struct score_spread *out); /* sorts values */
/* Returns the linear interpolation at q (n - 1), numpy's default; 0 when n is 0. */
double metrics_score_quantile(const double *sorted, size_t n, double q);

/* ---- One request. end_ns: the end of the run. ---- */

double metrics_score_latency_s(const struct record *record, int64_t end_ns); /* e - a */
double metrics_score_ttft_s(const struct record *record, int64_t end_ns);    /* f - a */
double metrics_score_tpot_s(const struct record *record); /* (e - f) / (o - 1), ATGT; o < 2: 0 */
double metrics_score_tpot_all_s(const struct record *record); /* (e - f) / o; o = 0: 0 */

/* ---- SLO attainment, as each paper defines it. ---- */

enum { SCORE_BUCKETS_MAX = 16 };
struct score_base {                    /* MuxServe's reference: solo times per length bucket */
    int32_t n;                         /* 0 = unknown */
    int32_t tokens[SCORE_BUCKETS_MAX]; /* upper edges, ascending */
    int64_t prefill_ns[SCORE_BUCKETS_MAX];
    int64_t decode_ns; /* of a token, the mean over the buckets */
};
/* Returns base_r = prefill of the first bucket that holds the prompt (else the last) + decode *
 * o. */
int64_t metrics_score_base_ns(const struct score_base *base, int64_t n_prompt, int64_t n_output);

enum score_kind {
    SCORE_SEALLM_SOLO, /* e - a <= scale X_r (scale 5: SeaLLM's SLO) */
    SCORE_SEALLM_MEAN, /* e - a <= scale L_s (SeaLLM, Fig. 10) */
    SCORE_MUXSERVE,    /* e - a <= scale base_r */
    SCORE_ALADDIN,     /* f - a <= ttft and (e - f) / (o - 1) <= tpot; o = 1: only the first */
    SCORE_UELLM,       /* e <= e2e, from the run's first arrival */
    SCORE_SERVICE,     /* every target of its service; a service without targets: always met */
    SCORE_KIND_N
};
struct score_rule {
    enum score_kind kind;
    double scale;
    struct service_slo slo; /* ALADDIN, UELLM: 0 = the service's own; SERVICE: unused */
};
const char *metrics_score_kind_name(enum score_kind kind);
/* Returns "ttft or tpot": the targets that such a rule compares with. A service must have one of
 * them; otherwise all of its requests meet the rule. NULL: none, since it compares with solo
 * times. */
const char *metrics_score_kind_targets(enum score_kind kind);
bool metrics_score_kind_reads(enum score_kind kind, const struct service_slo *slo); /* any of it */

struct score_service {
    double solo_s;     /* L_s; 0 = the mean of its records' solo times */
    double rate_per_s; /* offered; 0 = its requests over the time of arrivals */
    struct service_slo slo;
    struct score_base base;
};
struct score_options {
    const struct score_service *services; /* (the set's n_services), or NULL: unknown */
    int64_t end_ns;                       /* 0 = the latest end of a record */
    struct score_rule rule;               /* for met and goodput */
};
struct score_run {
    int64_t begin_ns, end_ns; /* the first arrival, which is time zero, and the end */
};
/* Returns whether the rule is met. solo_s is L_s of its service. */
bool metrics_score_is_met(const struct record *record, const struct score_rule *rule,
                          const struct score_service *service, double solo_s,
                          const struct score_run *run);
/* Returns the fraction of the requests of a service, or of all (-1), that meet the rule; 1 when
 * there are none. */
double metrics_score_attainment(const struct record_set *set, const struct score_options *options,
                                const struct score_rule *rule, int32_t service);

/* ---- All of it. ---- */

struct score {                                         /* of one service or of all */
    uint64_t n_offered, n_done, n_cancelled, n_missed; /* offered = done + missed */
    uint64_t n_slices, n_early, n_swapped;             /* sums over the records */
    uint64_t n_batches, n_batch_rows;
    uint64_t n_preempted, n_exceeded; /* exceeded: got more tokens than predicted */
    uint64_t n_prompt_tokens, n_tokens, n_cached_tokens, n_pad_tokens, n_invalid_tokens;
    struct score_spread latency_s, ttft_s, tpot_s, tpot_all_s, gap_s_max; /* the last three: done */
    struct score_spread normalized; /* (e - a) / L_s; its mean is NL */
    struct score_spread late_s;     /* the client's own lag */
    double solo_s;                  /* L_s; for all: the mean over requests */
    double makespan_s;              /* from the first arrival to the last end */
    double requests_per_s, tokens_per_s, padded_tokens_per_s; /* done ones over makespan */
    double served_per_s;    /* X_m = done / latest end, from the run's first arrival */
    double offered_per_s;   /* given, or its requests over the time of arrivals */
    double served_fraction; /* min(1, X_m / offered); for all: the least of its services */
    double met;             /* fraction that meets the rule */
    double goodput_per_s;   /* requests that meet it, over makespan */
    double slices_mean;
};
/* out: n_services + 1 scores, the last for all. */
void metrics_score(const struct record_set *set, const struct score_options *options,
                   struct score *out);

/* ---- Over services, engines and runs. ---- */

/* Returns MuxServe's aggregate: sum(rate X) / sum(rate), or as in its notebook: sum(int(rate) X) /
 * n (a rate below 1 has no weight). */
double metrics_score_weighted(const struct score *scores, int32_t n);
double metrics_score_weighted_notebook(const struct score *scores, int32_t n);
/* Returns the population deviation of the times at which engines finished their last request
 * (SCLS). */
double metrics_score_completion_deviation_s(const struct record_set *set);
/* Returns the fewest devices, from 1 to n_max, with an attainment that reaches the target; 0 = not
 * even n_max. attained grows with n, and is called about log2(n_max) times (Aladdin's cost). */
int32_t metrics_score_devices_needed(double target, int32_t n_max,
                                     double (*attained)(void *self, int32_t n), void *self);
