/* Pools that grow and shrink: no request is lost, the same with and without holds, and what it
 * saves and costs. */
#include "../test.h"
#include "place/scale.h"
#include "sim/sim.h"

#define S INT64_C(1000000000)

static const struct perf model = { .c1_ps = 1000000000,
                                   .k1_ps = 20000000,
                                   .c3_ps = { 20000000000, 20000000000 },
                                   .c2_ps = { 1000000000, 1000000000 },
                                   .k2_ps = { 100000, 100000 },
                                   .b_switch = 64,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };
struct result {
    uint64_t hash;
    double devices, e2e_s;
    int64_t n_started, n_stopped, end_ns;
};

/* Two pools of six workers; a service each, busy half of the time: 8 requests/s for 300 s, then as
 * long none. */
static struct result run(const struct scale_config *scale, const char *router, bool holds)
{
    struct workload workload = { .seed = 5, .n_requests = 20000, .n_services = 2 };
    struct sim_service services[2];
    struct sim_engine_spec engines[12];
    struct schedule_config config;
    struct sim_report report;
    struct scale_config scales[2];
    for (int s = 0; s < 2; s++) {
        services[s] = (struct sim_service){ .name = s == 0 ? "day" : "night",
                                            .perf = model,
                                            .bytes_per_token = 2000,
                                            .weights_bytes = 1000000,
                                            .activation_bytes = 100000 };
        workload.services[s] = (struct workload_traffic){ .rate_per_s = 8,
                                                          .on_s = 300,
                                                          .off_s = s == 0 ? 300 : 150,
                                                          .prompt = { 4, 1, 1, 400 },
                                                          .output = { 4, 1, 1, 200 } };
        scales[s] = scale != NULL ? *scale : (struct scale_config){ .bin_ns = 0 };
    }
    for (int e = 0; e < 12; e++)
        engines[e] = (struct sim_engine_spec){ .services = { { e < 6 ? 1 : 2 } },
                                               .memory_bytes = 80000000,
                                               .n_devices = 2,
                                               .scale = scale != NULL ? &scales[e / 6] : NULL };
    schedule_config_init(&config);
    config.n_rounds_max = holds ? config.n_rounds_max : 1;
    const struct sim_options options = { .n_engines = 12,
                                         .n_lanes = 1,
                                         .n_services = 2,
                                         .services = services,
                                         .engines = engines,
                                         .n_requests_max = 64,
                                         .n_tokens_max = 600,
                                         .block_tokens = 16,
                                         .policy = schedule_find("fcfs"),
                                         .config = &config,
                                         .router = route_find(router),
                                         .workload = &workload,
                                         .checks_steps = true };
    sim_run(&options, &report);
    if (report.wrong != NULL)
        fail_msg("%s", report.wrong);
    assert_int_equal(report.n_requests, 20000);
    struct result result = { report.hash,
                             (double)report.device_ns / (double)report.end_ns,
                             (report.services[0].e2e_s + report.services[1].e2e_s) / 20000,
                             report.n_started,
                             report.n_stopped,
                             report.end_ns };
    sim_report_free(&report);
    return result;
}

static struct scale_config config_of(int64_t cold_s)
{
    struct scale_config config;
    scale_config_init(&config);
    config.line = (struct workers_line){ 0.25, 1, 0 };
    config.cold_start_ns = cold_s * S;
    return config;
}

static void test_it_saves_devices(void **state)
{
    (void)state;
    const struct scale_config quick = config_of(5), slow = config_of(60);
    struct result all = run(NULL, "least", true), scaled = run(&quick, "least", true);
    struct result late = run(&slow, "least", true);
    printf("devices %.2f, %.2f, %.2f; end to end %.3f s, %.3f s, %.3f s; started %lld, %lld\n",
           all.devices, scaled.devices, late.devices, all.e2e_s, scaled.e2e_s, late.e2e_s,
           (long long)scaled.n_started, (long long)late.n_started);
    assert_true(all.devices > 23.99 && all.devices < 24.01 && all.n_started == 0);
    assert_true(scaled.devices < 0.8 * all.devices);
    assert_true(scaled.n_started > 0 && scaled.n_stopped >= scaled.n_started);
    assert_true(scaled.e2e_s < 1.5 * all.e2e_s);
    assert_true(late.e2e_s > scaled.e2e_s); /* who comes while workers start waits */
}

static void test_holds_change_nothing(void **state)
{
    (void)state;
    static const char *const routers[] = { "least", "best-fit", "rr" };
    const struct scale_config config = config_of(20);
    for (size_t i = 0; i < COUNT_OF(routers); i++) {
        struct result a = run(&config, routers[i], true), b = run(&config, routers[i], false);
        assert_true(a.hash == b.hash);
        assert_true(a.devices == b.devices && a.n_started == b.n_started);
    }
}

static void test_it_ends_when_nothing_can_happen(void **state)
{
    (void)state;
    struct scale_config config = config_of(5);
    config.n_min = 6; /* they may not go */
    struct result still = run(&config, "least", true), all = run(NULL, "least", true);
    assert_int_equal(still.n_stopped, 0);
    assert_true(still.hash == all.hash && still.end_ns == all.end_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_saves_devices),
        cmocka_unit_test(test_holds_change_nothing),
        cmocka_unit_test(test_it_ends_when_nothing_can_happen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
