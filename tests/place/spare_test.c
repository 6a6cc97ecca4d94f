/* Copies in unused room: added while they cost nothing in the samples, and within the bound. */
#include "judged.h"
#include "place/spare.h"

struct spared {
    struct small small;
    struct judged judged;
    struct place_desk desk;
    struct place_samples samples;
    struct place_plan plan, before;
    struct place_score score; /* of the plan before */
    double cost;
};
static double cost_of(struct spared *spared, const struct place_plan *plan,
                      struct place_score *score)
{
    static struct place_service_score services[SMALL_SERVICES];
    double cost;
    *score = (struct place_score){ .services = services };
    place_samples_race(&spared->samples, &plan, 1, 1, score, &cost);
    return cost;
}

/* Adds services; each gets its own device, from first_device on. */
static void spared_open(struct spared *spared, int32_t first_device)
{
    struct small *small = &spared->small;
    small_measure(small);
    judged_open(&spared->judged, small);
    spared->desk = (struct place_desk){ .problem = &small->problem,
                                        .judge = &spared->judged.face,
                                        .pile = &small->pile,
                                        .seed = 1,
                                        .effort = 1 };
    spared->samples = (struct place_samples){ .desk = &spared->desk, .n = 1 };
    spared->samples.windows[0] = small->problem.window; /* as it was, alone */
    place_plan_init(&spared->plan, &small->problem, &small->pile);
    place_plan_init(&spared->before, &small->problem, &small->pile);
    place_plan_cut(&spared->plan, &small->problem, 1);
    for (int32_t s = 0; s < small->problem.n_services; s++)
        place_group_add(&spared->plan.groups[first_device + s], s);
    place_plan_copy(&spared->before, &spared->plan);
    spared->cost = cost_of(spared, &spared->plan, &spared->score);
}

/* Adds a service, and room for a copy on a device half as fast, which would take every request that
 * finds it idle. */
static void spared_open_slow(struct spared *spared)
{
    small_open(&spared->small, 2, 1);
    spared->small.nodes[0].kind = 1;
    small_add(&spared->small, 10, 100);
    spared_open(spared, 1);
}

static void spare(struct spared *spared, int64_t work_max)
{
    const struct place_improve how = { &spared->desk, "test", 3, work_max, &spared->samples };
    place_spare(&how, &spared->plan, &spared->score, spared->cost);
}

static void spared_close(struct spared *spared)
{
    judged_close(&spared->judged);
    small_close(&spared->small);
}

static void who_is_hardly_asked_gets_copies(void **state)
{
    static struct spared spared;
    struct place_score score;
    struct fault fault;
    int32_t n = 0;
    (void)state;
    small_open(&spared.small, 1, 4);
    for (int i = 0; i < 4; i++)
        small_add(&spared.small, 10, 70);
    spared_open(&spared, 0);
    spare(&spared, INT64_MAX);
    for (int32_t s = 0; s < 4; s++)
        n += place_plan_copies(&spared.plan, s);
    assert_true(n > 4);
    assert_true(cost_of(&spared, &spared.plan, &score) <= spared.cost + PLACE_SPARE_PREMIUM);
    place_plan_finish(&spared.plan, &spared.small.problem);
    assert_int_equal(place_check(&spared.small.problem, &spared.plan, 3, &fault), STATUS_OK);
    spared_close(&spared);
}

static void a_copy_that_costs_is_not_made(void **state)
{
    static struct spared spared;
    (void)state;
    spared_open_slow(&spared);
    spare(&spared, INT64_MAX);
    assert_true(place_plan_equal(&spared.plan, &spared.before));
    spared_close(&spared);
}

static void where_rates_drift_a_copy_may_cost(void **state)
{
    static struct spared spared;
    struct place_score score;
    (void)state;
    spared_open_slow(&spared);
    assert_true(spared.score.attainment == 1);
    spared.samples.drift = 10;
    spare(&spared, INT64_MAX);
    assert_int_equal(place_plan_copies(&spared.plan, 0), 2);
    assert_true(cost_of(&spared, &spared.plan, &score) > spared.cost + PLACE_SPARE_PREMIUM);
    spared_close(&spared);
}

/* Some requests are late already. */
static void where_there_is_no_room_it_may_not(void **state)
{
    static struct spared spared;
    (void)state;
    spared_open_slow(&spared);
    spared.samples.drift = 10;
    spared.score.attainment = 0.99;
    spare(&spared, INT64_MAX);
    assert_true(place_plan_equal(&spared.plan, &spared.before));
    spared_close(&spared);
}

static void without_a_budget_it_stays(void **state)
{
    static struct spared spared;
    (void)state;
    small_open(&spared.small, 1, 4);
    small_add(&spared.small, 10, 70);
    spared_open(&spared, 0);
    spare(&spared, 0);
    assert_true(place_plan_equal(&spared.plan, &spared.before));
    spared_close(&spared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_hardly_asked_gets_copies),
        cmocka_unit_test(a_copy_that_costs_is_not_made),
        cmocka_unit_test(where_rates_drift_a_copy_may_cost),
        cmocka_unit_test(where_there_is_no_room_it_may_not),
        cmocka_unit_test(without_a_budget_it_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
