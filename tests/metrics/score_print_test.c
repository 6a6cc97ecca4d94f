/* The sheet: a table with a line per service, and JSON with the same figures. */
#include "../test.h"
#include "metrics/score_print.h"
#include <jansson.h>

static void check_text(const struct score_sheet *sheet)
{
    struct str text;
    struct doc doc;
    str_init(&text);
    doc_init(&doc, &text, NULL);
    metrics_score_print_table(sheet, &doc);
    metrics_score_print_attainment(sheet, &doc);
    doc_free(&doc);
    assert_non_null(strstr(text.at, "meet seallm-solo x5: a latency of at most 5 times the "
                                    "request's own alone\n"));
    assert_non_null(strstr(text.at, "\nalpha "));
    assert_non_null(strstr(text.at, "\nbeta "));
    assert_non_null(strstr(text.at, "\nall "));
    assert_non_null(strstr(text.at, "waits between pieces of answers: mean 1 ms"));
    assert_non_null(strstr(text.at, "4 slices a request, 25% of them back early; 4 preemptions, 2 "
                                    "by swap; 0 exceeded"));
    assert_non_null(strstr(text.at, "a request's batches had 2 requests in the mean"));
    assert_non_null(strstr(text.at, "SLO attainment: seallm-solo x5 100.00%, seallm-mean x5 "
                                    "100.00%, muxserve x8 0.00%, aladdin 50.00%, uellm 50.00%, "
                                    "service 50.00%\n"));
    str_free(&text);
}

static void both_forms(void **state)
{
    struct record_set set = { 0 };
    struct score scores[3];
    struct score_service services[2] = { { .slo = { .ttft_ns = 1, .tpot_ns = 1, .e2e_ns = 1 } } };
    const struct score_options options = { .services = services,
                                           .rule = { .kind = SCORE_SEALLM_SOLO, .scale = 5 } };
    struct hist gaps;
    struct str text;
    struct json_out json;
    (void)state;
    services[1].base = (struct score_base){ .n = 1, .decode_ns = 1000 };
    assert_int_equal(metrics_record_service(&set, view_text("alpha")), 0);
    assert_int_equal(metrics_record_service(&set, view_text("beta")), 1);
    for (uint16_t i = 0; i < 2; i++) {
        struct record r = { .service = i,
                            .end_ns = 2000000000,
                            .first_ns = 1000000000,
                            .solo_ns = 1000000000,
                            .n_prompt = 8,
                            .n_output = 3,
                            .n_slices = 4,
                            .n_early = 1,
                            .n_batches = 3,
                            .n_batch_rows = 6,
                            .n_preempted = 2,
                            .n_swapped = 1,
                            .why = RECORD_LENGTH };
        metrics_record_add(&set, &r);
    }
    hist_init(&gaps);
    hist_add(&gaps, 1000000);
    metrics_score(&set, &options, scores);
    const struct score_sheet sheet = { &set, &options, scores, &gaps };
    check_text(&sheet);
    str_init(&text);
    json_out_init(&json, &text);
    json_out_open(&json, '{');
    metrics_score_print_json(&sheet, &json);
    json_out_close(&json, '}');
    json_t *root = json_loadb(text.at, text.n, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "completed")), 2);
    assert_true(json_number_value(json_object_get(root, "normalized_latency")) == 2);
    assert_true(json_number_value(json_object_get(root, "mean_ttft_ms")) == 1000);
    assert_true(json_number_value(json_object_get(root, "p95_e2el_ms")) == 2000);
    assert_true(json_number_value(json_object_get(root, "early_returns")) == 0.25);
    assert_true(json_number_value(json_object_get(root, "batch_size_seen")) == 2);
    assert_int_equal(json_integer_value(json_object_get(root, "preemptions_by_swap")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "services")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "attainment")), 6);
    json_decref(root);
    str_free(&text);
    metrics_record_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(both_forms) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
