/* The table of length predictors, the simple ones among them, and the book that a gateway keeps. */
#include "predict/length.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "predict/length_rows.h"
#include <string.h>

static const struct length_predictor *const predictors[] = {
    &length_none,          &length_oracle, &length_noisy, &length_mean, &length_bins_conditional,
    &length_bins_quantile, &length_bucket, &length_file,
};

const struct length_predictor *const *length_all(int *n)
{
    *n = (int)COUNT_OF(predictors);
    return predictors;
}

const struct length_predictor *length_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(predictors); i++)
        if (strcmp(predictors[i]->name, name) == 0)
            return predictors[i];
    return NULL;
}

void length_config_init(struct length_config *config)
{
    *config = (struct length_config){ .noise = 0.5,
                                      .quantile = 0.9,
                                      .seed = 1,
                                      .n_output_max = 2048,
                                      .n_samples_min = 30,
                                      .n_default = 128 };
}

const struct length_predictor *length_parse(const char *text, struct length_config *config)
{
    const char *colon = strchr(text, ':');
    char name[32];
    double value;
    size_t n = colon == NULL ? strlen(text) : (size_t)(colon - text);
    if (n >= sizeof(name))
        return NULL;
    memcpy(name, text, n);
    name[n] = '\0';
    const struct length_predictor *predictor = length_find(name);
    if (predictor == NULL || colon == NULL)
        return predictor;
    if (!parse_f64(colon + 1, &value))
        return NULL;
    if (predictor == &length_noisy && value >= 0 && value <= 10)
        config->noise = value;
    else if (predictor == &length_bins_quantile && value > 0 && value < 1)
        config->quantile = value;
    else if (predictor == &length_bucket && value >= LENGTH_BUCKETS && value <= LIMIT_CONTEXT)
        config->n_output_max = (int32_t)value;
    else
        return NULL;
    return predictor;
}

int32_t length_again(int32_t n_predicted, int32_t n_generated)
{
    if (n_predicted > n_generated)
        return n_predicted;
    return max_i32(n_generated + 1, n_generated + n_generated / 2);
}

int32_t length_bucket_of(int32_t n_output, int32_t n_output_max)
{
    int64_t bucket = (max_i64(n_output, 1) - 1) * LENGTH_BUCKETS / max_i32(n_output_max, 1);
    return (int32_t)min_i64(bucket, LENGTH_BUCKETS - 1);
}

/* ---- Predictors without bins. ---- */

struct simple {
    struct length_config config;
    struct {
        double mean;
        int64_t n;
    } services[]; /* (n_services_max) */
};

/* The window of the mean: older requests fade as in a mean over the last MEAN_WINDOW. */
enum { MEAN_WINDOW = 1000 };

static size_t simple_bytes(const struct length_limits *limits)
{
    return sizeof(struct simple) +
           (size_t)limits->n_services_max * sizeof(((struct simple *)NULL)->services[0]);
}

static void simple_open(void *state, const struct length_limits *limits,
                        const struct length_config *config)
{
    struct simple *s = state;
    memset(s, 0, simple_bytes(limits));
    s->config = *config;
    for (int32_t i = 0; i < limits->n_services_max; i++)
        s->services[i].mean = config->n_default;
}

static void simple_observe(void *state, const struct length_query *query, int32_t n_output)
{
    (void)state;
    (void)query;
    (void)n_output;
}

static int32_t none_predict(const void *state, const struct length_query *query)
{
    (void)state;
    (void)query;
    return 0;
}

static int32_t hint_predict(const void *state, const struct length_query *query)
{
    (void)state;
    return query->hint > 0 ? length_answer(query->hint, query->n_generated) : 0;
}

static int32_t noisy_predict(const void *state, const struct length_query *query)
{
    const struct simple *s = state;
    struct rng rng;
    rng_init(&rng, s->config.seed, query->id);
    double factor = num_exp(s->config.noise * rng_normal(&rng));
    return query->hint > 0 ? length_answer(query->hint * factor + 0.5, query->n_generated) : 0;
}

static int32_t mean_predict(const void *state, const struct length_query *query)
{
    const struct simple *s = state;
    return length_answer(s->services[query->service].mean + 0.5, query->n_generated);
}

static void mean_observe(void *state, const struct length_query *query, int32_t n_output)
{
    struct simple *s = state;
    int64_t n = min_i64(++s->services[query->service].n, MEAN_WINDOW);
    double *mean = &s->services[query->service].mean;
    *mean += ((double)n_output - *mean) / (double)n;
}

