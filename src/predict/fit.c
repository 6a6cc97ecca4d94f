/* Fits the linear model to measured batches, by least squares of relative errors.
 *
 * Prefill: below some size a batch costs the launch floor whatever its content. Samples at the
 * floor would bend the line, so two readings are tried: no floor, with every sample on the line; or
 * a floor at the cheapest sample, with only the samples clearly above it on the line. Decode: one
 * line, or two that meet at a batch size b_switch, tried at each measured size. The reading with
 * the smaller relative error wins, and two lines must win clearly. */
#include "base/lsq.h"
#include "base/mem.h"
#include "base/num.h"
#include "predict/perf.h"
#include <stdlib.h>
#include <string.h>

enum { N_COLUMNS = 3 };
static const double floor_band = 1.08; /* times the cheapest: such samples are at the floor */
static const double split_gain = 0.7;  /* two regimes must reduce the error to this part at most */

struct rows { /* y = x c, weighted by 1 / y^2 */
    int n;
    double *x; /* (n, N_COLUMNS) */
    double *y, *weight;
    double *kind; /* distinguishes samples: batch size */
};

/* Solves for the coefficients of the first columns that the rows determine. The rest are 0. */
static bool solve(const struct rows *rows, double c[N_COLUMNS])
{
    static const bool is_nonnegative[N_COLUMNS] = { true, true, true };
    for (int n = N_COLUMNS; n > 0; n--) {
        double *x = mem_take((size_t)(rows->n * n) * sizeof(*x));
        for (int i = 0; i < rows->n; i++)
            memcpy(x + i * n, rows->x + i * N_COLUMNS, (size_t)n * sizeof(*x));
        memset(c, 0, N_COLUMNS * sizeof(*c));
        bool is_solved = lsq_solve(rows->n, n, x, rows->y, rows->weight, is_nonnegative, c);
        mem_give(x);
        if (is_solved)
            return true;
    }
    return false;
}

/* Returns the sum of squared relative errors. */
static double error_of(const struct rows *rows, const double c[N_COLUMNS], double floor)
{
    double sum = 0;
    for (int i = 0; i < rows->n; i++) {
        double y = 0;
        for (int j = 0; j < N_COLUMNS; j++)
            y += rows->x[i * N_COLUMNS + j] * c[j];
        y = (y < floor ? floor : y) / rows->y[i] - 1;
        sum += y * y;
    }
    return sum;
}

static void rows_open(struct rows *rows, int n_max)
{
    size_t n = (size_t)n_max;
    double *memory = mem_take(n * (N_COLUMNS + 3) * sizeof(double));
    *rows = (struct rows){ 0, memory, memory + n * N_COLUMNS, memory + n * (N_COLUMNS + 1),
                           memory + n * (N_COLUMNS + 2) };
}

static void rows_add(struct rows *rows, const double x[N_COLUMNS], double y, double kind)
{
    memcpy(rows->x + rows->n * N_COLUMNS, x, N_COLUMNS * sizeof(*x));
    rows->y[rows->n] = y;
    rows->weight[rows->n] = 1 / (y * y);
    rows->kind[rows->n++] = kind;
}

/* Selects the rows with `value` in [low, high). */
static void rows_select(const struct rows *all, const double *value, double low, double high,
                        struct rows *out)
{
    out->n = 0;
    for (int i = 0; i < all->n; i++)
        if (value[i] >= low && value[i] < high)
            rows_add(out, all->x + i * N_COLUMNS, all->y[i], all->kind[i]);
}

static bool fit_prefill(const struct rows *rows, struct rows *scratch, struct perf *out)
{
    double plain[N_COLUMNS], above[N_COLUMNS], floor = 0;
    if (!solve(rows, plain))
        return false;
    for (int i = 0; i < rows->n; i++)
        floor = i == 0 || rows->y[i] < floor ? rows->y[i] : floor;
    const double *best = plain;
    rows_select(rows, rows->y, floor * floor_band, 1e300, scratch);
    bool has_floor = scratch->n >= N_COLUMNS && rows->n - scratch->n >= 2 &&
                     solve(scratch, above) &&
                     error_of(rows, above, floor) < split_gain * error_of(rows, plain, 0);
    if (has_floor)
        best = above;
    out->floor_ps = has_floor ? (int64_t)floor : 0;
    out->c1_ps = (int64_t)(best[0] + 0.5);
    out->k1_ps = (int64_t)(best[1] + 0.5);
    out->q1_ps = (int64_t)(best[2] + 0.5);
    return true;
}

static void set_regime(struct perf *out, int regime, const double c[N_COLUMNS])
{
    out->c3_ps[regime] = (int64_t)(c[0] + 0.5);
    out->c2_ps[regime] = (int64_t)(c[1] + 0.5);
    out->k2_ps[regime] = (int64_t)(c[2] + 0.5);
}

static bool fit_decode(const struct rows *rows, struct rows *scratch, struct perf *out)
{
    double c[2][N_COLUMNS];
    if (!solve(rows, c[0]))
        return false;
    set_regime(out, 0, c[0]);
    set_regime(out, 1, c[0]);
    out->b_switch = INT32_MAX;
    double best = split_gain * error_of(rows, c[0], 0) - 1e-12 * rows->n;
    for (int i = 0; i < rows->n; i++) {
        double at = rows->kind[i];
        double sum = 0;
        bool is_solved = true;
        for (int k = 0; k < 2 && is_solved; k++) {
            rows_select(rows, rows->kind, k == 0 ? 0 : at, k == 0 ? at : 1e300, scratch);
            is_solved = scratch->n > N_COLUMNS && solve(scratch, c[k]);
            sum += is_solved ? error_of(scratch, c[k], 0) : 0;
        }
        if (!is_solved || sum >= best)
            continue;
        best = sum;
        out->b_switch = (int32_t)at;
        set_regime(out, 0, c[0]);
        set_regime(out, 1, c[1]);
    }
    return true;
}

