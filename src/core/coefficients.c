/* Which coefficients can be reckoned with. */
#include "core/coefficients.h"

static bool is_within(int64_t ps, int bits)
{
    return ps >= 0 && ps <= INT64_C(1) << bits;
}

static bool is_scale(float scale)
{
    return scale == 0 || (scale >= 1e-3F && scale <= 1e3F); /* false for NaN */
}

bool coefficients_are_sane(const struct perf *perf)
{
    enum { CONSTANT = 50, REQUEST = 40, TOKEN = 42, PAIRS = 40, CONTEXT = 32 };
    bool is_right = is_within(perf->floor_ps, CONSTANT) && is_within(perf->c1_ps, CONSTANT) &&
                    is_within(perf->k1_ps, TOKEN) && is_within(perf->q1_ps, PAIRS) &&
                    is_scale(perf->prefill_scale) && is_scale(perf->decode_scale) &&
                    perf->b_switch >= 0;
    for (int i = 0; i < 2; i++)
        is_right = is_right && is_within(perf->c3_ps[i], CONSTANT) &&
                   is_within(perf->c2_ps[i], REQUEST) && is_within(perf->k2_ps[i], CONTEXT);
    return is_right;
}
