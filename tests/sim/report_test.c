/* The report's figures, from a workload that can be reckoned by hand. */
#include "../test.h"
#include "base/time.h"
#include "sim/sim.h"

/* 10 requests so far apart that each is alone: 20 ms for the prompt, 9 more tokens of 5 ms. */
static void figures_are_as_reckoned(void **state)
{
    struct sim_service service = {
        .name = "lonely",
        .bytes_per_token = 100,
        .perf = { .c1_ps = 20000000000,
                  .c3_ps = { 5000000000, 5000000000 },
                  .b_switch = 9,
                  .prefill_scale = 1,
                  .decode_scale = 1 },
    };
    struct sim_workload workload = { .seed = 1, .n_requests = 10, .n_services = 1 };
    workload.services[0] = (struct sim_traffic){ .rate_per_s = 0.001,
                                                 .prompt = { 3, 0, 1, 100 },
                                                 .output = { 2.3025851, 0, 1, 100 } };
    struct sim_options options = { .n_engines = 1,
                                   .n_lanes = 1,
                                   .n_services = 1,
                                   .services = &service,
                                   .memory_bytes = 1000000,
                                   .n_requests_max = 8,
                                   .n_tokens_max = 128,
                                   .policy = schedule_find("fcfs"),
                                   .workload = &workload };
    struct sim_report report;
    struct str text;
    (void)state;
    sim_run(&options, &report);
    assert_null(report.wrong);
    const struct sim_service_report *s = &report.services[0];
    assert_true(report.n_requests == 10 && s->n_ended[SERVICE_LENGTH] == 10);
    assert_true(s->n_prompt_tokens == 200 && s->n_tokens == 100 && s->n_met == 10);
    assert_true(s->ttft_s > 0.1999999 && s->ttft_s < 0.2000001);
    assert_true(s->e2e_s > 0.6499999 && s->e2e_s < 0.6500001 && s->solo_s > 0.6499999);
    assert_true(s->tpot_s > 0.0499999 && s->tpot_s < 0.0500001);
    assert_int_equal(report.busy_ps, 650000000000);
    str_init(&text);
    sim_report_print(&report, &options, &text);
    assert_non_null(strstr(text.at, "lonely: 10 requests, 10 length; 200 prompt tokens"));
    assert_non_null(strstr(text.at, "normalized latency 1"));
    str_free(&text);
    sim_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(figures_are_as_reckoned) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