bool perf_fit(const struct perf_sample *samples, int n_samples, struct perf *out)
{
    struct rows prefill, decode, scratch;
    rows_open(&prefill, n_samples);
    rows_open(&decode, n_samples);
    rows_open(&scratch, n_samples);
    for (int i = 0; i < n_samples; i++) {
        const struct perf_load *load = &samples[i].load;
        if (samples[i].ps <= 0)
            continue;
        double y = (double)samples[i].ps;
        double pairs = (double)(load->n_new_squared + 2 * load->n_new_context);
        double new_tokens[N_COLUMNS] = { 1, load->n_new, pairs / 1024 };
        double decodes[N_COLUMNS] = { 1, load->n_decodes, (double)load->n_decode_context };
        if (load->n_decodes == 0 && load->n_new > 0)
            rows_add(&prefill, new_tokens, y, 0);
        else if (load->n_new == 0 && load->n_decodes > 0)
            rows_add(&decode, decodes, y, load->n_decodes);
    }
    *out = (struct perf){ .b_switch = INT32_MAX, .prefill_scale = 1, .decode_scale = 1 };
    bool is_fit = fit_prefill(&prefill, &scratch, out) && fit_decode(&decode, &scratch, out);
    mem_give(prefill.x);
    mem_give(decode.x);
    mem_give(scratch.x);
    return is_fit;
}

static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void perf_errors_of(const struct perf *perf, const struct perf_sample *samples, int n_samples,
                    bool is_prefill, struct perf_errors *out)
{
    double *ratios = mem_take((size_t)n_samples * sizeof(*ratios));
    *out = (struct perf_errors){ 0 };
    for (int i = 0; i < n_samples; i++) {
        const struct perf_sample *s = &samples[i];
        double predicted = (double)perf_step_ps(perf, &s->load), measured = (double)s->ps;
        if ((s->load.n_new > 0) != is_prefill || measured <= 0 || predicted <= 0)
            continue;
        double relative = predicted / measured - 1, size = relative < 0 ? -relative : relative;
        ratios[out->n++] = measured / predicted;
        out->rmse_ps += (predicted - measured) * (predicted - measured);
        out->bias += relative;
        out->mean_abs += size;
        out->worst = size > out->worst ? size : out->worst;
    }
    if (out->n > 0) {
        int n = out->n, tail = n / 20;
        qsort(ratios, (size_t)n, sizeof(*ratios), order);
        out->rmse_ps = num_sqrt(out->rmse_ps / n);
        out->bias /= n;
        out->mean_abs /= n;
        out->low = ratios[tail];
        out->high = ratios[n - 1 - tail];
    }
    mem_give(ratios);
}

static bool is_of(const struct perf_sample *s, bool is_prefill)
{
    return (s->load.n_new > 0) == is_prefill && s->ps > 0;
}

double perf_within(const struct perf *perf, const struct perf_sample *samples, int n_samples,
                   bool is_prefill, const struct perf_errors *interval)
{
    int n = 0, n_within = 0;
    for (int i = 0; i < n_samples; i++) {
        if (!is_of(&samples[i], is_prefill))
            continue;
        double predicted = (double)perf_step_ps(perf, &samples[i].load);
        double measured = (double)samples[i].ps;
        n++;
        n_within += measured >= interval->low * predicted && measured <= interval->high * predicted;
    }
    return n > 0 ? (double)n_within / n : 0;
}

/* Among n left-out samples, as many lie outside of the k-th on either side as a further one would:
 * k of n + 1. Fewer than 19 samples give only their least and their most. */
void perf_interval_of(const struct perf_sample *samples, int n_samples, bool is_prefill,
                      struct perf_errors *errors)
{
    enum { FOLDS = 5 };
    size_t n_bytes = (size_t)n_samples * sizeof(struct perf_sample);
    struct perf_sample *rest = mem_take(n_bytes);
    double *ratios = mem_take((size_t)n_samples * sizeof(*ratios));
    int n = 0;
    for (int fold = 0; fold < FOLDS; fold++) {
        struct perf perf;
        int n_rest = 0;
        for (int i = 0; i < n_samples; i++)
            if (i % FOLDS != fold)
                rest[n_rest++] = samples[i];
        if (!perf_fit(rest, n_rest, &perf))
            continue;
        for (int i = fold; i < n_samples; i += FOLDS) {
            double predicted = (double)perf_step_ps(&perf, &samples[i].load);
            if (is_of(&samples[i], is_prefill) && predicted > 0)
                ratios[n++] = (double)samples[i].ps / predicted;
        }
    }
    if (n > 0) {
        int tail = (n + 1) / 20;
        tail = tail > 0 ? tail - 1 : 0;
        qsort(ratios, (size_t)n, sizeof *ratios, order);
        errors->low = ratios[tail];
        errors->high = ratios[n - 1 - tail];
        errors->within = (double)(n - 2 * tail) / n;
    }
    mem_give(ratios);
    mem_give(rest);
}
