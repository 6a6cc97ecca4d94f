/* One chain: the time of a step, the chosen map, and the devices present at first. */
#include "small_chain.h"

/* ---- One step. ---- */

static void test_a_step_by_hand(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    const struct layers_plan plan = { .n_parts = 2, .parts = { { 1, 3 }, { 3, 5 } } };
    const struct perf_load decodes = { .n_decodes = 4, .n_decode_context = 4000 };
    const struct perf_load prompt = { .n_new = 500, .n_new_squared = 250000 };
    /* 3 layers of 2 ms, 5 of 4 ms; 10 us and 15 us of latency, twice 4,000 bytes at 1 GB/s. */
    assert_int_equal(sim_chain_step_ps(&c.chain, &plan, &decodes), 26033 * INT64_C(1000000));
    assert_int_equal(sim_chain_step_ps(&c.chain, &plan, &prompt), 27025 * INT64_C(1000000));
    /* Device 1 has 150 MiB beside its layers, but device 3 has none: 5 layers take 500 of 450. */
    assert_true(sim_chain_tokens(&c.chain, &plan) < 0);
    const struct layers_plan fits = { .n_parts = 2, .parts = { { 1, 4 }, { 3, 4 } } };
    assert_int_equal(sim_chain_tokens(&c.chain, &fits), 50 * MIB / (4 * 800));
    const struct layers_plan one = { .n_parts = 1, .parts = { { 2, 8 } } };
    assert_int_equal(sim_chain_step_ps(&c.chain, &one, &decodes), 24 * PS_PER_MS); /* no link */
}

/* ---- The map. ---- */

/* Solves HELR's problem for the present devices, which is written out again from the devices. */
static struct layers_plan solve_apart(const struct small_chain *c, const bool *is_here)
{
    struct layers_device devices[DEVICES];
    int64_t links[DEVICES * DEVICES];
    struct layers_plan plan;
    for (int d = 0; d < DEVICES; d++) /* an absent device holds nothing, so it is not chosen */
        devices[d] = (struct layers_device){
            (d + 1) * PS_PER_MS, is_here[d] ? (int32_t)(450 * MIB / (100 * MIB + 800 * 4000)) : 0
        };
    for (int i = 0; i < DEVICES * DEVICES; i++)
        links[i] = i / DEVICES == i % DEVICES  ? 0
                   : i / DEVICES < i % DEVICES ? 14 * INT64_C(1000000)
                                               : 19 * INT64_C(1000000);
    const struct layers_problem problem = { DEVICES, LAYERS, devices, links, true };
    assert_int_equal(layers_solve(&problem, c->chain.aim, NULL, &plan, NULL), STATUS_OK);
    return plan;
}

static void test_the_map_is_the_exact_planners(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    const struct perf_load planned = { .n_decodes = 4, .n_decode_context = 4000 };
    for (unsigned mask = 0; mask < 1u << DEVICES; mask++) {
        bool is_here[DEVICES];
        struct layers_plan plan;
        int n = 0;
        for (int d = 0; d < DEVICES; d++)
            n += is_here[d] = (mask >> d & 1) != 0;
        if (n == 0)
            continue;
        enum status status = sim_chain_plan(&c.chain, is_here, 4000, &plan, NULL);
        if (n < 2) { /* four layers each */
            assert_int_equal(status, STATUS_TOO_LARGE);
            continue;
        }
        const struct layers_plan wanted = solve_apart(&c, is_here);
        assert_int_equal(status, STATUS_OK);
        assert_int_equal(plan.n_parts, wanted.n_parts);
        assert_memory_equal(plan.parts, wanted.parts, (size_t)plan.n_parts * sizeof(plan.parts[0]));
        assert_int_equal(plan.step_ps, wanted.step_ps);
        assert_int_equal(sim_chain_step_ps(&c.chain, &plan, &planned), plan.step_ps);
    }
}

static void test_who_is_there_at_first(void **state)
{
    struct small_chain c;
    bool is_here[DEVICES];
    (void)state;
    open_small(&c);
    add_event(&c, 1, 1, SIM_CHAIN_JOINS);
    add_event(&c, 2, 2, SIM_CHAIN_LEAVES);
    add_event(&c, 3, 1, SIM_CHAIN_LEAVES);
    add_event(&c, 4, 2, SIM_CHAIN_JOINS);
    sim_chain_first(&c.chain, is_here);
    assert_true(is_here[0] && !is_here[1] && is_here[2] && is_here[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_by_hand),
        cmocka_unit_test(test_the_map_is_the_exact_planners),
        cmocka_unit_test(test_who_is_there_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
