/* The cost of a step by tables, by hand. */
#include "test.h"
#include "predict/costs.h"

static void add(struct grid *grid, struct grid_point *points, int n)
{
    struct fault fault;
    assert_int_equal(grid_open(grid, points, n, &fault), STATUS_OK);
}

/* Tokens cost 1 + 0.1 t, sequences 2 each, a prompt's attention 0.01 n + 0.001 n before, decodes
 * 0.5 b; the host 3 and 0.25 a sequence. */
static void parts_sum(void **state)
{
    (void)state;
    struct costs costs = { .host_ms = 3, .host_request_ms = 0.25 };
    add(&costs.tokens, (struct grid_point[]){ { 0, 0, 1 }, { 1000, 0, 101 } }, 2);
    add(&costs.sequences, (struct grid_point[]){ { 0, 0, 0 }, { 10, 0, 20 } }, 2);
    add(&costs.prefill,
        (struct grid_point[]){ { 0, 0, 0 }, { 100, 0, 1 }, { 0, 100, 0 }, { 100, 100, 11 } }, 4);
    add(&costs.decode, (struct grid_point[]){ { 0, 0, 0 }, { 10, 0, 5 } }, 2);
    struct perf_load load = { .n_decodes = 4, .n_decode_context = 400 };
    assert_true(costs_step_ms(&costs, &load) == 3 + 1 + 1.4 + 8 + 2);
    load = (struct perf_load){ .n_new = 100, .n_new_squared = 5000 }; /* two of 50 */
    assert_true(costs_step_ms(&costs, &load) == 3 + 0.5 + 11 + 4 + 2 * 0.5);
    load = (struct perf_load){ .n_new = 50, .n_new_squared = 2500, .n_new_context = 50 * 100 };
    assert_true(costs_step_ms(&costs, &load) == 3 + 0.25 + 6 + 2 + 5.5);
    load.n_decodes = 4;
    load.n_decode_context = 400;
    assert_true(costs_step_ms(&costs, &load) == 3 + 1.25 + 6.4 + 10 + 5.5 + 2);
    load = (struct perf_load){ 0 };
    assert_true(costs_step_ms(&costs, &load) == 0);
    costs_free(&costs);
}

/* Decodes: 1 + c / 100 each. Four of 100, 100, 100 and 300 cost as much as four of 150, plus a
 * quarter of the extra cost of four of 300; beside a prompt as well. */
static void unlike_decodes_cost_more(void **state)
{
    (void)state;
    struct costs costs = { .skew = 0.25 };
    add(&costs.tokens, (struct grid_point[]){ { 0, 0, 0 }, { 8, 0, 0 } }, 2);
    add(&costs.sequences, (struct grid_point[]){ { 0, 0, 0 }, { 8, 0, 0 } }, 2);
    add(&costs.prefill, (struct grid_point[]){ { 0, 0, 0 }, { 100, 0, 1 } }, 2);
    add(&costs.decode,
        (struct grid_point[]){ { 0, 0, 0 }, { 8, 0, 8 }, { 0, 400, 0 }, { 8, 400, 40 } }, 4);
    struct perf_load load = { .n_decodes = 4, .n_decode_context = 600 };
    assert_true(costs_step_ms(&costs, &load) == 10);
    load.n_context_most = 300;
    assert_true(costs_step_ms(&costs, &load) == 10 + 0.25 * 6);
    load.n_context_most = 150;
    assert_true(costs_step_ms(&costs, &load) == 10);
    load.n_context_most = 300;
    load.n_new = 100;
    load.n_new_squared = 10000;
    assert_true(costs_step_ms(&costs, &load) == 1 + 10 + 0.25 * 6);
    costs_free(&costs);
}

/* Whole steps: a prompt 10 + n / 10, a decode 6 + b; together one constant less. */
static void steps_share_a_constant(void **state)
{
    (void)state;
    struct costs costs = { 0 };
    add(&costs.step_prefill,
        (struct grid_point[]){
            { 0, 0, 10 }, { 1000, 0, 110 }, { 0, 1000, 10 }, { 1000, 1000, 160 } },
        4);
    add(&costs.step_decode, (struct grid_point[]){ { 0, 0, 6 }, { 64, 0, 70 } }, 2);
    struct perf_load load = { .n_new = 500, .n_new_squared = 0 };
    assert_true(costs_step_ms(&costs, &load) == 60);
    load = (struct perf_load){ .n_decodes = 10 };
    assert_true(costs_step_ms(&costs, &load) == 16);
    load.n_new = 500;
    assert_true(costs_step_ms(&costs, &load) == 60 + 16 - 6);
    struct perf_truth truth = costs_truth(&costs);
    assert_int_equal(truth.step_ps(truth.self, &load), INT64_C(70000000000));
    costs_free(&costs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_sum),
        cmocka_unit_test(unlike_decodes_cost_more),
        cmocka_unit_test(steps_share_a_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
