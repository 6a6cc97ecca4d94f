/* The reports of engines, summed and printed: the exact text of a small server. */
#include "test.h"
#include "metrics/print.h"

static void expect(const struct str *out, const char *line)
{
    if (strstr(out->at, line) == NULL)
        fail_msg("\"%s\" is missing", line);
}

static void test_two_engines(void **state)
{
    (void)state;
    static struct engine_report engines[2];
    static const char names[2][LIMIT_NAME_BYTES] = { "a", "b" };
    struct str out;
    str_init(&out);
    for (int e = 0; e < 2; e++) {
        engines[e] = (struct engine_report){ .engine = (uint16_t)e,
                                             .is_healthy = e == 0,
                                             .n_steps = 7,
                                             .step_ns = 1500000000,
                                             .kv_pool_bytes = 1000,
                                             .kv_free_bytes = 250,
                                             .n_services = 2 - e };
        engines[e].services[0] = (struct service_report){ .status = SERVICE_LOADED,
                                                          .n_running = 3,
                                                          .n_waiting = 2,
                                                          .n_prefix_hits = 40,
                                                          .kv_share = 0.25,
                                                          .kv_r = 0.5,
                                                          .kv_quota_bytes = 600,
                                                          .kv_bytes_per_token = 10 };
    }
    engines[0].services[1].status = SERVICE_LOADING;
    metrics_print_engines(engines, 2, 2, names, &out);
    expect(&out, "# HELP vllm:num_requests_running Requests being computed.\n"
                 "# TYPE vllm:num_requests_running gauge\n"
                 "vllm:num_requests_running{model_name=\"a\"} 6\n"
                 "vllm:num_requests_running{model_name=\"b\"} 0\n");
    expect(&out, "vllm:num_requests_waiting{model_name=\"a\"} 4\n");
    expect(&out, "vllm:prefix_cache_hits_total{model_name=\"a\"} 80\n");
    expect(&out, "vllm:kv_cache_usage_perc{model_name=\"a\"} 0.75\n"
                 "vllm:kv_cache_usage_perc{model_name=\"b\"} 0.75\n");
    expect(&out,
           "vllm:cache_config_info{model_name=\"a\",block_size=\"1\",num_gpu_blocks=\"200\"} 1\n");
    expect(&out, "shoal_model_status{model_name=\"a\",engine=\"1\",status=\"loaded\"} 1\n"
                 "shoal_model_status{model_name=\"b\",engine=\"0\",status=\"loading\"} 1\n");
    expect(&out, "shoal_engine_healthy{engine=\"0\"} 1\nshoal_engine_healthy{engine=\"1\"} 0\n");
    expect(&out, "shoal_kv_quota_bytes{model_name=\"a\"} 1200\n");
    expect(&out, "shoal_kv_share{model_name=\"a\",engine=\"0\"} 0.25\n"
                 "shoal_kv_share{model_name=\"a\",engine=\"1\"} 0.25\n"
                 "shoal_kv_share{model_name=\"b\",engine=\"0\"} 0\n# HELP");
    expect(&out, "shoal_kv_r{model_name=\"a\",engine=\"1\"} 0.5\n");
    expect(&out, "shoal_engine_kv_table_bytes{engine=\"0\"} 0\n");
    expect(&out, "shoal_engine_step_seconds_total{engine=\"0\"} 1.5\n");
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_two_engines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
