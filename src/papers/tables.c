/* Measured times that claims fit models to. */
#include "papers/tables.h"

#include "base/lsq.h"

/* splitwise-sim's perf_model.csv (Microsoft, MIT licence): medians over the repeats of each
 * setting, 128 output tokens. */
static const struct papers_step splitwise[] = {
    { PAPERS_A100, 4, 128, 1, 63.7, 42.42 },     { PAPERS_A100, 4, 256, 1, 78.6, 42.18 },
    { PAPERS_A100, 4, 512, 1, 127.0, 44.99 },    { PAPERS_A100, 4, 512, 2, 253.9, 45.00 },
    { PAPERS_A100, 4, 512, 4, 571.4, 45.09 },    { PAPERS_A100, 4, 512, 8, 1233.0, 45.80 },
    { PAPERS_A100, 4, 512, 16, 2892.6, 48.52 },  { PAPERS_A100, 4, 512, 32, 5131.7, 52.35 },
    { PAPERS_A100, 4, 512, 64, 10947.8, 72.95 }, { PAPERS_A100, 4, 1024, 1, 227.1, 44.95 },
    { PAPERS_A100, 4, 2048, 1, 403.3, 44.98 },   { PAPERS_A100, 4, 4096, 1, 965.2, 46.37 },
    { PAPERS_A100, 4, 8192, 1, 2278.5, 46.06 },  { PAPERS_A100, 8, 128, 1, 65.3, 43.03 },
    { PAPERS_A100, 8, 256, 1, 66.8, 43.48 },     { PAPERS_A100, 8, 512, 1, 94.3, 44.85 },
    { PAPERS_A100, 8, 512, 2, 165.9, 44.56 },    { PAPERS_A100, 8, 512, 4, 292.3, 45.79 },
    { PAPERS_A100, 8, 512, 8, 767.6, 46.47 },    { PAPERS_A100, 8, 512, 16, 2084.4, 50.44 },
    { PAPERS_A100, 8, 512, 32, 3524.5, 53.02 },  { PAPERS_A100, 8, 512, 64, 7554.0, 71.61 },
    { PAPERS_A100, 8, 1024, 1, 154.5, 44.97 },   { PAPERS_A100, 8, 2048, 1, 274.2, 45.44 },
    { PAPERS_A100, 8, 4096, 1, 661.2, 46.48 },   { PAPERS_A100, 8, 8192, 1, 1549.8, 46.51 },
    { PAPERS_H100, 4, 128, 1, 49.1, 28.36 },     { PAPERS_H100, 4, 256, 1, 51.0, 30.03 },
    { PAPERS_H100, 4, 512, 1, 59.6, 29.72 },     { PAPERS_H100, 4, 512, 2, 103.6, 29.98 },
    { PAPERS_H100, 4, 512, 4, 195.3, 29.92 },    { PAPERS_H100, 4, 512, 8, 442.2, 31.44 },
    { PAPERS_H100, 4, 512, 16, 874.3, 32.84 },   { PAPERS_H100, 4, 512, 32, 1726.1, 36.88 },
    { PAPERS_H100, 4, 512, 64, 3520.5, 52.36 },  { PAPERS_H100, 4, 1024, 1, 105.6, 29.44 },
    { PAPERS_H100, 4, 2048, 1, 200.7, 29.82 },   { PAPERS_H100, 4, 4096, 1, 463.5, 29.58 },
    { PAPERS_H100, 4, 8192, 1, 953.6, 29.72 },   { PAPERS_H100, 8, 128, 1, 58.2, 29.87 },
    { PAPERS_H100, 8, 256, 1, 51.7, 28.27 },     { PAPERS_H100, 8, 512, 1, 53.4, 29.76 },
    { PAPERS_H100, 8, 512, 2, 76.9, 30.26 },     { PAPERS_H100, 8, 512, 4, 132.6, 31.79 },
    { PAPERS_H100, 8, 512, 8, 371.6, 32.50 },    { PAPERS_H100, 8, 512, 16, 811.9, 34.17 },
    { PAPERS_H100, 8, 512, 32, 1551.7, 38.62 },  { PAPERS_H100, 8, 512, 64, 2936.3, 50.16 },
    { PAPERS_H100, 8, 1024, 1, 77.9, 29.74 },    { PAPERS_H100, 8, 2048, 1, 136.8, 31.05 },
    { PAPERS_H100, 8, 4096, 1, 390.3, 30.56 },   { PAPERS_H100, 8, 8192, 1, 844.9, 31.41 },
};

const struct papers_step *papers_tables_llama70b(int *n)
{
    *n = (int)COUNT_OF(splitwise);
    return splitwise;
}

int papers_tables_fit(const struct papers_step *steps, int n, const struct papers_fit *fit,
                      struct papers_fitted *out)
{
    double x[PAPERS_STEPS_MAX * PAPERS_COLUMNS_MAX] = { 0 }, y[PAPERS_STEPS_MAX] = { 0 },
                                weights[PAPERS_STEPS_MAX] = { 0 };
    int n_rows = 0;
    *out = (struct papers_fitted){ 0 };
    for (int i = 0; i < n; i++) {
        if (steps[i].device != fit->device || steps[i].tp != fit->tp ||
            (fit->keeps != NULL && !fit->keeps(&steps[i])))
            continue;
        CHECK(n_rows < PAPERS_STEPS_MAX);
        fit->row(&steps[i], &x[(size_t)n_rows * (size_t)fit->n_columns]);
        y[n_rows] = fit->is_decode ? steps[i].token_ms : steps[i].prompt_ms;
        weights[n_rows] = fit->is_relative ? 1 / (y[n_rows] * y[n_rows]) : 1;
        n_rows++;
    }
    if (n_rows == 0 || !lsq_solve(n_rows, fit->n_columns, x, y, weights, NULL, out->coefficients))
        return 0;
    for (int i = 0; i < n_rows; i++) {
        double predicted = 0;
        for (int c = 0; c < fit->n_columns; c++)
            predicted += x[i * fit->n_columns + c] * out->coefficients[c];
        double error = predicted - y[i];
        double part = (error < 0 ? -error : error) / y[i];
        out->square_ms += error * error / n_rows;
        out->mean += part / n_rows;
        out->worst = part > out->worst ? part : out->worst;
    }
    return n_rows;
}
