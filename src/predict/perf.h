/* How long a batch takes: one linear model per (model, device group, lane), after ALGORITHMS.md
 * section 0.2.
 *
 * Times are integer picoseconds. For a batch that catches up n_new tokens in total over requests
 * whose squared new lengths sum to n_new_squared: prefill = max(floor, c1 + k1 * n_new + q1 *
 * (n_new_squared + 2 * n_new_context) / 1024), so that a prompt's chunks sum to the whole prompt's
 * attention. For a decode batch of b requests with contexts summing to c: decode = c3[r] + c2[r] *
 * b
 * + k2[r] * c, regime r = b >= b_switch. A mixed batch is the larger constant plus both variable
 * parts. The online correction scales each coefficient and rounds it to a whole picosecond, so
 * spans are sums of steps to the last digit whatever it is. */
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
/* n decode steps in a row of b requests whose contexts sum to c at the first: closed form, exact;
 * INT64_MAX when it is longer than that. */
int64_t perf_decode_span_ps(const struct perf *perf, int32_t b, int64_t c, int64_t n_steps);
/* The largest n with perf_decode_span_ps(n) <= span. */
int64_t perf_decode_steps_in(const struct perf *perf, int32_t b, int64_t c, int64_t span_ps);
/* Solo time X(i, o) of one request: its prefill gives the first token, o - 1 decodes the others. */
int64_t perf_solo_ps(const struct perf *perf, int64_t n_prompt, int64_t n_output);

struct perf_sample {
    struct perf_load load;
    int64_t ps;
};
/* Weighted relative least squares (weight 1 / time) over samples that are pure prefill or pure
 * decode; mixed ones are left to perf_observe. Finds the launch floor and the two decode regimes by
 * itself when the samples show them. A coefficient that the samples do not tell apart (one context
 * length only) is 0; false when even the constants are unknown. */
bool perf_fit(const struct perf_sample *samples, int n_samples, struct perf *out) MUST_USE;
/* Online correction by one measured batch (factor 0.05). */
void perf_observe(struct perf *perf, const struct perf_load *load, int64_t measured_ps);
