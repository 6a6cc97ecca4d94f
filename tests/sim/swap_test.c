/* Requests that give way to the host pool on virtual time: chosen by what is cheaper, copied in
 * time that the link takes, the same with and without holds, and every plan again from the engine's
 * log. */
#include "../test.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/log.h"
#include "engine/replay.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <unistd.h>

/* c tokens are computed again in 3.4 ms + 73.8 us c, and moved there and back, 2 * 512 KiB each, in
 * 262 us c at 4 GB/s, in 65.5 us c at 16 GB/s. */
static const struct sim_service service = {
    .name = "7B",
    .perf = { .c1_ps = 3400000000,
              .k1_ps = 73800000,
              .c3_ps = { 11440000000, 11440000000 },
              .c2_ps = { 30000000, 30000000 },
              .k2_ps = { 374000, 374000 },
              .b_switch = 64,
              .prefill_scale = 1,
              .decode_scale = 1 },
    .bytes_per_token = 524288,
};

struct outcome {
    int64_t n_preempted, n_swapped, n_tokens;
    uint64_t hash;
};

static void take(void *self, const struct record *record)
{
    metrics_record_add(self, record);
}

static struct outcome run(const char *policy, uint64_t seed, int64_t bytes_per_s, bool holds,
                          struct engine_log *const *logs)
{
    struct record_set set = { 0 };
    struct sim_report report;
    struct schedule_config config;
    struct workload workload = { .seed = seed,
                                 .n_requests = 200,
                                 .n_services = 1,
                                 .cancelled = 0.05,
                                 .cancel_ns_mean = 20000000000 };
    workload.services[0] = workload_conversations(4);
    schedule_config_init(&config);
    config.n_rounds_max = holds ? config.n_rounds_max : 1;
    const struct sim_options options = { .n_engines = 1,
                                         .n_lanes = 1,
                                         .n_services = 1,
                                         .services = &service,
                                         .memory_bytes = INT64_C(5) << 30,
                                         .n_requests_max = 128,
                                         .n_tokens_max = 8192,
                                         .block_tokens = 16,
                                         .swap_bytes = INT64_C(8) << 30,
                                         .swap_bytes_per_s = bytes_per_s,
                                         .policy = schedule_find(policy),
                                         .config = &config,
                                         .workload = &workload,
                                         .logs = logs,
                                         .checks_steps = !holds,
                                         .take = take,
                                         .take_self = &set };
    sim_run(&options, &report);
    assert_null(report.wrong);
    metrics_record_sort(&set);
    struct outcome out = { report.services[0].n_preempted, report.services[0].n_swapped, 0,
                           metrics_record_hash(&set) };
    int64_t n_swapped = 0, n_preempted = 0;
    for (size_t i = 0; i < set.n; i++) {
        assert_true(set.at[i].n_swapped <= set.at[i].n_preempted);
        out.n_tokens += set.at[i].n_output;
        n_swapped += set.at[i].n_swapped;
        n_preempted += set.at[i].n_preempted;
    }
    assert_int_equal(n_swapped, out.n_swapped); /* records say what the counters say */
    assert_int_equal(n_preempted, out.n_preempted);
    metrics_record_set_free(&set);
    sim_report_free(&report);
    return out;
}

static void the_cheaper_way_is_taken(void **state)
{
    (void)state;
    struct outcome slow = run("fcfs", 3, 4000000000, true, NULL);
    struct outcome fast = run("fcfs", 3, 16000000000, true, NULL);
    assert_true(slow.n_preempted > 5 && slow.n_swapped == 0);
    assert_true(fast.n_preempted > 5 && fast.n_swapped == fast.n_preempted);
    assert_true(slow.hash != fast.hash);
}

static void holds_change_nothing(void **state)
{
    int n;
    int64_t n_swapped = 0;
    const struct schedule_policy *const *policies = schedule_all(&n);
    (void)state;
    for (int p = 0; p < n; p++) {
        for (uint64_t seed = test_seed(1), last = seed + 2; seed < last; seed++) {
            struct outcome held = run(policies[p]->name, seed, INT64_C(20000000000), true, NULL);
            struct outcome stepped =
                run(policies[p]->name, seed, INT64_C(20000000000), false, NULL);
            struct outcome again = run(policies[p]->name, seed, INT64_C(20000000000), true, NULL);
            assert_int_equal(held.hash, again.hash);
            assert_int_equal(held.hash, stepped.hash);
            assert_int_equal(held.n_swapped, stepped.n_swapped);
            n_swapped += held.n_swapped;
        }
    }
    assert_true(n_swapped > 50);
}

static void every_plan_is_had_again(void **state)
{
    static const char *const names[] = { "fcfs", "value", "mlfq", "db-share", "scls-cb" };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[] = "/tmp/shoal-swap-XXXXXX";
        struct engine_log *log;
        struct engine_replay result;
        struct file_map map;
        struct fault fault;
        close(mkstemp(path));
        assert_int_equal(engine_log_open(&log, path, 1 << 30, &fault), STATUS_OK);
        run(names[i], 3, INT64_C(20000000000), true, &log);
        engine_log_close(log);
        assert_int_equal(file_map_open(&map, path, &fault), STATUS_OK);
        const struct engine_replay_options options = { .policy = NULL };
        assert_int_equal(engine_replay_run(map.at, map.n_bytes, &options, &result, &fault),
                         STATUS_OK);
        assert_false(result.differs);
        assert_true(result.n_mails > 200 && result.n_plans > 1000 && !result.is_cut);
        file_map_close(&map);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheaper_way_is_taken),
        cmocka_unit_test(holds_change_nothing),
        cmocka_unit_test(every_plan_is_had_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
