/* The rows of the table of length predictors, for the files of this room alone. */
#pragma once

struct length_predictor;

extern const struct length_predictor length_none, length_oracle, length_noisy, length_mean,
    length_file, length_bins_conditional, length_bins_quantile, length_bucket;
