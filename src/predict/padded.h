/* The padded view of the linear model (SCLS, section 4.1): a static batch of N requests, all as
 * long as the longest input L, computes N L tokens whatever they are.
 *
 * Prefill p1 N L + p2 N + p3 L + p4, decode step at length l: d1 N l + d2 N + d3 l + d4. With the
 * sum of inputs N L this is struct perf without its quadratic term, floor and regimes: p1 = k1, p4
 * = c1, d1 = k2, d2 = c2, d4 = c3; p2, p3 and d3 are what static engines have besides. */
#pragma once
#include "predict/perf.h"

struct padded {
    int64_t p1_ps, p2_ps, p3_ps, p4_ps;
    int64_t d1_ps, d2_ps, d3_ps, d4_ps;
};
/* Exact when perf has no quadratic term, no floor above its constant and one regime for batches of
 * n requests; false (and the nearest such model) otherwise. Corrections are applied. */
bool padded_of_perf(const struct perf *perf, int32_t n_requests, struct padded *out);
/* False when p2, p3 or d3 are not zero: struct perf has no place for them. */
bool padded_to_perf(const struct padded *padded, struct perf *out) MUST_USE;
int64_t padded_prefill_ps(const struct padded *padded, int32_t n, int32_t n_input);
int64_t padded_decode_ps(const struct padded *padded, int32_t n, int32_t n_length);
/* T_serve(N, L, S): the prefill, which yields token 1, and S - 1 decodes at L + 1 .. L + S - 1.
 * Closed form. */
int64_t padded_serve_ps(const struct padded *padded, int32_t n, int32_t n_input, int32_t n_slice);

struct padded_sample {
    int32_t n, n_length;
    bool is_prefill;
    int64_t ps;
};
/* Relative least squares of both planes. False when the samples don't determine a constant. */
bool padded_fit(const struct padded_sample *samples, int n_samples, struct padded *out) MUST_USE;
