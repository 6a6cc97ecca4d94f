/* How the length predictor does, for /metrics and reports: per model, what it said and what came.
 */
#pragma once
#include "base/json_out.h"
#include "predict/length.h"

/* Prometheus text: of each model a histogram of output / prediction, coverage (and the one that a
 * quantile is to reach), bias and mean absolute error, bucket accuracy beside the commonest
 * bucket's. names: (n_services) of the book; NULL: it is not shown. */
void report_lengths_print(const struct length_book *book, const char *const *names,
                          struct str *out);
/* The same figures as members of the object that json stands in, and "n": answers that were
 * predicted. */
void report_lengths_json(const struct length_calibration *calibration, struct json_out *json);
