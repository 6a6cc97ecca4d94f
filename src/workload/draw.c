/* Draws lengths and gaps, from random numbers by counter and the project's own exp and log.
 *
 * Prompt and output of a request cost one random number together. Its 64 bits are halved, and each
 * half goes through an inverse distribution function (a table's quantiles, or the normal's). Gaps
 * have the mean 1 and are laid end to end over the source's rate, which may change meanwhile. So
 * bursts and daily rates keep the gaps' own variation. The inverse of the normal is Acklam's
 * rational approximation, 2003; the Gamma function is Stirling's series. */
#include "workload/draw.h"

#include "base/num.h"
#include "workload/tables.h"

/* ---- Lengths. ---- */

enum { ATTEMPTS = 64 };

/* 32 bits as a number in (0, 1). */
static double half_unit(uint64_t bits)
{
    return ((double)bits + 0.5) * 0x1p-32;
}

double workload_draw_normal(double p)
{
    static const double a[] = { -3.969683028665376e+01, 2.209460984245205e+02,
                                -2.759285104469687e+02, 1.383577518672690e+02,
                                -3.066479806614716e+01, 2.506628277459239e+00 };
    static const double b[] = { -5.447609879822406e+01, 1.615858368580409e+02,
                                -1.556989798598866e+02, 6.680131188771972e+01,
                                -1.328068155288572e+01 };
    static const double c[] = { -7.784894002430293e-03, -3.223964580411365e-01,
                                -2.400758277161838e+00, -2.549732539343734e+00,
                                4.374664141464968e+00,  2.938163982698783e+00 };
    static const double d[] = { 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                3.754408661907416e+00 };
    const double p_low = 0.02425;
    if (p >= p_low && p <= 1 - p_low) {
        double q = p - 0.5, r = q * q;
        return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
               (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
    }
    double q = num_sqrt(-2 * num_log(p < 0.5 ? p : 1 - p));
    double x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
               ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    return p < 0.5 ? x : -x;
}

static int32_t draw_lognormal(const struct workload_lengths *lengths, double p)
{
    double log = lengths->mean_log;
    if (lengths->sigma_log > 0)
        log += lengths->sigma_log * workload_draw_normal(p);
    double x = num_exp(log);
    if (x >= (double)lengths->max)
        return max_i32(lengths->max, 1);
    return max_i32((int32_t)(x + 0.5), max_i32(lengths->min, 1));
}

static double quantile(const int32_t *points, double p)
{
    uint32_t i = workload_tables_guide[(uint32_t)(p * WORKLOAD_QUANTILES_GUIDE)];
    while (workload_tables_p[i + 1] <= p)
        i++;
    return points[i] + (points[i + 1] - points[i]) * (p - workload_tables_p[i]) /
                           (workload_tables_p[i + 1] - workload_tables_p[i]);
}

static struct workload_pair draw_table(const struct workload_traffic *traffic, double p, double q)
{
    const struct workload_joint_table *t = traffic->table;
    double scale = traffic->table_scale > 0 ? traffic->table_scale : 1;
    double n_prompt = quantile(t->prompt, p) * scale;
    double n_output = quantile(t->output[(uint32_t)(p * t->n_groups)], q) * scale;
    return (struct workload_pair){
        max_i32((int32_t)min_i64((int64_t)(n_prompt + 0.5), LIMIT_CONTEXT), 1),
        max_i32((int32_t)min_i64((int64_t)(n_output + 0.5), LIMIT_CONTEXT), 1),
    };
}

static struct workload_pair draw_pair(const struct workload_traffic *traffic, uint64_t bits)
{
    if (traffic->n_pairs > 0)
        return traffic->pairs[(uint64_t)(uint32_t)(bits >> 32) * traffic->n_pairs >> 32];
    double p = half_unit(bits >> 32), q = half_unit(bits & UINT32_MAX);
    if (traffic->table != NULL)
        return draw_table(traffic, p, q);
    return (struct workload_pair){ draw_lognormal(&traffic->prompt, p),
                                   draw_lognormal(&traffic->output, q) };
}

static int32_t cut(int32_t n, int32_t min, int32_t max)
{
    n = max_i32(n, min);
    return max_i32(max > 0 ? min_i32(n, max) : n, 1);
}

struct workload_pair workload_draw_cut(const struct workload_filter *f, struct workload_pair pair)
{
    pair.n_prompt = cut(pair.n_prompt, f->prompt_min, f->prompt_max);
    pair.n_output = cut(pair.n_output, f->output_min, f->output_max);
    if (f->total_max > 0 && pair.n_prompt + pair.n_output > f->total_max) {
        pair.n_output = min_i32(pair.n_output, max_i32(f->total_max - 1, 1));
        pair.n_prompt = max_i32(f->total_max - pair.n_output, 1);
    }
    return pair;
}

struct workload_pair workload_draw_lengths(const struct workload_traffic *traffic, uint64_t seed,
                                           uint32_t source, uint64_t number)
{
    struct workload_pair pair = { 1, 1 };
    for (uint64_t i = 0; i < ATTEMPTS; i++) {
        pair = draw_pair(traffic, rng_at(seed, workload_dice(source, WORKLOAD_DICE_LENGTHS),
                                         number * ATTEMPTS + i));
        struct workload_pair kept = workload_draw_cut(&traffic->filter, pair);
        if (kept.n_prompt == pair.n_prompt && kept.n_output == pair.n_output)
            return pair;
    }
    return workload_draw_cut(&traffic->filter, pair);
}

/* ---- Arrivals. ---- */

/* log Gamma(x) for x >= 1. */
static double log_gamma(double x)
{
    double shift = 0;
    for (; x < 12; x++)
        shift += num_log(x);
    double y = 1 / (x * x);
    double tail = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / x;
    return (x - 0.5) * num_log(x) - x + 0.91893853320467274178 + tail - shift;
}

static double burst_length(struct workload_draw_clock *clock)
{
    return rng_exponential(&clock->bursts) *
           (clock->is_on ? clock->traffic->on_s : clock->traffic->off_s);
}

/* Returns the factor of a burst that keeps the mean rate. */
static double burst_factor(const struct workload_draw_clock *clock)
{
    const struct workload_traffic *t = clock->traffic;
    return clock->is_on ? (t->on_s + t->off_s - t->off_factor * t->off_s) / t->on_s : t->off_factor;
}

static bool has_bursts(const struct workload_traffic *traffic)
{
    return traffic->on_s > 0 && traffic->off_s > 0;
}

void workload_draw_begin(struct workload_draw_clock *clock, const struct workload_traffic *traffic,
                         uint64_t seed, uint32_t source)
{
    *clock = (struct workload_draw_clock){ .traffic = traffic, .factor = 1, .gap_scale = 1 };
    rng_init(&clock->gaps, seed, workload_dice(source, WORKLOAD_DICE_GAPS));
    rng_init(&clock->bursts, seed, workload_dice(source, WORKLOAD_DICE_BURSTS));
    if (traffic->arrivals == WORKLOAD_GAMMA)
        clock->gap_scale = traffic->cv * traffic->cv; /* 1 / shape */
    else if (traffic->arrivals == WORKLOAD_WEIBULL)
        clock->gap_scale = num_exp(-log_gamma(1 + 1 / traffic->shape));
    if (traffic->profile != NULL) {
        for (uint32_t i = 0; i < traffic->profile->n; i++)
            clock->period_s += traffic->profile->step_s * (double)traffic->profile->factors[i];
        clock->left_s = traffic->profile->step_s;
        clock->factor = (double)traffic->profile->factors[0];
    } else if (has_bursts(traffic)) {
        clock->is_on = rng_unit(&clock->bursts) < traffic->on_s / (traffic->on_s + traffic->off_s);
        clock->left_s = burst_length(clock);
        clock->factor = burst_factor(clock);
    }
}

static void next_stretch(struct workload_draw_clock *clock)
{
    const struct workload_profile *profile = clock->traffic->profile;
    if (profile != NULL) {
        clock->step = (clock->step + 1) % profile->n;
        clock->left_s = profile->step_s;
        clock->factor = (double)profile->factors[clock->step];
        return;
    }
    clock->is_on = !clock->is_on;
    clock->left_s = burst_length(clock);
    clock->factor = burst_factor(clock);
}

/* Draws a value with mean shape. After Marsaglia and Tsang, 2000. Both random values of a try come
 * from one number, and their squeeze avoids most logarithms. */
static double draw_gamma(struct rng *rng, double shape)
{
    double boost = 1;
    if (shape < 1) {
        boost = num_pow(1 - rng_unit(rng), 1 / shape);
        shape += 1;
    }
    double d = shape - 1.0 / 3, c = 1 / num_sqrt(9 * d);
    for (;;) {
        uint64_t bits = rng_u64(rng);
        double x = workload_draw_normal(half_unit(bits >> 32));
        double t = 1 + c * x, u = half_unit(bits & UINT32_MAX), xx = x * x;
        if (t <= 0)
            continue;
        double v = t * t * t;
        if (u < 1 - 0.0331 * xx * xx || num_log(u) < 0.5 * xx + d - d * v + d * num_log(v))
            return d * v * boost;
    }
}

static double draw_gap(struct workload_draw_clock *clock)
{
    const struct workload_traffic *t = clock->traffic;
    switch (t->arrivals) {
    case WORKLOAD_POISSON:
        return rng_exponential(&clock->gaps);
    case WORKLOAD_GAMMA:
        return draw_gamma(&clock->gaps, 1 / clock->gap_scale) * clock->gap_scale;
    case WORKLOAD_WEIBULL: {
        double x = rng_exponential(&clock->gaps);
        return x > 0 ? num_pow(x, 1 / t->shape) * clock->gap_scale : 0;
    }
    case WORKLOAD_CONSTANT:
        return 1;
    case WORKLOAD_ONCE:
        break;
    }
    return 0;
}

double workload_draw_arrival(struct workload_draw_clock *clock)
{
    const struct workload_traffic *t = clock->traffic;
    if (t->arrivals == WORKLOAD_ONCE)
        return 0;
    double gap = draw_gap(clock) / t->rate_per_s; /* seconds at the mean rate */
    if (t->profile == NULL && !has_bursts(t))
        return clock->at_s += gap;
    if (t->profile != NULL && gap >= clock->period_s) {
        double n_periods = num_floor(gap / clock->period_s);
        clock->at_s += n_periods * t->profile->step_s * t->profile->n;
        gap -= n_periods * clock->period_s;
    }
    while (gap >= clock->left_s * clock->factor) {
        gap -= clock->left_s * clock->factor;
        clock->at_s += clock->left_s;
        next_stretch(clock);
    }
    double more_s = gap / clock->factor;
    clock->left_s -= more_s;
    return clock->at_s += more_s;
}
