/* Prompts of one model beside decodes of another on parts of one GPU, against the same in turn. */
#include "../test.h"
#include "sim/sim.h"

/* LLaMA-7B's figures on an A100, nearly: prompts of 2,000 tokens take 170 ms, a decode step 12. */
static const struct perf perf = { .floor_ps = 13900000000,
                                  .c1_ps = 3400000000,
                                  .k1_ps = 83000000,
                                  .c3_ps = { 11440000000, 11440000000 },
                                  .b_switch = 64,
                                  .prefill_scale = 1,
                                  .decode_scale = 1 };

static int64_t makespan_ns(int32_t n_lanes, double bytes_per_s, const struct sim_cores *cores)
{
    const struct schedule_lane lanes[] = { { .share = 1, .conflicts = 6, .n_gpus = 1 },
                                           { .share = 0.6F, .conflicts = 1, .n_gpus = 1 },
                                           { .share = 0.4F, .conflicts = 1, .n_gpus = 1 } };
    struct sim_service services[2];
    struct schedule_config config;
    struct sim_report report;
    struct workload workload = { .seed = 1, .n_requests = 160, .n_services = 2 };
    /* One token each: all prompts. Many tokens: nearly all decodes. */
    workload.services[0] =
        (struct workload_traffic){ 200, { 7.6, 0.1, 1500, 2500 }, { 0, 0, 1, 1 } };
    workload.services[1] =
        (struct workload_traffic){ 200, { 2, 0.1, 4, 16 }, { 7, 0.1, 800, 1500 } };
    for (int i = 0; i < 2; i++)
        services[i] = (struct sim_service){ .name = i == 0 ? "prompts" : "decodes",
                                            .perf = perf,
                                            .cores = cores,
                                            .bytes_per_token = 1000,
                                            .weights_bytes = INT64_C(13476000000) };
    schedule_config_init(&config);
    const struct sim_engine_spec engine = { .services = { { 3 } },
                                            .memory_bytes = INT64_C(32000000000),
                                            .n_devices = 1,
                                            .bytes_per_s = bytes_per_s };
    const struct sim_options options = {
        .n_engines = 1,
        .n_lanes = n_lanes,
        .lanes = lanes,
        .n_services = 2,
        .services = services,
        .engines = &engine,
        .n_requests_max = 1000,
        .n_tokens_max = 4000,
        .policy = schedule_find("adbs"),
        .config = &config,
        .workload = &workload,
    };
    sim_run(&options, &report);
    assert_null(report.wrong);
    assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH] +
                         report.services[1].n_ended[SERVICE_LENGTH],
                     160);
    int64_t end_ns = report.end_ns;
    sim_report_free(&report);
    return end_ns;
}

/* A prompt takes 1.41 times its time on six tenths, a decode step 1.27 times its own on four: where
 * half of the time is prompts, both at once take 0.7 of both in turn, and the memory suffices: 79
 * GB/s for prompts, 930 for decodes. With a quarter of an A100's memory bandwidth it does not. */
static void side_by_side_is_faster_where_memory_suffices(void **state)
{
    (void)state;
    double in_turn = (double)makespan_ns(1, 2.039e12, NULL);
    double beside = (double)makespan_ns(3, 2.039e12, NULL);
    double starved = (double)makespan_ns(3, 0.25e12, NULL);
    assert_true(beside < 0.85 * in_turn);
    assert_true(starved > 1.2 * in_turn);
}

/* Ten cores, of which six and four were measured to be as fast as all: side by side half of the
 * time is saved, however little memory there is, unless the models were measured to double each
 * other's times. A number of cores that nobody measured takes what its share says. */
static void lanes_of_cores_are_as_measured(void **state)
{
    (void)state;
    struct sim_cores cores = { .n_cores = 10,
                               .n_groups = 3,
                               .groups = { { 4, perf }, { 6, perf }, { 10, perf } },
                               .beside = { { 1, 1 }, { 1, 1 } } };
    double in_turn = (double)makespan_ns(1, 0.25e12, &cores);
    double beside = (double)makespan_ns(3, 0.25e12, &cores);
    assert_true(beside < 0.7 * in_turn);
    for (int i = 0; i < 4; i++)
        cores.beside[i / 2][i % 2] = 2;
    double doubled = (double)makespan_ns(3, 0.25e12, &cores);
    assert_true(doubled > 0.95 * in_turn && doubled < 1.1 * in_turn);
    cores.n_groups = 1; /* six cores: 10 / 6 of the whole's time */
    assert_true((double)makespan_ns(3, 0.25e12, &cores) > 1.05 * doubled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_by_side_is_faster_where_memory_suffices),
        cmocka_unit_test(lanes_of_cores_are_as_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
