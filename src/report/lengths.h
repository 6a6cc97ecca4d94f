/* Reports the quality of the length predictor, for /metrics and reports: per model, its predictions
 * and the true lengths. */
#pragma once
#include "base/json_out.h"
#include "predict/length.h"

/* Writes Prometheus text. For each model it has a histogram of output / prediction, coverage (and
 * the target of a quantile), bias and mean absolute error, and bucket accuracy beside the commonest
 * bucket's. names: (n_services) of the book; NULL: not shown. */
void report_lengths_print(const struct length_book *book, const char *const *names,
                          struct str *out);
/* Writes the same figures as members of the object that json stands in, and "n", the number of
 * predicted answers. */
void report_lengths_json(const struct length_calibration *calibration, struct json_out *json);