const struct length_predictor length_none = {
    "none",      "predicts nothing", LENGTH_HINT_NONE, simple_bytes,
    simple_open, none_predict,       simple_observe,
};
const struct length_predictor length_oracle = {
    "oracle",          "the true length, a bound (simulator and traces)",
    LENGTH_HINT_TRUTH, simple_bytes,
    simple_open,       hint_predict,
    simple_observe,
};
const struct length_predictor length_noisy = {
    "noisy",           "the true length times a lognormal error (noisy:0.5)",
    LENGTH_HINT_TRUTH, simple_bytes,
    simple_open,       noisy_predict,
    simple_observe,
};
const struct length_predictor length_mean = {
    "mean",           "the mean of the service's last 1000 outputs",
    LENGTH_HINT_NONE, simple_bytes,
    simple_open,      mean_predict,
    mean_observe,
};
const struct length_predictor length_file = {
    "file",
    "the trace's column of predictions",
    LENGTH_HINT_GUESS,
    simple_bytes,
    simple_open,
    hint_predict,
    simple_observe,
};

/* ---- Calibration. ---- */

const double length_ratio_bounds[LENGTH_RATIOS] = {
    0.1, 0.25, 0.5, 0.75, 1, 1.333333, 2, 4, 6, 10
};

void length_calibration_add(struct length_calibration *c, int32_t n_predicted, int32_t n_output,
                            int32_t n_output_max)
{
    if (n_predicted <= 0) {
        c->n_unknown++;
        return;
    }
    int64_t error = (int64_t)n_predicted - n_output;
    int32_t bucket = length_bucket_of(n_output, n_output_max);
    c->n++;
    c->n_exceeded += error < 0;
    c->sum_output += n_output;
    c->sum_error += error;
    c->sum_abs_error += error < 0 ? -error : error;
    c->n_in_bucket += length_bucket_of(n_predicted, n_output_max) == bucket;
    c->n_of_bucket[bucket]++;
    double ratio = (double)n_output / n_predicted;
    int at = 0;
    while (at < LENGTH_RATIOS && ratio > length_ratio_bounds[at])
        at++;
    c->n_of_ratio[at]++;
    c->sum_ratio += ratio;
}

void length_calibration_print(const struct length_calibration *c, const char *name, struct str *out)
{
    double n = c->n > 0 ? (double)c->n : 1;
    int64_t most = 0;
    for (int i = 0; i < LENGTH_BUCKETS; i++)
        most = max_i64(most, c->n_of_bucket[i]);
    str_printf(out,
               "%s: %lld outputs of mean %.1f, covered %.1f%%, bias %+.1f, mean absolute error "
               "%.1f, bucket accuracy %.2f%% (commonest bucket alone %.2f%%)\n",
               name, (long long)c->n, (double)c->sum_output / n,
               100 * (double)(c->n - c->n_exceeded) / n, (double)c->sum_error / n,
               (double)c->sum_abs_error / n, 100 * (double)c->n_in_bucket / n,
               100 * (double)most / n);
}

/* ---- The book. ---- */

static const struct length_limits one_service = { 1 };

void length_book_open(struct length_book *book, const struct length_predictor *predictor,
                      const struct length_config *config, int32_t n_services)
{
    *book =
        (struct length_book){ .predictor = predictor, .config = *config, .n_services = n_services };
    book->state_bytes = (size_t)align_up_u64(predictor->state_bytes(&one_service), 64);
    book->state = mem_take((size_t)n_services * book->state_bytes);
    book->calibrations = mem_take((size_t)n_services * sizeof(*book->calibrations));
    for (int service = 0; service < n_services; service++)
        length_book_forget(book, service);
}

static void *state_of(const struct length_book *book, int service)
{
    CHECK(service >= 0 && service < book->n_services);
    return (char *)book->state + (size_t)service * book->state_bytes;
}

void length_book_forget(struct length_book *book, int service)
{
    book->predictor->open(state_of(book, service), &one_service, &book->config);
    book->calibrations[service] = (struct length_calibration){ 0 };
}

/* Changes the query to the service's number in its own predictor. */
static struct length_query as_only(const struct length_query *query)
{
    struct length_query only = *query;
    only.service = 0;
    return only;
}

void length_book_close(struct length_book *book)
{
    mem_give(book->state);
    mem_give(book->calibrations);
    *book = (struct length_book){ 0 };
}

int32_t length_book_predict(const struct length_book *book, const struct length_query *query,
                            int32_t n_output_most)
{
    const struct length_query only = as_only(query);
    int32_t n = book->predictor->predict(state_of(book, query->service), &only);
    if (n <= 0)
        return 0;
    n = length_again(n, query->n_generated);
    return n_output_most > query->n_generated ? min_i32(n, n_output_most) : n;
}

void length_book_observe(struct length_book *book, const struct length_query *query,
                         int32_t n_predicted, int32_t n_output)
{
    const struct length_query only = as_only(query);
    book->predictor->observe(state_of(book, query->service), &only, n_output);
    length_calibration_add(&book->calibrations[query->service], n_predicted, n_output,
                           book->config.n_output_max);
}
