/* The accuracy of a predictor as /metrics prints it: the lines of a small book. */
#include "../test.h"
#include "report/lengths.h"

static void expect(const struct str *out, const char *line)
{
    if (strstr(out->at, line) == NULL)
        fail_msg("\"%s\" is missing in:\n%s", line, out->at);
}

#define TALE "{model_name=\"tale\",predictor=\"quantile\""

static void test_two_models(void **state)
{
    (void)state;
    static const char *const names[] = { "tale", "a \"b\"" };
    struct length_book book;
    struct length_config config;
    struct length_query query = { .id = 1 };
    struct str out;
    length_config_init(&config);
    const struct length_predictor *quantile = length_parse("quantile:0.75", &config);
    length_book_open(&book, quantile, &config, 2);
    length_book_observe(&book, &query, 100, 25); /* 0.25 */
    length_book_observe(&book, &query, 100, 100);
    length_book_observe(&book, &query, 100, 300);
    length_book_observe(&book, &query, 10, 500); /* beyond all bounds */
    length_book_observe(&book, &query, 0, 500);
    str_init(&out);
    report_lengths_print(&book, names, &out);
    expect(&out, "# TYPE shoal_length_ratio histogram\n"
                 "shoal_length_ratio_bucket" TALE ",le=\"0.1\"} 0\n");
    expect(&out, "le=\"0.25\"} 1\n");
    expect(&out, "le=\"1\"} 2\n");
    expect(&out, "le=\"4\"} 3\n");
    expect(&out, "le=\"10\"} 3\n");
    expect(&out, "le=\"+Inf\"} 4\n");
    expect(&out, "shoal_length_ratio_sum" TALE "} 54.25\n");
    expect(&out, "shoal_length_ratio_count{model_name=\"a \\\"b\\\"\","
                 "predictor=\"quantile\"} 0\n");
    expect(&out, "shoal_length_unpredicted_total" TALE "} 1\n");
    expect(&out, "shoal_length_coverage" TALE "} 0.5\n");
    expect(&out, "shoal_length_bias_tokens" TALE "} -153.75\n");
    expect(&out, "shoal_length_error_tokens" TALE "} 191.25\n");
    expect(&out, "shoal_length_bucket_accuracy" TALE "} 0.5\n");
    expect(&out, "shoal_length_coverage_wanted 0.75\n");
    str_free(&out);
    struct json_out json;
    str_init(&out);
    json_out_init(&json, &out);
    json_out_open(&json, '{');
    report_lengths_json(&book.calibrations[0], &json);
    json_out_close(&json, '}');
    expect(&out, "{\"n\":4,\"unpredicted_total\":1,\"coverage\":0.5,\"bias_tokens\":-153.75,"
                 "\"error_tokens\":191.25,\"bucket_accuracy\":0.5,\"bucket_commonest\":");
    str_free(&out);
    length_book_close(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_two_models) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
