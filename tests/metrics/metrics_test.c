/* The Prometheus text: exact lines, buckets at their edges, attainment, bounded words. */
#include "test.h"
#include "metrics/metrics.h"

static const char *const names[] = { "a/b", "q\"\\\n" };

static void expect(const struct str *out, const char *line)
{
    if (strstr(out->at, line) == NULL)
        fail_msg("\"%s\" is missing", line);
}

static struct metrics_request one(void)
{
    return (struct metrics_request){
        .why = SERVICE_STOPPED,
        .n_prompt = 10,
        .n_generated = 5,
        .ttft_ns = 1000000, /* 1 ms: on an edge */
        .e2e_ns = 400000000,
        .decode_ns = 100000000,
        .queue_ns = 250000,
        .slo = { 2000000, 1000000, 0 },
    };
}

static void test_requests(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_open(2, names);
    struct metrics_request request = one();
    struct str out;
    str_init(&out);
    metrics_add_request(metrics, &request);
    request.why = SERVICE_CANCELLED;
    metrics_add_request(metrics, &request);
    request.service = 7; /* nobody's: passed over */
    metrics_add_request(metrics, &request);
    metrics_add_gap(metrics, 1, 30000000);
    metrics_add_refusal(metrics, 0, "rejected-queue-full");
    metrics_add_refusal(metrics, 0, "rejected-queue-full");
    metrics_print(metrics, NULL, 0, &out);
    expect(&out, "\nvllm:prompt_tokens_total{model_name=\"a/b\"} 20\n"
                 "vllm:prompt_tokens_total{model_name=\"q\\\"\\\\\\n\"} 0\n");
    expect(&out, "# HELP vllm:time_to_first_token_seconds Time to first token in seconds.\n"
                 "# TYPE vllm:time_to_first_token_seconds histogram\n"
                 "vllm:time_to_first_token_seconds_bucket{model_name=\"a/b\",le=\"0.001\"} 2\n"
                 "vllm:time_to_first_token_seconds_bucket{model_name=\"a/b\",le=\"0.005\"} 2\n");
    expect(&out, "_bucket{model_name=\"a/b\",le=\"2560\"} 2\n"
                 "vllm:time_to_first_token_seconds_bucket{model_name=\"a/b\",le=\"+Inf\"} 2\n"
                 "vllm:time_to_first_token_seconds_sum{model_name=\"a/b\"} 0.002\n"
                 "vllm:time_to_first_token_seconds_count{model_name=\"a/b\"} 2\n");
    expect(&out,
           "vllm:inter_token_latency_seconds_bucket{model_name=\"q\\\"\\\\\\n\",le=\"0.025\"} 0\n"
           "vllm:inter_token_latency_seconds_bucket{model_name=\"q\\\"\\\\\\n\",le=\"0.05\"} 1\n");
    expect(&out, "vllm:e2e_request_latency_seconds_count{model_name=\"a/b\"} 1\n");
    expect(&out, "vllm:request_prefill_time_seconds_sum{model_name=\"a/b\"} 0.00075\n");
    expect(&out, "vllm:request_success_total{model_name=\"a/b\",finished_reason=\"stop\"} 1\n");
    expect(&out, "vllm:request_success_total{model_name=\"a/b\",finished_reason=\"abort\"} 1\n");
    expect(&out, "shoal_requests_total{model_name=\"a/b\",why=\"stop\"} 1\n"
                 "shoal_requests_total{model_name=\"a/b\",why=\"cancelled\"} 1\n");
    expect(&out, "shoal_refusals_total{model_name=\"a/b\",reason=\"rejected-queue-full\"} 2\n");
    expect(&out, "shoal_slo_met_total{model_name=\"a/b\",target=\"ttft\"} 1\n"
                 "shoal_slo_met_total{model_name=\"a/b\",target=\"tpot\"} 0\n");
    expect(&out, "shoal_slo_requests_total{model_name=\"a/b\",target=\"tpot\"} 1\n");
    assert_null(strstr(out.at, "target=\"e2e\""));
    str_free(&out);
    metrics_close(metrics);
}

static void test_summary(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_open(1, names);
    struct metrics_request request = one();
    struct metrics_summary summary;
    metrics_summary(metrics, 0, &summary);
    assert_true(summary.n_requests == 0 && summary.ttft_ms_p50 == 0);
    for (int i = 0; i < 100; i++)
        metrics_add_request(metrics, &request);
    metrics_summary(metrics, 0, &summary);
    assert_true(summary.n_requests == 100 && summary.n_tokens == 500);
    assert_true(summary.ttft_ms_p50 > 0.98 && summary.ttft_ms_p50 < 1.02);
    assert_true(summary.tpot_ms_p50 > 24.5 && summary.tpot_ms_p50 < 25.5);
    metrics_summary(metrics, 3, &summary);
    assert_int_equal(summary.n_requests, 0);
    metrics_close(metrics);
}

static void test_words_are_bounded(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_open(1, names);
    struct str out;
    char word[16];
    size_t n = 0;
    str_init(&out);
    for (int i = 0; i < 100; i++) {
        snprintf(word, sizeof(word), "reason-%d", i);
        metrics_add_refusal(metrics, 0, word);
    }
    metrics_print(metrics, NULL, 0, &out);
    for (const char *at = out.at; (at = strstr(at, "reason-")) != NULL; at++)
        n++;
    assert_int_equal(n, 16);
    str_free(&out);
    metrics_close(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_words_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
