/* How long a batch takes: one linear model per (model, device group, lane), after ALGORITHMS.md
 * section 0.2.
 *
 * Times are integer picoseconds. For a batch that catches up n_new tokens in total over requests
 * whose squared new lengths sum to n_new_squared: prefill = max(floor, c1 + k1 * n_new + q1 *
 * n_new_squared / 1024). For a decode batch of b requests with contexts summing to c: decode =
 * c3[r] + c2[r] * b + k2[r] * c, regime r = b >= b_switch. A mixed batch is the larger constant
 * plus both variable parts. */
#pragma once
#include "base/base.h"

struct perf {
    int64_t floor_ps;
    int64_t c1_ps, k1_ps, q1_ps; /* constant, per token, per 1024 squared tokens */
    int64_t c3_ps[2], c2_ps[2], k2_ps[2];
    int32_t b_switch;
    float prefill_scale,
        decode_scale; /* online correction: EWMA of measured / predicted, 1 at start */
};
struct perf_load { /* what one step of a batch computes */
    int32_t n_decodes;
    int64_t n_decode_context; /* summed context of the decodes */
    int32_t n_new;            /* tokens of the catching-up items */
    int64_t n_new_squared;
    int64_t n_new_context; /* sum over them of n_new * tokens before: attention against earlier
                              chunks */
};
int64_t perf_step_ps(const struct perf *perf, const struct perf_load *load);
/* n decode steps in a row of b requests whose contexts sum to c at the first: closed form, exact.
 */
int64_t perf_decode_span_ps(const struct perf *perf, int32_t b, int64_t c, int64_t n_steps);
/* The largest n with perf_decode_span_ps(n) <= span. */
int64_t perf_decode_steps_in(const struct perf *perf, int32_t b, int64_t c, int64_t span_ps);
/* Solo time X(i, o) of one request. */
int64_t perf_solo_ps(const struct perf *perf, int64_t n_prompt, int64_t n_output);

struct perf_sample {
    struct perf_load load;
    int64_t ps;
};
/* Weighted relative least squares (weight 1 / time). False when the samples do not determine it. */
bool perf_fit(const struct perf_sample *samples, int n_samples, struct perf *out) MUST_USE;
/* Online correction by one measured batch (factor 0.05). */
void perf_observe(struct perf *perf, const struct perf_load *load, int64_t measured_ps);
