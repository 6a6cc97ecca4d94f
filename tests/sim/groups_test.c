/* Groups of engines with routers of their own: requests and engines are dealt out, nothing is lost,
 * and what a group does is what it would do alone. */
#include "../test.h"
#include "sim/sim.h"

static const struct perf model = { .c1_ps = 1000000000,
                                   .k1_ps = 20000000,
                                   .c3_ps = { 20000000000, 20000000000 },
                                   .c2_ps = { 1000000000, 1000000000 },
                                   .b_switch = 64,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };
struct heard {
    int32_t n_groups, n;
};
static void take(void *self, const struct record *record)
{
    struct heard *heard = self;
    heard->n++;
    if (record->engine != UINT16_MAX) /* it left while it was held */
        assert_int_equal(record->engine % heard->n_groups, record->id % (uint64_t)heard->n_groups);
}

static struct sim_report run(int32_t n_groups, int32_t n_engines, const char *router, bool holds)
{
    struct heard heard = { n_groups, 0 };
    struct workload workload = { .seed = 5, .n_requests = 3000, .n_services = 1 };
    struct schedule_config config;
    struct sim_report report;
    const struct sim_service service = { .name = "one",
                                         .perf = model,
                                         .bytes_per_token = 100000,
                                         .weights_bytes = 1000000,
                                         .activation_bytes = 100000 };
    workload.services[0] = (struct workload_traffic){ .rate_per_s = 20,
                                                      .prompt = { 5, 1, 1, 600 },
                                                      .output = { 3, 1, 1, 300 } };
    workload.cancelled = 0.02;
    workload.cancel_ns_mean = 500000000;
    schedule_config_init(&config);
    config.n_rounds_max = holds ? config.n_rounds_max : 1;
    const struct sim_options options = { .n_engines = n_engines,
                                         .n_lanes = 1,
                                         .n_services = 1,
                                         .services = &service,
                                         .memory_bytes = 400000000,
                                         .n_requests_max = 16,
                                         .n_tokens_max = 1000,
                                         .block_tokens = 16,
                                         .policy = schedule_find("fcfs"),
                                         .config = &config,
                                         .router = route_find(router),
                                         .n_router_groups = n_groups,
                                         .workload = &workload,
                                         .checks_steps = true,
                                         .take = take,
                                         .take_self = &heard };
    sim_run(&options, &report);
    if (report.wrong != NULL)
        fail_msg("%s: %s", router, report.wrong);
    assert_int_equal(heard.n, 3000);
    sim_report_free(&report);
    return report;
}

static void test_no_router_loses_anything(void **state)
{
    int n;
    const struct route_policy *const *all = route_all(&n);
    (void)state;
    for (int i = 0; i < n; i++) {
        struct sim_report three = run(3, 6, all[i]->name, true);
        assert_int_equal(three.n_requests, 3000);
    }
}

static void test_holds_change_nothing(void **state)
{
    (void)state;
    struct sim_report a = run(2, 4, "best-fit", true), b = run(2, 4, "best-fit", false);
    struct sim_report again = run(2, 4, "best-fit", true);
    assert_true(a.hash == b.hash && a.hash == again.hash);
    struct sim_report one = run(1, 4, "best-fit", true);
    assert_true(one.hash != a.hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_router_loses_anything),
        cmocka_unit_test(test_holds_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
