/* How the length predictor does, for /metrics: per model, what it said and what came. */
#pragma once
#include "predict/length.h"

/* Prometheus text: of each model a histogram of output / prediction, coverage (and the one that a
 * quantile is to reach), bias and mean absolute error, bucket accuracy beside the commonest
 * bucket's. names: (n_services) of the book. */
void cmd_lengths_print(const struct length_book *book, const char *const *names, struct str *out);
