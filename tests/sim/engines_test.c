/* Engines of a simulation: opened empty, loaded as their memory allows, counted, opened again. */
#include "../test.h"
#include "base/mem.h"
#include "sim/state.h"

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    (void)payload;
    ((struct sim_engine *)self)->sim->n_over += event->what == SERVICE_ENDED;
    return true;
}

static void engines_come_load_and_go(void **state)
{
    struct sim_service services[2] = {
        { .name = "one", .size.kv_bytes_per_token = 100, .size.weights_bytes = 600000 },
        { .name = "two", .size.kv_bytes_per_token = 300, .size.weights_bytes = 600000 }
    };
    struct workload workload = { .n_services = 2 };
    const struct sim_options options = { .n_engines = 2,
                                         .n_lanes = 1,
                                         .n_services = 2,
                                         .services = services,
                                         .memory_bytes = 1000000,
                                         .n_requests_max = 4,
                                         .n_tokens_max = 64,
                                         .block_tokens = 8,
                                         .policy = schedule_find("fcfs"),
                                         .workload = &workload };
    struct sim_report report;
    struct sim *sim = mem_take(sizeof(*sim));
    (void)state;
    for (int i = 0; i < 2; i++)
        services[i].perf = (struct perf){ .c1_ps = 1000000,
                                          .c3_ps = { 1000000, 1000000 },
                                          .b_switch = 9,
                                          .prefill_scale = 1,
                                          .decode_scale = 1 };
    *sim = (struct sim){ .options = &options, .report = &report };
    sim_report_open(sim);
    sim_engines_open(sim, emit);
    assert_int_equal(sim->unit_bytes, 2400); /* 8 tokens of the larger */
    assert_int_equal(sim->layouts[0].blocks_per_unit, 3);
    assert_int_equal(sim->layouts[1].blocks_per_unit, 1);
    assert_true(sim_engines_load(sim, 0, 0));
    assert_false(sim_engines_load(sim, 0, 1)); /* there is no room beside it */
    assert_true(sim_engines_load(sim, 1, 1));
    const struct request request = { .id = 5, .n_prompt = 4, .n_tokens = 4, .n_tokens_max = 7 };
    assert_true(engine_submit(sim->engines[0].engine, &request, NULL, 0));
    for (int64_t wake_ns = 0; wake_ns != INT64_MAX && sim->n_over == 0;) {
        sim->clock_ns = wake_ns;
        wake_ns = engine_step(sim->engines[0].engine, sim->clock_ns);
    }
    assert_int_equal(sim->n_over, 1);
    sim_engines_count(sim, 0);
    assert_int_equal(report.n_rounds, 3);
    assert_true(report.services[0].n_batches == 3 && report.services[0].n_batch_rows == 3);
    assert_int_equal(report.busy_ns, 3000);
    sim_engines_close_one(sim, 0);
    sim_engines_open_one(sim, 0); /* anew: empty again */
    assert_true(sim_engines_load(sim, 0, 1));
    sim_engines_close(sim);
    sim_report_free(&report);
    mem_give(sim);
}

/* Llama-2-7B's cache by heads: 1,024 entries of 4 bytes for each 16 tokens, at 25 GB/s. So a token
 * of context costs 10,240 ps in each step: 4 tokens of prompt, then contexts of 5 and 6. */
static void tables_of_a_head_wise_pool_cost_time(void **state)
{
    (void)state;
    for (int is_by_heads = 0; is_by_heads < 2; is_by_heads++) {
        const struct perf perf = { .c1_ps = 1000000,
                                   .c3_ps = { 1000000, 1000000 },
                                   .b_switch = 9,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };
        const struct sim_service service = { .name = "one",
                                             .perf = perf,
                                             .size.kv_bytes_per_token = 524288,
                                             .size.n_heads = 1024,
                                             .size.weights_bytes = 600000 };
        struct workload workload = { .n_services = 1 };
        const struct sim_options options = { .n_engines = 1,
                                             .n_lanes = 1,
                                             .n_services = 1,
                                             .services = &service,
                                             .memory_bytes = 1000000000,
                                             .n_requests_max = 4,
                                             .n_tokens_max = 64,
                                             .block_tokens = 16,
                                             .kv = is_by_heads ? KV_HEADS : KV_MERGED,
                                             .policy = schedule_find("fcfs"),
                                             .workload = &workload };
        struct sim_report report;
        struct sim *sim = mem_take(sizeof(*sim));
        *sim = (struct sim){ .options = &options, .report = &report };
        sim_report_open(sim);
        sim_engines_open(sim, emit);
        assert_int_equal(sim->layouts[0].block_tokens, 16);
        assert_true(sim_engines_load(sim, 0, 0));
        const struct request request = { .id = 5, .n_prompt = 4, .n_tokens = 4, .n_tokens_max = 7 };
        assert_true(engine_submit(sim->engines[0].engine, &request, NULL, 0));
        for (int64_t wake_ns = 0; wake_ns != INT64_MAX && sim->n_over == 0;) {
            sim->clock_ns = wake_ns;
            wake_ns = engine_step(sim->engines[0].engine, sim->clock_ns);
        }
        sim_engines_count(sim, 0);
        int64_t expected_ns = is_by_heads ? (3000000 + 10240 * (4 + 5 + 6)) / 1000 : 3000;
        assert_in_range(report.busy_ns, expected_ns, expected_ns + 3); /* rounded up each step */
        sim_engines_close(sim);
        sim_report_free(&report);
        mem_give(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(engines_come_load_and_go),
                                        cmocka_unit_test(tables_of_a_head_wise_pool_cost_time) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
