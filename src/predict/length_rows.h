/* The rows of the table of length predictors, for the files of this room alone. */
#pragma once
#include "predict/length.h"

extern const struct length_predictor length_none, length_oracle, length_noisy, length_mean,
    length_file, length_bins_conditional, length_bins_quantile, length_bucket;

/* Returns an answer as an integer above n_generated. */
static inline int32_t length_rows_answer(double tokens, int32_t n_generated)
{
    double most = LIMIT_CONTEXT;
    int32_t n = (int32_t)(tokens < 1 ? 1 : tokens > most ? most : tokens);
    return n > n_generated ? n : length_again(n, n_generated);
}
