/* Predicts how many tokens a request will generate: the contract of a predictor, the table of
 * predictors, and the book that a gateway keeps. A book has one predictor, its state, and its
 * accuracy per service.
 *
 * A predictor is a const struct of functions without clock, malloc or globals. Its state is in
 * memory that it is given. predict is pure. Predictions are integers from our own exp and log, so
 * they are the same on every machine. Sources: Aladdin section 4 (conditional mean and
 * re-prediction), S^3 and UELLM section IV (ten equal buckets), docs/ALGORITHMS.md sections 3.1 and
 * 5.1. */
#pragma once
#include "base/str.h"
#include "core/limits.h"

enum { LENGTH_BUCKETS = 10 }; /* of equal width, up to the longest output */
enum { LENGTH_RATIOS = 10 };  /* bounds of output / prediction; one more bucket is above the last */
extern const double length_ratio_bounds[LENGTH_RATIOS]; /* 0.1, 0.25, 0.5, 0.75, 1, 1.33 .. 10 */

struct length_limits {
    int32_t n_services_max;
};
struct length_config {
    double noise;          /* noisy: predictions are multiplied by exp(normal(0, noise)) */
    double quantile;       /* quantile: this fraction of the outputs is no longer than predicted */
    uint64_t seed;         /* noisy: this and the request's id seed the random numbers */
    int32_t n_output_max;  /* of the model: the upper edge of the last bucket */
    int32_t n_samples_min; /* with fewer in a bin of input lengths its parent answers (D-13) */
    int32_t n_default;     /* tokens, while nothing was observed */
};
void length_config_init(struct length_config *config); /* 0.5, 0.9, 1, 2048, 30, 128 */

enum length_hint { LENGTH_HINT_NONE, LENGTH_HINT_TRUTH, LENGTH_HINT_GUESS };
struct length_query {
    uint64_t id; /* of the request: number or id, the same at every query */
    uint16_t service;
    int32_t n_prompt;
    const int32_t
        *tokens; /* (n_prompt) or NULL when there are none: features then use the length alone */
    int32_t n_generated; /* so far: the prediction is of more tokens than these */
    int32_t hint;        /* the true length, or a guess, as the predictor's `hint` requires */
};
struct length_predictor {
    const char *name, *summary;
    enum length_hint hint; /* what it needs; TRUTH is only for simulator and traces */
    size_t (*state_bytes)(const struct length_limits *limits);
    void (*open)(void *state, const struct length_limits *limits,
                 const struct length_config *config);
    /* Returns the generated tokens in total, > n_generated; 0 = unknown. */
    int32_t (*predict)(const void *state, const struct length_query *query);
    /* Learns from a request that ended by itself after n_output tokens. */
    void (*observe)(void *state, const struct length_query *query, int32_t n_output);
};
/* Returns the room's table: none, oracle, noisy, mean, conditional, quantile, bucket, file. */
const struct length_predictor *const *length_all(int *n);
const struct length_predictor *length_find(const char *name);
/* Parses "NAME" or "NAME:VALUE" (noisy:0.3, quantile:0.95, bucket:4096) and puts the value into
 * config. Returns NULL when there is no such predictor or the value is out of range. */
const struct length_predictor *length_parse(const char *text, struct length_config *config);

/* Returns a new prediction for a request that exceeded its own, when nothing else is known: 1.5
 * times its tokens, at least one more. It is for engines and routers, which have no predictor. */
int32_t length_again(int32_t n_predicted, int32_t n_generated);
/* Returns 0 .. LENGTH_BUCKETS - 1. Lengths above n_output_max are in the last. */
int32_t length_bucket_of(int32_t n_output, int32_t n_output_max);

/* The accuracy of first predictions, per service. `n_exceeded` outputs were longer than
 * predicted. */
struct length_calibration {
    int64_t n, n_exceeded;
    int64_t n_unknown; /* ended with a prediction of 0, and are in no other count */
    int64_t sum_output, sum_error, sum_abs_error; /* tokens; error = predicted - output */
    int64_t n_in_bucket;                          /* predicted bucket = true one */
    int64_t n_of_bucket[LENGTH_BUCKETS];          /* outputs in each bucket */
    int64_t n_of_ratio[LENGTH_RATIOS + 1];        /* output / prediction up to each bound, above */
    double sum_ratio;
};
void length_calibration_add(struct length_calibration *calibration, int32_t n_predicted,
                            int32_t n_output, int32_t n_output_max);
/* Prints a line: coverage (outputs no longer than predicted), bias, mean absolute error, and bucket
 * accuracy. It also has the accuracy of always naming the commonest bucket, which a predictor has
 * to exceed. */
void length_calibration_print(const struct length_calibration *calibration, const char *name,
                              struct str *out);

/* One predictor with its state and its calibration. */
struct length_book {
    const struct length_predictor *predictor;
    struct length_config config;
    int32_t n_services;
    size_t state_bytes; /* of one service's */
    void *state;        /* (n_services) each like that of a predictor for one service */
    struct length_calibration *calibrations; /* (n_services) */
};
void length_book_open(struct length_book *book, const struct length_predictor *predictor,
                      const struct length_config *config, int32_t n_services);
void length_book_close(struct length_book *book);
void length_book_forget(struct length_book *book, int service); /* as if it had never been used */
/* Returns a prediction of at most n_output_most when that is > 0, and always more than n_generated,
 * or 0 (unknown). */
int32_t length_book_predict(const struct length_book *book, const struct length_query *query,
                            int32_t n_output_most);
/* Called when the request ended by itself. It learns, and books the request's first prediction. */
void length_book_observe(struct length_book *book, const struct length_query *query,
                         int32_t n_predicted, int32_t n_output);

/* Returns an answer as an integer above n_generated. */
static inline int32_t length_answer(double tokens, int32_t n_generated)
{
    double most = LIMIT_CONTEXT;
    int32_t n = (int32_t)(tokens < 1 ? 1 : tokens > most ? most : tokens);
    return n > n_generated ? n : length_again(n, n_generated);
}
