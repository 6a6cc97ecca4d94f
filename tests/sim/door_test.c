/* The door: every router on seeded traffic, every plan checked, nothing lost, the same bytes twice
 * and with holds; thousands of engines. */
#include "../test.h"
#include "base/str.h"
#include "sim/sim.h"

static const struct perf model = {
    .floor_ps = 2000000000,
    .c1_ps = 1000000000,
    .k1_ps = 20000000,
    .q1_ps = 4000000,
    .c3_ps = { 5000000000, 6000000000 },
    .c2_ps = { 20000000, 60000000 },
    .k2_ps = { 100000, 100000 },
    .b_switch = 24,
    .prefill_scale = 1,
    .decode_scale = 1,
};

static void run(const struct route_policy *router, uint64_t seed, int32_t n_engines, bool holds,
                struct str *out)
{
    static const char *const names[] = { "small", "large" };
    struct sim_service services[2];
    struct sim_engine_spec engines[4];
    struct workload workload = { .seed = seed, .n_requests = 1500, .n_services = 2 };
    struct schedule_config config;
    struct sim_report report;
    for (int s = 0; s < 2; s++) {
        services[s] = (struct sim_service){ .name = names[s],
                                            .perf = model,
                                            .bytes_per_token = 2000,
                                            .weights_bytes = 1000000,
                                            .activation_bytes = 100000 };
        workload.services[s] = (struct workload_traffic){ .rate_per_s = 12.0 * n_engines,
                                                          .prompt = { 4, 1, 1, 400 },
                                                          .output = { 3, 1, 1, 200 } };
    }
    for (int e = 0; e < 4; e++)
        engines[e] = (struct sim_engine_spec){ .services = { { e == 2 ? 1 : 3 } },
                                               .memory_bytes = 8000000 + e * 1000000 };
    workload.cancelled = 0.05;
    workload.cancel_ns_mean = 200000000;
    workload.prediction_noise = 0.3;
    schedule_config_init(&config);
    config.n_rounds_max = holds ? config.n_rounds_max : 1;
    const struct sim_options options = { .n_engines = n_engines,
                                         .n_lanes = 1,
                                         .n_services = 2,
                                         .services = services,
                                         .memory_bytes = 8000000,
                                         .engines = n_engines <= 4 ? engines : NULL,
                                         .n_requests_max = 12,
                                         .n_live_max = 4096,
                                         .n_tokens_max = 600,
                                         .block_tokens = 16,
                                         .policy = schedule_find("fcfs"),
                                         .config = &config,
                                         .router = router,
                                         .workload = &workload,
                                         .checks_steps = n_engines <= 4 };
    sim_run(&options, &report);
    if (report.wrong)
        fail_msg("%s, seed %llu: %s", router->name, (unsigned long long)seed, report.wrong);
    assert_int_equal(report.n_requests, 1500);
    sim_report_print(&report, &options, out);
    sim_report_free(&report);
}

static void every_router(void **state)
{
    (void)state;
    int n;
    const struct route_policy *const *all = route_all(&n);
    for (int i = 0; i < n; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct str first, second;
            str_init(&first);
            str_init(&second);
            run(all[i], seed, 4, true, &first);
            run(all[i], seed, 4, seed % 2 == 0, &second);
            assert_string_equal(first.at, second.at);
            str_free(&first);
            str_free(&second);
        }
    }
}

static void thousands_of_engines(void **state)
{
    (void)state;
    struct str out;
    str_init(&out);
    run(route_find("least"), 1, 3000, true, &out);
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_router),
                                        cmocka_unit_test(thousands_of_engines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
