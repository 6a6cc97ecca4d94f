/* The linear performance model: steps, spans of steps, and the spans' inverse. */
#include "predict/perf.h"
#include "base/num.h"

static const double scale_min = 0.02, scale_max = 50;

static int64_t scaled(int64_t ps, float scale)
{
    return scale == 1.0f ? ps : (int64_t)num_floor((double)ps * (double)scale + 0.5);
}

/* Coefficients of a decode batch of b requests, with the correction. */
struct decode {
    int64_t c3, c2, k2;
};
static struct decode decode_of(const struct perf *perf, int32_t b)
{
    int regime = b >= perf->b_switch;
    return (struct decode){ scaled(perf->c3_ps[regime], perf->decode_scale),
                            scaled(perf->c2_ps[regime], perf->decode_scale),
                            scaled(perf->k2_ps[regime], perf->decode_scale) };
}

/* Returns the part that grows with the new tokens. The quadratic term is rounded to the nearest
 * picosecond. */
static int64_t prefill_variable(const struct perf *perf, const struct perf_load *load)
{
    if (perf->q1_ps == 0)
        return perf->k1_ps * load->n_new;
    int64_t pairs = load->n_new_squared + 2 * load->n_new_context;
    double quadratic = (double)perf->q1_ps * (double)pairs / 1024;
    return perf->k1_ps * load->n_new + (int64_t)num_floor(quadratic + 0.5);
}

int64_t perf_step_ps(const struct perf *perf, const struct perf_load *load)
{
    if (load->n_new == 0 && load->n_decodes == 0)
        return 0;
    struct decode d = { 0 };
    if (load->n_decodes > 0)
        d = decode_of(perf, load->n_decodes);
    int64_t decodes = d.c2 * load->n_decodes + d.k2 * load->n_decode_context;
    if (load->n_new == 0)
        return d.c3 + decodes;
    int64_t constant = scaled(perf->c1_ps, perf->prefill_scale);
    if (load->n_decodes > 0)
        constant = max_i64(constant, d.c3);
    int64_t sum = constant + scaled(prefill_variable(perf, load), perf->prefill_scale) + decodes;
    return max_i64(scaled(perf->floor_ps, perf->prefill_scale), sum);
}

/* Returns a * b + c without a wrap: any result beyond the range is INT64_MAX. All are >= 0. */
static int64_t muladd(int64_t a, int64_t b, int64_t c)
{
    int64_t product, sum;
    if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum))
        return INT64_MAX;
    return sum;
}

/* Step j of n (from 0) sees the context c + j b, so the sum over j is
 * n (c3 + c2 b + k2 c) + k2 b n (n - 1) / 2. */
int64_t perf_decode_span_ps(const struct perf *perf, int32_t b, int64_t c, int64_t n_steps)
{
    if (n_steps <= 0)
        return 0;
    struct decode d = decode_of(perf, b);
    int64_t first = muladd(d.k2, c, muladd(d.c2, b, d.c3));
    int64_t half = n_steps % 2 == 0 ? n_steps / 2 : (n_steps - 1) / 2;
    int64_t other = n_steps % 2 == 0 ? n_steps - 1 : n_steps;
    int64_t pairs = muladd(half, other, 0);
    return muladd(first, n_steps, muladd(d.k2 * b, pairs, 0));
}

int64_t perf_decode_steps_in(const struct perf *perf, int32_t b, int64_t c, int64_t span_ps)
{
    struct decode d = decode_of(perf, b);
    double first = (double)muladd(d.k2, c, muladd(d.c2, b, d.c3));
    double half = (double)(d.k2 * b) / 2; /* span = half n^2 + (first - half) n */
    if (span_ps < 0)
        return 0;
    if (first <= 0)
        return INT64_MAX / 2; /* a model that costs nothing: no limit */
    double linear = first - half, n = (double)span_ps / first;
    if (half > 0)
        n = 2 * (double)span_ps / (linear + num_sqrt(linear * linear + 4 * half * (double)span_ps));
    /* The estimate is accurate to a few steps in 2^52. The rest is a walk in whole numbers. */
    int64_t steps = n < 4e18 ? (int64_t)n : INT64_MAX / 2;
    int64_t stride = 1 + steps / (INT64_C(1) << 50);
    while (steps > 0 && perf_decode_span_ps(perf, b, c, steps) > span_ps)
        steps = max_i64(0, steps - stride);
    while (steps < INT64_MAX / 2 && perf_decode_span_ps(perf, b, c, steps + 1) <= span_ps)
        steps++;
    return steps;
}

int64_t perf_solo_ps(const struct perf *perf, int64_t n_prompt, int64_t n_output)
{
    int64_t n = min_i64(max_i64(n_prompt, 1), INT32_MAX);
    struct perf_load load = { .n_new = (int32_t)n, .n_new_squared = n * n };
    int64_t prefill = perf_step_ps(perf, &load);
    return muladd(1, prefill, perf_decode_span_ps(perf, 1, n + 1, n_output - 1));
}

static void correct(float *scale, double ratio)
{
    double s = (double)*scale * (1 + 0.05 * (ratio - 1));
    *scale = (float)(s < scale_min ? scale_min : s > scale_max ? scale_max : s);
}

/* The error of a mixed batch is attributed to both parts. One outlier (a page fault, a busy
 * neighbour) counts as at most 4 times too slow. */
void perf_observe(struct perf *perf, const struct perf_load *load, int64_t measured_ps)
{
    int64_t predicted_ps = perf_step_ps(perf, load);
    if (predicted_ps <= 0 || measured_ps <= 0)
        return;
    double ratio = (double)measured_ps / (double)predicted_ps;
    ratio = ratio > 4 ? 4 : ratio;
    if (load->n_new > 0)
        correct(&perf->prefill_scale, ratio);
    if (load->n_decodes > 0)
        correct(&perf->decode_scale, ratio);
}
