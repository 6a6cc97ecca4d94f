/* Engines that are groups of ranks: their times by a profile, and the sentence when there are none.
 */
#include "../test.h"
#include "base/mem.h"
#include "scenario/ranks.h"

static struct scenario_ranks *open_ranks(bool has_sums)
{
    struct predict_profile_group *groups = mem_take(2 * sizeof(*groups));
    for (int i = 0; i < 2; i++) {
        groups[i].n_cores = 1 + i;
        groups[i].perf = (struct perf){ .c1_ps = 1000 * (2 - i),
                                        .k1_ps = 100 * (2 - i),
                                        .c3_ps = { 4000 * (2 - i), 4000 * (2 - i) },
                                        .b_switch = 64,
                                        .prefill_scale = 1,
                                        .decode_scale = 1 };
    }
    const struct predict_profile profile = {
        .beside = { 1, { { 2, 9 }, { 9, 1.5 } } },
        .group = { 5, 16, has_sums, { { 2, 2, { 64, 1 << 20 }, { 700, 700 } } } },
        .n_groups = 2,
        .groups = groups,
    };
    struct scenario_ranks *ranks = scenario_ranks_open(&profile, 2);
    mem_give(groups);
    return ranks;
}

static void times_are_of_a_ranks_cores(void **state)
{
    struct scenario_ranks *ranks = open_ranks(true);
    struct scenario_group group = { .tp = 2, .n_ranks = 2 };
    struct perf perf;
    struct fault fault;
    (void)state;
    /* One core each, twice as slow by the factor, half of the work, slowed by the neighbour; and
     * ten sums. */
    assert_int_equal(scenario_ranks_perf(ranks, &group, "cpu-avx2", "a", &perf, &fault), STATUS_OK);
    assert_int_equal(perf.c1_ps, 4000 + 7000);
    assert_int_equal(perf.k1_ps, 400);
    assert_int_equal(perf.c3_ps[0], 12000 + 7000);
    assert_int_equal(scenario_ranks_perf(ranks, &group, "cpu-2c", "a", &perf, &fault), STATUS_OK);
    assert_int_equal(perf.c3_ps[0], 6000 + 7000); /* two cores each */
    group.tp = 4;
    assert_int_equal(scenario_ranks_perf(ranks, &group, "cpu-avx2", "a", &perf, &fault), STATUS_OK);
    assert_int_equal(perf.c3_ps[0], 6000 + 7000);
    scenario_ranks_close(ranks);
}

static void check_refusal(const struct scenario_ranks *ranks, const struct scenario_group *group,
                          const char *device, const char *sentence)
{
    struct perf perf;
    struct fault fault = { "" };
    enum status status = scenario_ranks_check(group, device, &fault);
    if (status == STATUS_OK)
        status = scenario_ranks_perf(ranks, group, device, "a", &perf, &fault);
    assert_int_not_equal(status, STATUS_OK);
    if (strstr(fault.text, sentence) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault.text, sentence);
}

static void what_has_no_times_is_refused(void **state)
{
    struct scenario_ranks *ranks = open_ranks(true), *old = open_ranks(false);
    const struct scenario_group two = { .tp = 2, .n_ranks = 2 }, four = { .tp = 4, .n_ranks = 4 };
    const struct scenario_group odd = { .tp = 3, .n_ranks = 2 };
    const struct scenario_group lanes = { .tp = 2, .n_ranks = 2, .lanes = { { "1" }, 1 } };
    const struct scenario_group wide = { .tp = 6, .n_ranks = 2 };
    const struct scenario_group none = { .tp = 3 };
    (void)state;
    check_refusal(ranks, &two, "a100", "a100 is no device of cores; tp alone makes a group");
    check_refusal(ranks, &odd, "cpu-avx2", "3 devices can't be 2 equal ranks");
    check_refusal(ranks, &lanes, "cpu-avx2", "a group of ranks has one lane");
    check_refusal(NULL, &two, "cpu-avx2", "needs a profile");
    check_refusal(ranks, &four, "cpu-avx2", "no usable sums over 4 ranks");
    check_refusal(old, &two, "cpu-avx2", "no usable sums over 2 ranks");
    check_refusal(ranks, &wide, "cpu-avx2", "no times on 3 cores");
    struct fault fault;
    assert_int_equal(scenario_ranks_check(&none, "a100", &fault), STATUS_OK);
    scenario_ranks_close(ranks);
    scenario_ranks_close(old);
    scenario_ranks_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_of_a_ranks_cores),
        cmocka_unit_test(what_has_no_times_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
