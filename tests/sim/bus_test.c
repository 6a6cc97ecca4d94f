/* Simulations over the bus: a perfect one changes nothing, a bad one loses nothing, and both are
 * the same again. */
#include "../test.h"
#include "base/time.h"
#include "sim/sim.h"
#include "models.h"

struct setting {
    const char *policy, *router;
    uint64_t seed;
    const struct sim_faults *faults;
    bool steps;                   /* every step is planned */
    bool checks_nothing;          /* so that rest may be passed over */
    double cancelled, rate_per_s; /* 0 = 20 */
    int32_t n_tokens_max;         /* 0 = 600 */
    uint64_t n_requests;
    int64_t until_ns;
};

static void take(void *self, const struct record *record)
{
    metrics_record_add(self, record);
}

/* Returns the hash of the records. */
static uint64_t run(const struct setting *s, struct sim_report *report)
{
    static const char *const names[] = { "small", "large" };
    struct sim_service services[2];
    struct record_set set = { 0 };
    struct workload workload = { .seed = s->seed,
                                 .n_requests = s->n_requests > 0 ? s->n_requests : 600,
                                 .n_services = 2,
                                 .cancelled = s->cancelled,
                                 .cancel_ns_mean = 400000000 };
    struct schedule_config config;
    for (int i = 0; i < 2; i++) {
        services[i] = (struct sim_service){ .name = names[i],
                                            .perf = small_model,
                                            .bytes_per_token = 2000,
                                            .weights_bytes = 1000000,
                                            .activation_bytes = 100000 };
        workload.services[i] =
            (struct workload_traffic){ .rate_per_s = s->rate_per_s > 0 ? s->rate_per_s : 20,
                                       .prompt = { 4, 1, 1, 400 },
                                       .output = { 3, 1, 1, 200 } };
    }
    const struct sim_engine_spec engines[3] = { { .services = { { 3 } }, .memory_bytes = 8000000 },
                                                { .services = { { 1 } }, .memory_bytes = 6000000 },
                                                { .services = { { 3 } },
                                                  .memory_bytes = 9000000 } };
    schedule_config_init(&config);
    config.n_rounds_max = s->steps ? 1 : config.n_rounds_max;
    const struct sim_options options = { .n_engines = 3,
                                         .n_lanes = 1,
                                         .n_services = 2,
                                         .services = services,
                                         .engines = engines,
                                         .n_requests_max = 24,
                                         .n_live_max = 2048,
                                         .n_tokens_max =
                                             s->n_tokens_max > 0 ? s->n_tokens_max : 600,
                                         .block_tokens = 16,
                                         .policy = schedule_find(s->policy),
                                         .config = &config,
                                         .router = route_find(s->router),
                                         .predictor = length_find("oracle"),
                                         .workload = &workload,
                                         .faults = s->faults,
                                         .until_ns = s->until_ns,
                                         .checks_steps = !s->checks_nothing,
                                         .take = take,
                                         .take_self = &set };
    sim_run(&options, report);
    if (report->wrong != NULL)
        fail_msg("%s/%s seed %llu: %s", s->policy, s->router, (unsigned long long)s->seed,
                 report->wrong);
    metrics_record_sort(&set);
    assert_true(set.n == workload.n_requests || s->until_ns > 0);
    for (size_t i = 0; i < set.n && s->until_ns == 0; i++)
        assert_true(set.at[i].n_output == set.at[i].n_wanted || set.at[i].why == RECORD_CANCELLED ||
                    set.at[i].n_wanted <= 0);
    uint64_t hash = metrics_record_hash(&set);
    metrics_record_set_free(&set);
    return hash;
}

/* Gateway, manager and node on a bus that takes no time are what the door is. The gateway learns
 * where engines stand from reports, the door at once: so only of routers that do not look. */
static void a_perfect_bus_is_the_door(void **state)
{
    static const struct sim_faults none = { 0 };
    static const char *const policies[] = { "fcfs", "value", "db-share", "adbs", "scls-cb" };
    static const char *const routers[] = { "rr", "random" };
    uint64_t seed = test_seed(1);
    (void)state;
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        for (size_t r = 0; r < COUNT_OF(routers); r++) {
            struct setting s = {
                .policy = policies[p], .router = routers[r], .seed = seed + p, .rate_per_s = 4
            };
            struct sim_report door, bus;
            uint64_t expected = run(&s, &door);
            s.faults = &none;
            assert_int_equal(run(&s, &bus), expected);
            assert_int_equal(bus.n_rounds, door.n_rounds);
            assert_true(bus.busy_ns == door.busy_ns && bus.end_ns == door.end_ns);
            assert_true(bus.bus.n_messages > 1200 && door.bus.n_messages == 0);
            sim_report_free(&door);
            sim_report_free(&bus);
        }
    }
}

