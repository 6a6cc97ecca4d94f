/* How long a batch takes: one linear model per (model, device group, lane), after
 * docs/ALGORITHMS.md section 0.2.
 *
 * Times are integer picoseconds. For a batch that catches up n_new tokens in total over requests
 * whose squared new lengths sum to n_new_squared: prefill = max(floor, c1 + k1 * n_new + q1 *
 * (n_new_squared + 2 * n_new_context) / 1024), so that a prompt's chunks sum to the whole prompt's
 * attention. For a decode batch of b requests with contexts summing to c: decode = c3[r] + c2[r] *
 * b
 * + k2[r] * c, regime r = b >= b_switch. A mixed batch is the larger constant plus both variable
 * parts. The online correction scales each coefficient and rounds it to a whole picosecond, so
 * spans are exact sums of steps under any correction. */
#pragma once
#include "core/coefficients.h"

struct perf_load { /* the work of one step of a batch */
    int32_t n_decodes;
    int64_t n_decode_context; /* summed context of the decodes */
    int32_t n_new;            /* tokens of the catching-up items */
    int64_t n_new_squared;
    int64_t n_new_context;  /* sum over these items of n_new * tokens before: attention against
                               earlier chunks */
    int64_t n_context_most; /* the longest context of a decode; 0 = unknown, all are equal */
};
/* Returns the load of equal rows, each of which computes the last `width` of its n_long tokens. */
struct perf_load perf_load_of_rows(int32_t n_rows, int32_t width, int64_t n_long);
int64_t perf_step_ps(const struct perf *perf, const struct perf_load *load);
/* Returns the time of n successive decode steps of b requests with contexts that sum to c at the
 * first. It is an exact closed form; INT64_MAX when the result is larger than that. */
int64_t perf_decode_span_ps(const struct perf *perf, int32_t b, int64_t c, int64_t n_steps);
/* Returns the largest n with perf_decode_span_ps(n) <= span. */
int64_t perf_decode_steps_in(const struct perf *perf, int32_t b, int64_t c, int64_t span_ps);
/* Returns the solo time X(i, o) of one request: its prefill gives the first token, o - 1 decodes
 * give the others. */
int64_t perf_solo_ps(const struct perf *perf, int64_t n_prompt, int64_t n_output);

/* ---- Sources of a model when nothing was measured here (preset.c, roofline.c). ---- */

struct predict_device;
struct predict_model;
/* Sets the model on tp devices of this kind: as published (docs/ALGORITHMS.md, appendix A,
 * DistServe), else by the roofline. Returns the name of the source. */
const char *perf_preset(const struct predict_model *model, const struct predict_device *device,
                        int32_t tp, struct perf *out);

/* ---- Parts of a device, and jobs side by side (share.c). ---- */

enum { PERF_SHARES = 8 };
/* The slowdown of a step on 30, 40, .. 100% of a device, relative to all of it. */
struct perf_share {
    const char *source;
    double prefill[PERF_SHARES];      /* prompts of 1,024 tokens and more */
    double decode_small[PERF_SHARES]; /* below b_switch */
    double decode_large[PERF_SHARES];
};
/* Returns MuxServe's measurements on an A100 (appendix A): the row of the model that is nearest in
 * bytes per device. */
const struct perf_share *perf_share_of(int64_t weights_bytes, int32_t tp);
extern const struct perf_share perf_share_cores; /* time ~ 1 / share: for compute-bound cores */
/* Sets the model on this share of its device, in (0, 1]. Between the rows it interpolates; below
 * 30% the time grows as 1 / share. */
void perf_at_share(const struct perf *perf, const struct perf_share *table, double share,
                   struct perf *out);

struct perf_job {    /* one of several side by side (section 2.5) */
    int64_t ps;      /* its step alone on its share */
    int64_t bytes;   /* bytes that it reads: perf_step_bytes */
    double share;    /* of the device */
    bool is_prefill; /* bound by compute */
    /* The measured slowdown beside a prefill, and beside a decode; 0: by bytes. */
    double beside[2];
};
/* Sets the slowdown of each job's step beside the others. It is as measured; otherwise all wait
 * when together they read more than the memory's bandwidth, and prefills also when shares sum to
 * more than one. factors: (n) >= 1. */
void perf_contention(const struct perf_job *jobs, int n, double bytes_per_s, double *factors);
/* Returns the bytes that a step reads: the weights, and the KV of the contexts that it decodes. */
int64_t perf_step_bytes(const struct perf_load *load, int64_t weights_bytes,
                        int64_t kv_bytes_per_token);

struct perf_sample {
    struct perf_load load;
    int64_t ps;
};
/* Weighted relative least squares (weight 1 / time) over samples that are pure prefill or pure
 * decode; perf_observe handles mixed ones. It finds the launch floor and the two decode regimes
 * when the samples show them. A coefficient that the samples do not determine (one context length
 * only) is 0. Returns false when even the constants are unknown. */
bool perf_fit(const struct perf_sample *samples, int n_samples, struct perf *out) MUST_USE;
/* The distance of a model from samples. */
struct perf_errors {
    int n;
    double rmse_ps, mean_abs; /* mean_abs and below: relative to the measured time */
    double bias;              /* mean of predicted / measured - 1 */
    double low,
        high; /* measured / predicted of the middle 90%: the factors of the prediction interval */
    double worst;  /* largest relative error */
    double within; /* the part of the samples in the interval, under a model fitted to the others or
                      to none of them */
};
/* Finds the interval that should hold 90% of the samples that the fit has not seen: each fifth of
 * them is predicted from the others. Sets low, high and within of a result of perf_errors_of. */
void perf_interval_of(const struct perf_sample *samples, int n_samples, bool is_prefill,
                      struct perf_errors *errors);
/* Returns the part of the samples that lie within `interval`. */
double perf_within(const struct perf *perf, const struct perf_sample *samples, int n_samples,
                   bool is_prefill, const struct perf_errors *interval);
/* Measures errors over the samples that are prefill (true) or decode (false). n = 0: there are
 * none. */
void perf_errors_of(const struct perf *perf, const struct perf_sample *samples, int n_samples,
                    bool is_prefill, struct perf_errors *out);
/* Corrects the model online by one measured batch (factor 0.05). */
void perf_observe(struct perf *perf, const struct perf_load *load, int64_t measured_ps);
