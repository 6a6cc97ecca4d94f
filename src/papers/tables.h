/* Measured times of Llama2-70B that claims fit models to, and the fit. It has figures only:
 * medians, with their source named in tables.c. */
#pragma once
#include "base/base.h"

enum papers_device { PAPERS_A100, PAPERS_H100 };
struct papers_step {
    enum papers_device device;
    int tp, n_prompt, n_batch;  /* prompts of n_prompt tokens each */
    double prompt_ms, token_ms; /* the batch's prefill; a decode step, mean over 128 */
};
const struct papers_step *papers_tables_llama70b(int *n);

enum { PAPERS_STEPS_MAX = 64, PAPERS_COLUMNS_MAX = 4 };
struct papers_fit {
    enum papers_device device;
    int tp, n_columns;
    bool is_decode, is_relative; /* of token_ms; by relative errors, else absolute ones */
    bool (*keeps)(const struct papers_step *step); /* NULL: all */
    void (*row)(const struct papers_step *step, double *x);
};
struct papers_fitted {
    double coefficients[PAPERS_COLUMNS_MAX]; /* ms */
    double square_ms;                        /* mean squared error, ms^2 */
    double mean, worst;                      /* relative errors */
};
/* Fits least squares over the steps of a device and TP degree. Returns the number of rows; 0: not
 * determined. */
int papers_tables_fit(const struct papers_step *steps, int n, const struct papers_fit *fit,
                      struct papers_fitted *out);
