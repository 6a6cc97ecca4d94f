/* Prints the calibration of a length predictor. */
#include "report/lengths.h"

#include "metrics/print.h"
#include <string.h>

static void print_labels(struct str *out, const struct length_book *book, const char *name,
                         const char *model)
{
    str_add_text(out, name);
    metrics_print_label(out, '{', "model_name", model);
    metrics_print_label(out, ',', "predictor", book->predictor->name);
}

static void print_ratios(struct str *out, const struct length_book *book, const char *const *names)
{
    metrics_print_name(out, "shoal_length_ratio", "Generated tokens over predicted ones.",
                       "histogram");
    for (int s = 0; s < book->n_services; s++) {
        const struct length_calibration *c = &book->calibrations[s];
        int64_t n = 0;
        if (names[s] == NULL)
            continue;
        for (int i = 0; i < LENGTH_RATIOS; i++) {
            n += c->n_of_ratio[i];
            print_labels(out, book, "shoal_length_ratio_bucket", names[s]);
            str_printf(out, ",le=\"%.6g\"} %lld\n", length_ratio_bounds[i], (long long)n);
        }
        print_labels(out, book, "shoal_length_ratio_bucket", names[s]);
        str_printf(out, ",le=\"+Inf\"} %lld\n", (long long)c->n);
        print_labels(out, book, "shoal_length_ratio_sum", names[s]);
        str_printf(out, "} %.15g\n", c->sum_ratio);
        print_labels(out, book, "shoal_length_ratio_count", names[s]);
        str_printf(out, "} %lld\n", (long long)c->n);
    }
}

static double commonest(const struct length_calibration *c)
{
    int64_t most = 0;
    for (int i = 0; i < LENGTH_BUCKETS; i++)
        most = max_i64(most, c->n_of_bucket[i]);
    return (double)most;
}

/* Returns a figure of the calibration; all but the first are 0 while nothing was predicted. */
enum figure { UNKNOWN, COVERAGE, BIAS, ERROR, ACCURACY, COMMONEST, FIGURES };
static double figure_of(const struct length_calibration *c, enum figure figure)
{
    double n = c->n > 0 ? (double)c->n : 1;
    switch (figure) {
    case UNKNOWN:
        return (double)c->n_unknown;
    case COVERAGE:
        return (double)(c->n - c->n_exceeded) / n;
    case BIAS:
        return (double)c->sum_error / n;
    case ERROR:
        return (double)c->sum_abs_error / n;
    case ACCURACY:
        return (double)c->n_in_bucket / n;
    default:
        return commonest(c) / n;
    }
}

static const char *const figures[FIGURES][3] = {
    { "shoal_length_unpredicted_total", "Answers without a predicted length.", "counter" },
    { "shoal_length_coverage", "Part of the answers no longer than predicted.", "gauge" },
    { "shoal_length_bias_tokens", "Mean of predicted less generated tokens.", "gauge" },
    { "shoal_length_error_tokens", "Mean absolute error of predictions.", "gauge" },
    { "shoal_length_bucket_accuracy", "Part predicted in the right one of ten buckets.", "gauge" },
    { "shoal_length_bucket_commonest", "The same of always naming the commonest bucket.", "gauge" },
};

void report_lengths_json(const struct length_calibration *calibration, struct json_out *json)
{
    json_out_key_i64(json, "n", calibration->n);
    for (int f = 0; f < FIGURES; f++)
        json_out_key_f64(json, figures[f][0] + strlen("shoal_length_"),
                         figure_of(calibration, (enum figure)f));
}

void report_lengths_print(const struct length_book *book, const char *const *names, struct str *out)
{
    print_ratios(out, book, names);
    for (int f = 0; f < FIGURES; f++) {
        metrics_print_name(out, figures[f][0], figures[f][1], figures[f][2]);
        for (int s = 0; s < book->n_services; s++) {
            if (names[s] == NULL)
                continue;
            print_labels(out, book, figures[f][0], names[s]);
            str_printf(out, "} %.15g\n", figure_of(&book->calibrations[s], (enum figure)f));
        }
    }
    if (strcmp(book->predictor->name, "quantile") != 0)
        return;
    metrics_print_name(out, "shoal_length_coverage_wanted", "The coverage that quantile aims at.",
                       "gauge");
    str_printf(out, "shoal_length_coverage_wanted %.15g\n", book->config.quantile);
}
