/* A simulation whose truth is a table: the engines believe a line and compute what the table says;
 * holds change nothing; a table that says what the line says changes nothing either. */
#include "../test.h"
#include "base/str.h"
#include "predict/costs.h"
#include "sim/sim.h"
#include "models.h"

static int64_t line_ps(const void *self, const struct perf_load *load)
{
    return perf_step_ps(self, load);
}

static double run(const struct perf_truth *truth, int32_t n_rounds_max, struct str *text)
{
    struct schedule_config config;
    struct sim_report report;
    const struct sim_service service = {
        .name = "chat", .perf = line_model, .truth = truth, .bytes_per_token = 1000
    };
    struct workload workload = {
        .seed = 4, .n_requests = 2000, .n_services = 1, .prediction_noise = -1
    };
    workload.services[0] = (struct workload_traffic){ .rate_per_s = 20,
                                                      .prompt = { 4.5, 0.8, 1, 600 },
                                                      .output = { 3.5, 0.9, 1, 300 } };
    schedule_config_init(&config);
    config.n_rounds_max = n_rounds_max;
    const struct sim_options options = {
        .n_engines = 2,
        .n_lanes = 1,
        .n_services = 1,
        .services = &service,
        .memory_bytes = 20000000,
        .n_requests_max = 200,
        .n_tokens_max = 1000,
        .policy = schedule_find("fcfs"),
        .config = &config,
        .workload = &workload,
    };
    sim_run(&options, &report);
    assert_null(report.wrong);
    double e2e_s = report.services[0].e2e_s / (double)report.n_requests;
    str_clear(text);
    sim_report_print(&report, &options, text);
    sim_report_free(&report);
    return e2e_s;
}

static void a_table_is_the_truth(void **state)
{
    (void)state;
    struct fault fault;
    struct costs costs = { 0 };
    struct str plain, other;
    str_init(&plain);
    str_init(&other);
    double e2e_s = run(NULL, 4096, &plain);
    const struct perf_truth same = { line_ps, &line_model };
    assert_true(run(&same, 4096, &other) == e2e_s);
    assert_string_equal(plain.at, other.at);
    assert_int_equal(costs_read_steps(&costs,
                                      "phase,batch,length,ms\nprefill,1,1,2\nprefill,1,600,30\n"
                                      "decode,1,1,10\ndecode,1,1000,11\ndecode,64,1,12\n"
                                      "decode,64,1000,30\n",
                                      &fault),
                     STATUS_OK);
    const struct perf_truth table = costs_truth(&costs);
    double slow_s = run(&table, 4096, &plain);
    assert_true(slow_s > 1.5 * e2e_s);
    (void)run(&table, 1, &other);
    assert_string_equal(plain.at, other.at);
    costs_free(&costs);
    str_free(&plain);
    str_free(&other);
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_table_is_the_truth) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
