/* Keeps normal equations per line, and solves them with every coefficient at or above zero. */
#include "predict/refit.h"
#include "base/num.h"

enum { N = 3 };
static const double loyalty =
    0.01; /* how much the distance from the previous coefficients counts */

/* Solves m x = y of the columns in `used` by elimination; the other x are 0. The matrix is positive
 * definite, so no pivot is sought. */
static void solve_used(double m[N][N], const double y[N], unsigned used, double x[N])
{
    double a[N][N], b[N];
    for (int i = 0; i < N; i++) {
        bool is_used = (used >> i & 1) != 0;
        b[i] = is_used ? y[i] : 0;
        for (int k = 0; k < N; k++)
            a[i][k] = is_used && (used >> k & 1) != 0 ? m[i][k] : i == k;
    }
    for (int i = 0; i < N; i++)
        for (int k = i + 1; k < N; k++) {
            double part = a[k][i] / a[i][i];
            for (int j = i; j < N; j++)
                a[k][j] -= part * a[i][j];
            b[k] -= part * b[i];
        }
    for (int i = N - 1; i >= 0; i--) {
        x[i] = b[i];
        for (int k = i + 1; k < N; k++)
            x[i] -= a[i][k] * x[k];
        x[i] /= a[i][i];
    }
}

/* Returns x m x / 2 - y x, which the solution minimizes. */
static double value_of(double m[N][N], const double y[N], const double x[N])
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum -= y[i] * x[i];
        for (int k = 0; k < N; k++)
            sum += x[i] * m[i][k] * x[k] / 2;
    }
    return sum;
}

/* Fits the line again: c has its previous coefficients, and gets the new ones. All columns are
 * measured in their own root mean square, so that times in picoseconds and contexts of thousands
 * of tokens meet as numbers of one size. Every set of columns that may be above zero is tried. */
static void fit(const struct perf_refit_line *line, double c[N])
{
    double size[N], m[N][N], y[N], best[N] = { 0 }, best_value = 0;
    for (int i = 0; i < N; i++)
        size[i] = line->xx[i][i] > 0 ? num_sqrt(line->xx[i][i]) : 1;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++)
            m[i][k] = line->xx[i][k] / size[i] / size[k] + (i == k ? loyalty : 0);
        y[i] = line->xy[i] / size[i] + loyalty * c[i] * size[i];
    }
    for (unsigned used = 1; used < 1U << N; used++) {
        double x[N];
        solve_used(m, y, used, x);
        double value = value_of(m, y, x);
        if (x[0] < 0 || x[1] < 0 || x[2] < 0 || value >= best_value)
            continue;
        best_value = value;
        for (int i = 0; i < N; i++)
            best[i] = x[i];
    }
    for (int i = 0; i < N; i++)
        c[i] = best[i] / size[i];
}

static void add(struct perf_refit_line *line, const double x[N], double y, double ratio)
{
    double keep = 1 - 1.0 / PERF_REFIT_MEMORY;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++)
            line->xx[i][k] = keep * line->xx[i][k] + x[i] / y * (x[k] / y);
        line->xy[i] = keep * line->xy[i] + x[i] / y;
    }
    line->off += ratio > 1 ? ratio - 1 : 1 - ratio;
    line->n++;
}

/* Returns whether the line is due to be fitted. */
static bool is_due(struct perf_refit_line *line)
{
    if (line->n < PERF_REFIT_EVERY)
        return false;
    bool is_off = line->off > PERF_REFIT_OFF * line->n;
    line->n = 0;
    line->off = 0;
    return is_off;
}

static int64_t rounded(double ps)
{
    return (int64_t)num_floor((ps < 1e18 ? ps : 1e18) + 0.5);
}

static void refit_prefill(const struct perf_refit_line *line, struct perf *perf)
{
    double scale = (double)perf->prefill_scale;
    double c[N] = { (double)perf->c1_ps * scale, (double)perf->k1_ps * scale,
                    (double)perf->q1_ps * scale };
    fit(line, c);
    perf->floor_ps = rounded((double)perf->floor_ps * scale);
    perf->c1_ps = rounded(c[0]);
    perf->k1_ps = rounded(c[1]);
    perf->q1_ps = rounded(c[2]);
    perf->prefill_scale = 1;
}

static void refit_decode(const struct perf_refit *refit, int regime, struct perf *perf)
{
    double scale = (double)perf->decode_scale;
    for (int i = 0; i < 2; i++) {
        double c[N] = { (double)perf->c3_ps[i] * scale, (double)perf->c2_ps[i] * scale,
                        (double)perf->k2_ps[i] * scale };
        if (i == regime)
            fit(&refit->decode[i], c);
        perf->c3_ps[i] = rounded(c[0]);
        perf->c2_ps[i] = rounded(c[1]);
        perf->k2_ps[i] = rounded(c[2]);
    }
    perf->decode_scale = 1;
}

void perf_refit_observe(struct perf_refit *refit, struct perf *perf, const struct perf_load *load,
                        int64_t measured_ps)
{
    double predicted = (double)perf_step_ps(perf, load);
    if (predicted <= 0 || measured_ps <= 0)
        return;
    /* An outlier counts as four times too slow or too fast at most. */
    double ratio = (double)measured_ps / predicted;
    ratio = ratio > 4 ? 4 : ratio < 0.25 ? 0.25 : ratio;
    struct perf fitted = *perf;
    double floor = (double)perf->floor_ps * (double)perf->prefill_scale;
    if (load->n_new == 0) {
        int regime = load->n_decodes >= perf->b_switch;
        double x[N] = { 1, load->n_decodes, (double)load->n_decode_context };
        add(&refit->decode[regime], x, ratio * predicted, ratio);
        if (is_due(&refit->decode[regime]))
            refit_decode(refit, regime, &fitted);
    } else if (load->n_decodes == 0 && predicted > floor) {
        double pairs = (double)(load->n_new_squared + 2 * load->n_new_context);
        double x[N] = { 1, load->n_new, pairs / 1024 };
        add(&refit->prefill, x, ratio * predicted, ratio);
        if (is_due(&refit->prefill))
            refit_prefill(&refit->prefill, &fitted);
    }
    if (coefficients_are_sane(&fitted))
        *perf = fitted;
    perf_observe(perf, load, measured_ps);
}
