/* Simulations with a prefix cache: equal prefixes are found again, requests that gave way find
 * their own blocks; nothing changes where nothing is shared, nor with and without holds. */
#include "../test.h"
#include "base/file.h"
#include "base/str.h"
#include "models.h"
#include <stdio.h>
#include "sim/sim.h"

struct sums {
    int64_t n_cached, n_preempted, end_ns;
};

static void take(void *self, const struct record *record)
{
    struct sums *sums = self;
    sums->n_cached += record->n_cached;
    sums->n_preempted += record->n_preempted;
    sums->end_ns = max_i64(sums->end_ns, record->end_ns);
}

struct ask {
    const char *workload;
    bool has_prefix_cache;
    int32_t n_rounds_max;
    int64_t memory_bytes;
    int32_t ahead_blocks;
};

static uint64_t run(const struct ask *ask, struct sums *sums)
{
    struct schedule_config config;
    struct sim_report report;
    struct fault fault;
    struct workload workload;
    const struct sim_service service = { .name = "chat",
                                         .perf = line_model,
                                         .bytes_per_token = 1000 };
    *sums = (struct sums){ 0 };
    workload_init(&workload);
    if (workload_parse(&workload, ask->workload, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    schedule_config_init(&config);
    config.n_rounds_max = ask->n_rounds_max;
    config.ahead_blocks = ask->ahead_blocks;
    config.watermark = 0;
    const struct sim_options options = {
        .n_engines = 1,
        .n_lanes = 1,
        .n_services = 1,
        .services = &service,
        .memory_bytes = ask->memory_bytes,
        .n_requests_max = 64,
        .n_tokens_max = 2048,
        .block_tokens = 16,
        .policy = schedule_find("fcfs"),
        .config = &config,
        .workload = &workload,
        .has_prefix_cache = ask->has_prefix_cache,
        .checks_steps = true,
        .take = take,
        .take_self = sums,
    };
    sim_run(&options, &report);
    assert_null(report.wrong);
    uint64_t hash = report.hash;
    sim_report_free(&report);
    workload_free(&workload);
    return hash;
}

static const char alone[] = "poisson:rate=10,in=100,out=40,in-sigma=0.5,out-sigma=0.5,n=300";

static const char crowd[] = "poisson:rate=100,in=100,out=120,in-sigma=0.5,out-sigma=0.5,n=300";

static void nothing_shared_changes_nothing(void **state)
{
    (void)state;
    struct ask ask = { alone, false, 4096, INT64_C(1) << 26 };
    struct sums sums;
    uint64_t plain = run(&ask, &sums);
    ask.has_prefix_cache = true;
    assert_true(run(&ask, &sums) == plain);
    assert_int_equal(sums.n_cached, 0);
    ask.n_rounds_max = 1;
    assert_true(run(&ask, &sums) == plain);
}

static void equal_prefixes_are_found(void **state)
{
    (void)state;
    static const char path[] = "prefix_test.csv";
    struct str text;
    struct fault fault;
    struct sums without, with;
    str_init(&text);
    str_add_text(&text, "arrived_s,model,n_prompt,n_output,prefix\n");
    for (int i = 0; i < 40; i++)
        str_printf(&text, "%d.5,chat,%d,10,64:%d;%d\n", i, 140 + i, i % 4, 100 + i % 2);
    assert_int_equal(file_write(path, text.at, text.n, &fault), STATUS_OK);
    struct ask ask = { "file:prefix_test.csv", false, 4096, INT64_C(1) << 26 };
    (void)run(&ask, &without);
    ask.has_prefix_cache = true;
    uint64_t hash = run(&ask, &with);
    assert_int_equal(without.n_cached, 0);
    assert_int_equal(with.n_cached, 36 * 128); /* all but the first of each of four prefixes */
    ask.n_rounds_max = 1;
    assert_true(run(&ask, &with) == hash);
    str_free(&text);
    (void)remove(path);
}

static void who_gave_way_finds_its_blocks(void **state)
{
    (void)state;
    struct sums without, with, stepwise;
    struct ask ask = { crowd, false, 4096, 1600000 };
    (void)run(&ask, &without);
    ask.has_prefix_cache = true;
    uint64_t hash = run(&ask, &with);
    assert_true(without.n_preempted > 20 && with.n_preempted > 20);
    assert_true(with.end_ns < without.end_ns);
    ask.n_rounds_max = 1;
    assert_true(run(&ask, &stepwise) == hash);
    ask.ahead_blocks = 2; /* who starts leaves the others room to grow */
    (void)run(&ask, &stepwise);
    assert_true(stepwise.n_preempted < with.n_preempted);
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_shared_changes_nothing),
        cmocka_unit_test(equal_prefixes_are_found),
        cmocka_unit_test(who_gave_way_finds_its_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
