/* SeaLLM's search: merged groups for large models, at most two services a group, the best plan on
 * the way. */
#include "judged.h"

static void large_models_have_their_groups(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 8);
    small_add(&small, 200, 20); /* four devices */
    for (int i = 0; i < 6; i++)
        small_add(&small, 10 + i, 100 * (i + 1));
    small_measure(&small);
    judged_open(&judged, &small);
    small_plan(&small, &place_seallm, &judged.face, &plan);
    assert_int_equal(plan.n_refused, 0); /* although busier ones come first */
    for (int32_t g = 0; g < plan.n_groups; g++)
        assert_true(plan.groups[g].n_members <= 2);
    judged_close(&judged);
    small_close(&small);
}

static void busy_services_get_more_copies(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 13, 1200);
    small_add(&small, 13, 20);
    small_measure(&small);
    judged_open(&judged, &small);
    small_plan(&small, &place_seallm, &judged.face, &plan);
    assert_true(place_plan_copies(&plan, 0) >= place_plan_copies(&plan, 1));
    struct place_score score = judged_score(&judged, &plan);
    struct place_plan even;
    small_plan(&small, &place_even, NULL, &even);
    struct place_score theirs = judged_score(&judged, &even);
    assert_true(place_judge_compare(&score, &theirs) >= 0);
    judged_close(&judged);
    small_close(&small);
}

/* A judge by hand: both services have ten late requests. Service 0 answered one at once and left
 * the others to the window's end; service 1 answered all, late. Plans of three copies on single
 * devices are the best. */
static void score_by_hand(void *self, const struct place_plan *const *plans, int n,
                          const struct place_window *window, struct place_score *scores)
{
    (void)self, (void)window;
    for (int i = 0; i < n; i++) {
        int32_t n_copies = place_plan_copies(plans[i], 0) + place_plan_copies(plans[i], 1);
        bool is_best = n_copies == 3 && plans[i]->groups[0].n_devices == 1;
        struct place_service_score *services = scores[i].services;
        scores[i] = (struct place_score){
            .n_placed = 2, .attainment = is_best ? 0.9 : 0.1, .normalized = 1, .services = services
        };
        if (services == NULL)
            continue;
        services[0] = (struct place_service_score){ 11, 1, 1, 1e6, 1e-3 };
        services[1] = (struct place_service_score){ 10, 10, 0, 100, 50 };
    }
}

static int64_t no_work(const void *self)
{
    (void)self;
    return 0;
}

static void need_counts_answered_requests_alone(void **state)
{
    static struct small small;
    static const struct place_judge judge = { .score = score_by_hand, .work = no_work };
    struct place_plan plan;
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 13, 40);
    small_add(&small, 13, 40);
    small_measure(&small);
    small_plan(&small, &place_seallm, &judge, &plan);
    assert_int_equal(place_plan_copies(&plan, 0), 1);
    assert_int_equal(place_plan_copies(&plan, 1), 2);
    small_close(&small);
}

/* The reported second best is a legal plan, and no better. */
static void the_second_best_is_left_where_asked(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_plan plan, second;
    struct fault fault;
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 13, 600);
    small_add(&small, 26, 200);
    small_measure(&small);
    judged_open(&judged, &small);
    place_plan_init(&plan, &small.problem, &small.pile);
    place_plan_init(&second, &small.problem, &small.pile);
    const struct place_desk desk = { &small.problem, &judged.face, &small.pile, 1, 1,
                                     &second,        NULL,         NULL };
    place_seallm.plan(&desk, &plan);
    assert_true(second.n_groups > 0);
    assert_int_equal(place_check(&small.problem, &second, 2, &fault), STATUS_OK);
    struct place_score a = judged_score(&judged, &plan), b = judged_score(&judged, &second);
    assert_true(place_judge_compare(&a, &b) >= 0);
    judged_close(&judged);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_models_have_their_groups),
        cmocka_unit_test(busy_services_get_more_copies),
        cmocka_unit_test(need_counts_answered_requests_alone),
        cmocka_unit_test(the_second_best_is_left_where_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