/* Prompts that are longer than a request may be fail, here at the bus's door. */
static void long_prompts_fail(void **state)
{
    static const struct sim_faults none = { 0 };
    struct setting s = {
        .policy = "fcfs", .router = "rr", .seed = 1, .rate_per_s = 4, .n_tokens_max = 60
    };
    struct sim_report door, bus;
    (void)state;
    (void)run(&s, &door);
    s.faults = &none;
    (void)run(&s, &bus);
    assert_true(bus.n_requests == door.n_requests && bus.bus.n_messages > 100);
    sim_report_free(&door);
    sim_report_free(&bus);
}

static void a_bad_bus_loses_nothing(void **state)
{
    static const struct sim_faults kinds[] = {
        { .latency_ns = TIME_NS_PER_MS, .late_ns = 2 * TIME_NS_PER_MS },
        { .lost = 0.05, .twice = 0.05 },
        { .cut_ns = 3 * TIME_NS_PER_S, .cut_for_ns = TIME_NS_PER_S },
        { .crash_ns = 4 * TIME_NS_PER_S, .restart_ns = TIME_NS_PER_S },
        { .bus_bytes = 12000, .crash_ns = 10 * TIME_NS_PER_S },
        { .latency_ns = TIME_NS_PER_MS,
          .late_ns = TIME_NS_PER_MS,
          .lost = 0.02,
          .twice = 0.02,
          .cut_ns = 5 * TIME_NS_PER_S,
          .cut_for_ns = TIME_NS_PER_S / 2,
          .crash_ns = 5 * TIME_NS_PER_S,
          .restart_ns = TIME_NS_PER_S,
          .load_bytes_per_s = 2000000 },
        { .latency_ns = TIME_NS_PER_MS, .drop = 0.002 },
        { .latency_ns = TIME_NS_PER_MS,
          .break_ns = 2 * TIME_NS_PER_S,
          .break_for_ns = TIME_NS_PER_S },
        { .break_ns = 9 * TIME_NS_PER_S, .break_for_ns = 5 * TIME_NS_PER_S, .twice = 0.02 },
        { .hole = 0.02 },
        { .hole = 0.01, .drop = 0.001, .crash_ns = 5 * TIME_NS_PER_S, .restart_ns = TIME_NS_PER_S },
    };
    static const char *const policies[] = { "fcfs", "value", "adbs", "cohort" };
    static const char *const routers[] = { "least", "jsq", "lpf", "scls" };
    struct sim_faults_report sum = { 0 };
    uint64_t seed = test_seed(1);
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        for (size_t p = 0; p < COUNT_OF(policies); p++) {
            struct setting s = { .policy = policies[p],
                                 .router = routers[p],
                                 .seed = seed + k,
                                 .faults = &kinds[k],
                                 .cancelled = 0.1 };
            struct sim_report report, again;
            uint64_t hash = run(&s, &report);
            assert_int_equal(run(&s, &again), hash);
            assert_memory_equal(&report.bus, &again.bus, sizeof(report.bus));
            sum.n_lost += report.bus.n_lost;
            sum.n_twice += report.bus.n_twice;
            sum.n_refused += report.bus.n_refused;
            sum.n_crashes += report.bus.n_crashes;
            sum.n_crashed += report.bus.n_crashed;
            sum.n_dropped += report.bus.n_dropped;
            sum.n_breaks += report.bus.n_breaks;
            sum.n_holes += report.bus.n_holes;
            sim_report_free(&report);
            sim_report_free(&again);
        }
    }
    printf("%lld lost, %lld twice, %lld refused, %lld crashes with %lld requests\n",
           (long long)sum.n_lost, (long long)sum.n_twice, (long long)sum.n_refused,
           (long long)sum.n_crashes, (long long)sum.n_crashed);
    assert_true(sum.n_lost > 100 && sum.n_twice > 100 && sum.n_refused > 10);
    assert_true(sum.n_crashes > 50 && sum.n_crashed > 50);
    printf("%lld dropped, %lld breaks, %lld holes\n", (long long)sum.n_dropped,
           (long long)sum.n_breaks, (long long)sum.n_holes);
    assert_true(sum.n_dropped > 100 && sum.n_breaks > 10 && sum.n_holes > 50);
}

