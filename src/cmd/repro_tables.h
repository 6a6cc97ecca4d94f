/* Measured times of Llama2-70B that claims fit models to, and the fit. It has figures only:
 * medians, with their source named in repro_tables.c. */
#pragma once
#include "base/base.h"

enum repro_device { REPRO_A100, REPRO_H100 };
struct repro_step {
    enum repro_device device;
    int tp, n_prompt, n_batch;  /* prompts of n_prompt tokens each */
    double prompt_ms, token_ms; /* the batch's prefill; a decode step, mean over 128 */
};
const struct repro_step *repro_tables_llama70b(int *n);

enum { REPRO_STEPS_MAX = 64, REPRO_COLUMNS_MAX = 4 };
struct repro_fit {
    enum repro_device device;
    int tp, n_columns;
    bool is_decode, is_relative; /* of token_ms; by relative errors, else absolute ones */
    bool (*keeps)(const struct repro_step *step); /* NULL: all */
    void (*row)(const struct repro_step *step, double *x);
};
struct repro_fitted {
    double coefficients[REPRO_COLUMNS_MAX]; /* ms */
    double square_ms;                       /* mean squared error, ms^2 */
    double mean, worst;                     /* relative errors */
};
/* Fits least squares over the steps of a device and TP degree. Returns the number of rows; 0: not
 * determined. */
int repro_tables_fit(const struct repro_step *steps, int n, const struct repro_fit *fit,
                     struct repro_fitted *out);
