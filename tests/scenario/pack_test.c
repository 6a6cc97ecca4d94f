/* Packing by hand: all services on each engine, the least loaded, and the number of engines that
 * are needed. */
#include "../test.h"
#include "scenario/pack.h"

static bool is_set(const struct set *set, uint64_t bits)
{
    return set_equals(set, &(struct set){ { bits } });
}

static void all_on_each_when_they_fit(void **state)
{
    struct scenario_pack pack = { .n_services = 2,
                                  .n_engines = 3,
                                  .memory_bytes = 100,
                                  .weights_bytes = { 30, 40 },
                                  .loads = { 1, 1 } };
    (void)state;
    assert_int_equal(scenario_pack_solve(&pack), -1);
    for (int e = 0; e < 3; e++)
        assert_true(is_set(&pack.sets[e], 3));
    scenario_pack_free(&pack);
}

static void the_heaviest_goes_first(void **state)
{
    struct scenario_pack pack = { .n_services = 3,
                                  .n_engines = 3,
                                  .memory_bytes = 100,
                                  .weights_bytes = { 40, 40, 25 },
                                  .loads = { 0.1, 0.9, 0.2 } };
    (void)state;
    assert_int_equal(scenario_pack_solve(&pack), -1);
    assert_true(is_set(&pack.sets[0], 2)); /* the load of 0.9 first */
    assert_true(is_set(&pack.sets[1], 4));
    assert_true(is_set(&pack.sets[2], 1));
    scenario_pack_free(&pack);
    pack.n_engines = 4; /* the empty engine gets a copy of the heaviest */
    assert_int_equal(scenario_pack_solve(&pack), -1);
    assert_true(is_set(&pack.sets[3], 2));
    scenario_pack_free(&pack);
    pack.n_engines = 1;
    assert_int_equal(scenario_pack_solve(&pack), 0); /* 40 + 25 fit, 40 more do not */
    scenario_pack_free(&pack);
}

static void as_many_as_are_needed(void **state)
{
    struct scenario_pack pack = { .n_services = 3,
                                  .memory_bytes = 100,
                                  .weights_bytes = { 60, 20, 10 },
                                  .loads = { 0.1, 1.2, 0.05 } };
    (void)state;
    assert_int_equal(scenario_pack_solve(&pack), -1);
    assert_int_equal(pack.n_engines, 4); /* 60 alone with 10; 20 three times at 0.4 */
    assert_true(is_set(&pack.sets[0], 5));
    for (int e = 1; e < 4; e++)
        assert_true(is_set(&pack.sets[e], 2));
    scenario_pack_free(&pack);
    pack.n_engines = 0;
    pack.weights_bytes[0] = 71;
    assert_int_equal(scenario_pack_solve(&pack), 0);
    scenario_pack_free(&pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_on_each_when_they_fit),
                                        cmocka_unit_test(the_heaviest_goes_first),
                                        cmocka_unit_test(as_many_as_are_needed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
