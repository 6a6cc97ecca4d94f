/* The coefficients of a linear performance model, as plain data, so that reports can carry them.
 * Their meaning and the arithmetic are in predict/perf.h. */
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
/* Returns whether a machine could have these coefficients. The bounds are far above any machine's.
 * They are also low enough that a step of LIMIT_CONTEXT tokens, or of LIMIT_BATCH_ITEMS requests,
 * is computed without overflow. Scales may be 0 when nothing is measured. */
bool coefficients_are_sane(const struct perf *perf);
