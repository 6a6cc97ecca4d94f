/* An engine behind its node, by hand. Weights take time to load, and after a crash lost work is
 * computed again and nothing is sent twice. */
#include "../test.h"
#include "base/time.h"
#include "sim/sim.h"

static void take(void *self, const struct record *record)
{
    metrics_record_add(self, record);
}

/* One request of 20 prompt tokens and 100 more, at t = 0: 20 ms, then 99 times 5 ms. */
static struct record lonely(const struct sim_faults *faults, struct sim_report *report)
{
    const struct workload_pair pair = { 20, 100 };
    const struct sim_service service = { .name = "lonely",
                                         .size.kv_bytes_per_token = 100,
                                         .size.weights_bytes = 500000,
                                         .perf = { .c1_ps = 20000000000,
                                                   .c3_ps = { 5000000000, 5000000000 },
                                                   .b_switch = 9,
                                                   .prefill_scale = 1,
                                                   .decode_scale = 1 } };
    struct record_set set = { 0 };
    struct workload workload = { .seed = 7, .n_requests = 1, .n_services = 1 };
    workload.services[0] = (struct workload_traffic){
        .arrivals = WORKLOAD_ONCE, .n_requests = 1, .pairs = &pair, .n_pairs = 1
    };
    const struct sim_options options = { .n_engines = 1,
                                         .n_lanes = 1,
                                         .n_services = 1,
                                         .services = &service,
                                         .memory_bytes = 1000000,
                                         .n_requests_max = 8,
                                         .n_tokens_max = 128,
                                         .policy = schedule_find("fcfs"),
                                         .workload = &workload,
                                         .faults = faults,
                                         .take = take,
                                         .take_self = &set };
    sim_run(&options, report);
    assert_null(report->wrong);
    assert_int_equal(set.n, 1);
    struct record record = set.at[0];
    metrics_record_set_free(&set);
    assert_true(record.n_output == 100 && record.why == RECORD_LENGTH);
    sim_report_free(report);
    return record;
}

static void weights_take_their_time(void **state)
{
    const struct sim_faults at_once = { 0 }, slow = { .load_bytes_per_s = 250000 },
                            far = { .latency_ns = 3 * TIME_NS_PER_MS };
    struct sim_report report;
    (void)state;
    struct record r = lonely(&at_once, &report);
    assert_true(r.first_ns == 20 * TIME_NS_PER_MS && r.end_ns == 515 * TIME_NS_PER_MS);
    r = lonely(&slow, &report); /* half a megabyte at a quarter a second takes 2 s */
    assert_true(r.first_ns == 2020 * TIME_NS_PER_MS && r.end_ns == 2515 * TIME_NS_PER_MS);
    /* A report, a load, its change, the request and its tokens take five ways of 3 ms. */
    r = lonely(&far, &report);
    assert_true(r.first_ns == 35 * TIME_NS_PER_MS && r.end_ns == 530 * TIME_NS_PER_MS);
}

static void a_crash_is_a_pause(void **state)
{
    struct sim_report report;
    (void)state;
    for (int64_t mean_ms = 100; mean_ms < 2000; mean_ms += 100) {
        const struct sim_faults f = { .crash_ns = mean_ms * TIME_NS_PER_MS,
                                      .restart_ns = 50 * TIME_NS_PER_MS };
        struct record r = lonely(&f, &report);
        int64_t n = report.bus.n_crashes, lost_ns = r.end_ns - 515 * TIME_NS_PER_MS;
        /* Each costs the restart, the work of the interrupted step, and the prompt once more
         * instead of a step that decodes. */
        assert_int_equal(r.n_slices, report.bus.n_crashed + 1);
        assert_true(n > 0 || lost_ns == 0);
        assert_true(lost_ns >= n * 50 * TIME_NS_PER_MS);
        assert_true(lost_ns <= n * (50 + 20 + 20) * TIME_NS_PER_MS);
        assert_true(mean_ms > 200 || n > 0);
    }
}

/* A link that is up for a millisecond every four seconds lets no answer through. The run ends and
 * says so, instead of going on for ever. */
static void faults_that_let_nothing_through_are_named(void **state)
{
    const struct sim_faults f = { .break_ns = TIME_NS_PER_MS };
    const struct sim_service service = { .name = "lonely",
                                         .size.kv_bytes_per_token = 100,
                                         .size.weights_bytes = 500000,
                                         .perf = { .c1_ps = 20000000000,
                                                   .c3_ps = { 5000000000, 5000000000 },
                                                   .b_switch = 9,
                                                   .prefill_scale = 1,
                                                   .decode_scale = 1 } };
    const struct workload_pair pair = { 20, 100 };
    struct workload workload = { .seed = 7, .n_requests = 1, .n_services = 1 };
    struct sim_report report;
    workload.services[0] = (struct workload_traffic){
        .arrivals = WORKLOAD_ONCE, .n_requests = 1, .pairs = &pair, .n_pairs = 1
    };
    const struct sim_options options = { .n_engines = 1,
                                         .n_lanes = 1,
                                         .n_services = 1,
                                         .services = &service,
                                         .memory_bytes = 1000000,
                                         .n_requests_max = 8,
                                         .n_tokens_max = 128,
                                         .policy = schedule_find("fcfs"),
                                         .workload = &workload,
                                         .faults = &f };
    (void)state;
    sim_run(&options, &report);
    assert_non_null(report.wrong);
    assert_non_null(strstr(report.wrong, "let no request get on"));
    sim_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_take_their_time),
        cmocka_unit_test(a_crash_is_a_pause),
        cmocka_unit_test(faults_that_let_nothing_through_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