/* Also when engines crash in the middle of one: what was drawn until then is told. */
static void holds_change_nothing(void **state)
{
    static const struct sim_faults crashes = { .crash_ns = 3 * TIME_NS_PER_S,
                                               .restart_ns = TIME_NS_PER_S };
    static const char *const policies[] = { "fcfs", "value", "mlfq" };
    (void)state;
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        struct setting s = {
            .policy = policies[p], .router = "rr", .seed = test_seed(3), .faults = &crashes
        };
        struct sim_report held, stepped;
        uint64_t hash = run(&s, &held);
        s.steps = true;
        assert_int_equal(run(&s, &stepped), hash);
        assert_true(held.n_steps < stepped.n_steps && held.bus.n_crashes > 5);
        assert_int_equal(held.bus.n_crashed, stepped.bus.n_crashed);
        sim_report_free(&held);
        sim_report_free(&stepped);
    }
}

static void a_run_may_be_cut(void **state)
{
    static const struct sim_faults some = { .latency_ns = TIME_NS_PER_MS };
    struct setting s = { .policy = "fcfs",
                         .router = "least",
                         .seed = 1,
                         .faults = &some,
                         .n_requests = 4000,
                         .until_ns = 5 * TIME_NS_PER_S };
    struct sim_report report;
    (void)state;
    run(&s, &report);
    assert_true(report.n_requests > 50 && report.n_requests < 400);
    sim_report_free(&report);
}

/* Between requests that are minutes apart: every report is counted. */
static void rest_changes_nothing(void **state)
{
    static const struct sim_faults kinds[] = {
        { .latency_ns = 0 },
        { .latency_ns = 30 * TIME_NS_PER_MS, .report_ns = 70 * TIME_NS_PER_MS },
        { .latency_ns = 150 * TIME_NS_PER_MS, .load_bytes_per_s = 20000 },
        { .lost = 0.05, .late_ns = TIME_NS_PER_MS },
    };
    static const char *const routers[] = { "least", "best-fit", "scls", "lpf" };
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        for (size_t r = 0; r < COUNT_OF(routers); r++) {
            struct setting s = { .policy = "fcfs",
                                 .router = routers[r],
                                 .seed = test_seed(2) + r,
                                 .faults = &kinds[k],
                                 .cancelled = 0.2,
                                 .rate_per_s = 0.02,
                                 .n_requests = 40,
                                 .until_ns = r == 3 ? 500 * TIME_NS_PER_S : 0 };
            struct sim_report all, passed;
            uint64_t hash = run(&s, &all);
            s.checks_nothing = true;
            assert_int_equal(run(&s, &passed), hash);
            assert_memory_equal(&passed.bus, &all.bus, sizeof(all.bus));
            assert_true(passed.n_steps == all.n_steps && passed.end_ns == all.end_ns);
            assert_true(all.bus.n_messages > 10000);
            sim_report_free(&all);
            sim_report_free(&passed);
        }
    }
}

/* Half a year in which hardly anybody asks would take hours else. */
static void rest_is_passed_over(void **state)
{
    static const struct sim_faults none = { 0 };
    struct setting s = { .policy = "fcfs",
                         .router = "best-fit",
                         .seed = 1,
                         .faults = &none,
                         .checks_nothing = true,
                         .rate_per_s = 1e-6,
                         .n_requests = 40 };
    struct sim_report report;
    (void)state;
    run(&s, &report);
    assert_true(report.end_ns > 100 * 86400 * TIME_NS_PER_S);
    assert_true(report.bus.n_messages / 6 >= report.end_ns / (TIME_NS_PER_S / 10) - 1);
    sim_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perfect_bus_is_the_door), cmocka_unit_test(long_prompts_fail),
        cmocka_unit_test(a_bad_bus_loses_nothing),   cmocka_unit_test(holds_change_nothing),
        cmocka_unit_test(a_run_may_be_cut),          cmocka_unit_test(rest_changes_nothing),
        cmocka_unit_test(rest_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
