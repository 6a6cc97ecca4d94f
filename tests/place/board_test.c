/* Gains are the differences of costs, whatever the order in which a plan grew. */
#include "small.h"

#include "base/rng.h"
#include "place/board.h"

static bool is_near(double a, double b)
{
    double scale = a > 0 ? a : -a;
    return a - b < 1e-9 * (1 + scale) && b - a < 1e-9 * (1 + scale);
}

static void gains_are_differences(void **state)
{
    struct small small;
    struct place_plan plan;
    struct place_board board, fresh;
    struct rng rng;
    (void)state;
    small_open(&small, 2, 4);
    for (int i = 0; i < 5; i++)
        small_add(&small, 5 + 5 * i, 100 + 40 * i);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_cut(&plan, &small.problem, 2);
    place_board_init(&board, &small.problem, 3, &small.pile);
    place_board_init(&fresh, &small.problem, 3, &small.pile);
    place_board_show(&board, &plan);
    rng_init(&rng, test_seed(1), 1);
    for (int k = 0; k < 40; k++) {
        int32_t g = (int32_t)rng_below(&rng, (uint32_t)plan.n_groups);
        int32_t s = (int32_t)rng_below(&rng, 5);
        if (!place_group_takes(&small.problem, &plan.groups[g], s, 3))
            continue;
        double gain = place_board_gain(&board, g, s), before = board.cost, best;
        int32_t at = place_board_best(&board, s, &best);
        assert_true(at >= 0 && best >= gain - 1e-12);
        assert_true(is_near(best, place_board_gain(&board, at, s)));
        place_board_add(&board, g, s);
        assert_true(is_near(before - gain, board.cost));
        place_board_show(&fresh, &plan);
        assert_true(is_near(fresh.cost, board.cost));
        assert_true(is_near(fresh.costs[g], board.costs[g]));
    }
    small_close(&small);
}

static void filling_never_costs(void **state)
{
    struct small small;
    struct place_plan plan;
    struct place_board board;
    (void)state;
    small_open(&small, 2, 4);
    for (int i = 0; i < 6; i++)
        small_add(&small, 10 + 10 * i, 20 + 60 * i);
    small_measure(&small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_cut(&plan, &small.problem, 1);
    place_board_init(&board, &small.problem, 3, &small.pile);
    place_board_show(&board, &plan);
    double before = board.cost, sum = 0;
    place_board_fill(&board, &small.pile);
    assert_true(board.cost < before);
    for (int32_t s = 0; s < 6; s++) {
        assert_true(place_plan_copies(&plan, s) > 0);
        sum += place_board_service(&board, s);
    }
    assert_true(is_near(sum, board.cost));
    for (int32_t s = 0; s < 6; s++) { /* until nothing gains */
        double gain;
        assert_true(place_board_best(&board, s, &gain) < 0 || gain < 1e-8);
    }
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_are_differences),
        cmocka_unit_test(filling_never_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
