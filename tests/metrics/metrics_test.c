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
    metrics_add_tokens(metrics, 0, 20, 1);
    metrics_add_tokens(metrics, 0, 0, 3);
    metrics_add_tokens(metrics, METRICS_NO_SERVICE, 5, 5); /* ignored */
    metrics_add_gap(metrics, 1, 30000000);
    metrics_add_refusal(metrics, 0, "rejected-queue-full");
    metrics_add_refusal(metrics, 0, "rejected-queue-full");
    metrics_print(metrics, NULL, 0, &out);
    expect(&out, "\nvllm:prompt_tokens_total{model_name=\"a/b\"} 20\n"
                 "vllm:prompt_tokens_total{model_name=\"q\\\"\\\\\\n\"} 0\n");
    expect(&out, "\nvllm:generation_tokens_total{model_name=\"a/b\"} 4\n");
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
    for (int i = 0; i < 100; i++) {
        metrics_add_request(metrics, &request);
        metrics_add_tokens(metrics, 0, 10, 5);
    }
    metrics_summary(metrics, 0, &summary);
    assert_true(summary.n_requests == 100 && summary.n_tokens == 500);
    assert_true(summary.ttft_ms_p50 > 0.98 && summary.ttft_ms_p50 < 1.02);
    assert_true(summary.tpot_ms_p50 > 24.5 && summary.tpot_ms_p50 < 25.5);
    metrics_summary(metrics, 3, &summary);
    assert_int_equal(summary.n_requests, 0);
    metrics_close(metrics);
}

/* Sums a metric's samples with labels that hold this text. */
static int sum_of(const struct str *out, const char *name, const char *label)
{
    int sum = 0;
    for (const char *at = out->at; (at = strstr(at, name)) != NULL; at++) {
        const char *end = strchr(at, '\n'), *found = strstr(at, label);
        if (at[-1] == '\n' && found != NULL && found < end)
            sum += atoi(strstr(at, "} ") + 2);
    }
    return sum;
}

static void test_each_end_is_one_sample(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_open(1, names);
    struct str out;
    str_init(&out);
    for (int why = 0; why < SERVICE_WHY_N; why++)
        for (int i = 0; i <= why; i++)
            metrics_add_request(metrics, &(struct metrics_request){ .why = (uint8_t)why });
    metrics_add_request(metrics, &(struct metrics_request){ .service = METRICS_NO_SERVICE });
    metrics_add_request(metrics, &(struct metrics_request){ .why = SERVICE_WHY_N }); /* none */
    metrics_print(metrics, NULL, 0, &out);
    int n_all = SERVICE_WHY_N * (SERVICE_WHY_N + 1) / 2;
    assert_int_equal(sum_of(&out, "vllm:request_success_total{", "\"a/b\""), n_all);
    assert_int_equal(sum_of(&out, "shoal_requests_total{", "\"a/b\""), n_all);
    assert_int_equal(sum_of(&out, "vllm:request_success_total{", "model_name=\"\""), 1);
    static const struct {
        const char *reason;
        enum service_why why;
    } rows[] = { { "stop", SERVICE_STOPPED },
                 { "length", SERVICE_LENGTH },
                 { "abort", SERVICE_CANCELLED },
                 { "timeout", SERVICE_DEADLINE } };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(sum_of(&out, "vllm:request_success_total{", rows[i].reason),
                         rows[i].why + 1);
    expect(&out, "shoal_requests_total{model_name=\"\",why=\"invalid\"} 1\n");
    str_free(&out);
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
        cmocka_unit_test(test_each_end_is_one_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
