/* Windows and engines that go ahead change nothing: with a router that is blind or counts, on one
 * thread or on several, a simulation is the same byte for byte as one that does one thing after the
 * other. */
#include "../test.h"
#include "models.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sim/sim.h"

struct result {
    struct sim_report report;
    struct str text;
    struct record_set records;
};
struct setting {
    uint64_t seed;
    const struct schedule_policy *policy;
    int32_t n_engines;
    uint32_t n_requests_max;
    double rate_per_s, cancelled;
    int64_t until_ns;
    bool takes;
};

static void take(void *self, const struct record *record)
{
    metrics_record_add(&((struct result *)self)->records, record);
}

static void run(const struct setting *s, const struct route_policy *router, int32_t n_threads,
                struct result *out)
{
    enum { N = 3000 };
    struct sim_workload workload = { .seed = s->seed,
                                     .n_requests = N,
                                     .n_services = 1,
                                     .cancelled = s->cancelled,
                                     .cancel_ns_mean = TIME_NS_PER_S,
                                     .with_deadline = 0.1,
                                     .deadline_ns = 3 * TIME_NS_PER_S };
    workload.services[0] = (struct sim_traffic){ .rate_per_s = s->rate_per_s,
                                                 .prompt = { 4.5, 0.8, 1, 2500 },
                                                 .output = { 3.5, 0.9, 1, 300 } };
    const struct sim_service service = { .name = "small",
                                         .perf = small_model,
                                         .bytes_per_token = 2000,
                                         .weights_bytes = 1000000,
                                         .activation_bytes = 100000 };
    const struct sim_options options = { .n_engines = s->n_engines,
                                         .n_lanes = 1,
                                         .n_services = 1,
                                         .services = &service,
                                         .memory_bytes = 1100000 + 2000 * 2000,
                                         .n_requests_max = s->n_requests_max,
                                         .n_tokens_max = 2600,
                                         .policy = s->policy,
                                         .router = router,
                                         .n_threads = n_threads,
                                         .workload = &workload,
                                         .until_ns = s->until_ns,
                                         .take = s->takes ? take : NULL,
                                         .take_self = out };
    *out = (struct result){ 0 };
    sim_run(&options, &out->report);
    metrics_record_sort(&out->records); /* those that are not over come in any order */
    sim_report_print(&out->report, &options, &out->text);
    assert_null(out->report.wrong);
}

static void release(struct result *result)
{
    sim_report_free(&result->report);
    str_free(&result->text);
    metrics_record_set_free(&result->records);
}

/* Returns how many windows there were, or visits of engines that went ahead. */
static int64_t compare(const struct setting *s, const char *name)
{
    const struct route_policy *own = route_find(name);
    struct route_policy seeing = *own;
    struct result plain, windowed;
    int64_t n_windows = 0;
    seeing.is_blind = seeing.takes_fewest = false;
    run(s, &seeing, 1, &plain);
    assert_int_equal(plain.report.n_windows + plain.report.n_ahead, 0);
    for (int32_t n_threads = 1; n_threads <= (own->is_blind ? 3 : 1); n_threads++) {
        run(s, own, n_threads, &windowed);
        assert_string_equal(plain.text.at, windowed.text.at);
        assert_true(plain.report.hash == windowed.report.hash);
        assert_int_equal(plain.report.end_ns, windowed.report.end_ns);
        assert_int_equal(plain.report.n_steps, windowed.report.n_steps);
        assert_int_equal(plain.records.n, windowed.records.n);
        if (s->takes)
            assert_memory_equal(plain.records.at, windowed.records.at,
                                plain.records.n * sizeof(*plain.records.at));
        n_windows += windowed.report.n_windows + windowed.report.n_ahead;
        release(&windowed);
    }
    release(&plain);
    return n_windows;
}

static void windows_change_nothing(void **state)
{
    static const char *const routers[] = { "rr", "random" }, *const policies[] = { "fcfs",
                                                                                   "db-turn" };
    struct rng rng;
    uint64_t seed = test_seed(1);
    int64_t n_windows = 0;
    (void)state;
    rng_init(&rng, seed, 3);
    for (uint64_t k = 0; k < 24; k++) {
        struct setting s = { .seed = seed + k,
                             .policy = schedule_find(policies[k % 2]),
                             .n_engines = 1 + (int32_t)rng_below(&rng, 20),
                             .n_requests_max = k % 3 == 0 ? 8 : 300,
                             .rate_per_s = 10 + 300 * rng_unit(&rng),
                             .cancelled = k % 5 == 0 ? 0.01 : 0,
                             .until_ns = k % 4 == 0 ? 8 * TIME_NS_PER_S : 0,
                             .takes = k % 2 == 0 };
        n_windows += compare(&s, routers[k / 2 % 2]);
    }
    assert_true(n_windows > 100);
}

/* Who comes with many ends with many, long before the last. */
static void many_end_at_nearly_one_time(void **state)
{
    struct setting s = { .seed = test_seed(1),
                         .policy = schedule_find("fcfs"),
                         .n_engines = 20,
                         .n_requests_max = 300,
                         .rate_per_s = 1e6,
                         .takes = true };
    (void)state;
    assert_true(compare(&s, "rr") > 0);
}

/* As many as a cache does not hold; some so small that requests are held, and some left alone so
 * long that one after the other ends. */
static void going_ahead_changes_nothing(void **state)
{
    static const char *const routers[] = { "least", "jsq" };
    static const char *const policies[] = { "fcfs", "db-turn", "value" };
    struct rng rng;
    uint64_t seed = test_seed(1);
    int64_t n_ahead = 0;
    (void)state;
    rng_init(&rng, seed, 4);
    for (uint64_t k = 0; k < 36; k++) {
        struct setting s = { .seed = seed + k,
                             .policy = schedule_find(policies[k % 3]),
                             .n_engines = 64 + (int32_t)rng_below(&rng, 60),
                             .n_requests_max = k % 3 == 0 ? 3 + rng_below(&rng, 6) : 300,
                             .rate_per_s = 100 + 3000 * rng_unit(&rng),
                             .cancelled = k % 5 == 0 ? 0.001 : 0,
                             .until_ns = k % 4 == 0 ? 1 * TIME_NS_PER_S : 0,
                             .takes = k % 2 == 0 };
        n_ahead += compare(&s, routers[k / 2 % 2]);
    }
    assert_true(n_ahead > 10000);
}

static void others_have_none(void **state)
{
    struct setting s = { .seed = 1,
                         .policy = schedule_find("fcfs"),
                         .n_engines = 4,
                         .n_requests_max = 300,
                         .rate_per_s = 50 };
    struct result result;
    (void)state;
    run(&s, route_find("least"), 2, &result);
    assert_int_equal(result.report.n_windows + result.report.n_ahead, 0);
    release(&result);
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = { cmocka_unit_test(windows_change_nothing),
                                        cmocka_unit_test(many_end_at_nearly_one_time),
                                        cmocka_unit_test(going_ahead_changes_nothing),
                                        cmocka_unit_test(others_have_none) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
