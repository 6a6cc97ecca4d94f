/* Every planner of the table on random problems: legal plans, the same twice, judged by the
 * simulator. */
#include "small.h"

#include "base/rng.h"
#include "sim/judge.h"

static void names_find_their_planners(void **state)
{
    int n;
    const struct place_planner *const *all = place_planner_all(&n);
    (void)state;
    for (int i = 0; i < n; i++) {
        assert_ptr_equal(place_planner_find(all[i]->name), all[i]);
        assert_non_null(strstr(place_planner_names(), all[i]->name));
    }
    assert_null(place_planner_find("nobody"));
}

static void keys_sort_descending_and_stable(void **state)
{
    static const double keys[] = { 1, 3, 2, 3, 0 };
    int32_t order[5];
    (void)state;
    place_planners_sort(keys, 5, order);
    static const int32_t expected[] = { 1, 3, 2, 0, 4 };
    assert_memory_equal(order, expected, sizeof(expected));
}

static void draw(struct small *small, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 1);
    int32_t n_nodes = 1 + (int32_t)rng_below(&rng, 3);
    small_open(small, n_nodes, 1 + (int32_t)rng_below(&rng, 8));
    if (n_nodes > 1 && rng_below(&rng, 2) == 1)
        small->nodes[1].kind = 1;
    int32_t n_services = 1 + (int32_t)rng_below(&rng, 8);
    for (int32_t i = 0; i < n_services; i++) {
        static const int64_t sizes[] = { 1, 7, 13, 26, 70, 140, 700 };
        small_add(small, sizes[rng_below(&rng, COUNT_OF(sizes))], (int32_t)rng_below(&rng, 60));
    }
    small_measure(small);
}

static void plans_are_legal_and_the_same_twice(void **state)
{
    static struct small small;
    struct schedule_config config;
    int n;
    const struct place_planner *const *all = place_planner_all(&n);
    (void)state;
    schedule_config_init(&config);
    uint64_t first = test_seed(1);
    for (uint64_t seed = first; seed < first + 25; seed++) {
        draw(&small, seed);
        if (small.problem.window.n == 0) {
            small_close(&small);
            continue;
        }
        const struct sim_options sim = { .n_lanes = 1,
                                         .n_requests_max = 64,
                                         .n_tokens_max = 2048,
                                         .block_tokens = 16,
                                         .config = &config,
                                         .policy = schedule_find("fcfs") };
        struct sim_judge *judge = sim_judge_open(&(struct sim_judge_options){
            .problem = &small.problem, .sim = &sim, .rule = { .scale = 5 } });
        struct place_judge face = sim_judge_face(judge);
        for (int i = 0; i < n; i++) {
            struct place_plan plan, again;
            small_plan(&small, all[i], &face, &plan);
            small_plan(&small, all[i], &face, &again);
            assert_true(place_plan_equal(&plan, &again));
        }
        sim_judge_close(judge);
        small_close(&small);
    }
}

/* Places no service and refuses none. */
static void forget(const struct place_desk *desk, struct place_plan *plan)
{
    (void)desk;
    (void)plan;
}

static void plan_wrongly(void *arg)
{
    static const struct place_planner careless = { .name = "careless", .plan = forget };
    struct place_plan plan;
    small_plan(arg, &careless, NULL, &plan);
}

static void a_wrong_plan_ends_the_program(void **state)
{
    static struct small small;
    (void)state;
    small_open(&small, 1, 1);
    small_add(&small, 13, 10);
    small_measure(&small);
    test_dies(plan_wrongly, &small);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_find_their_planners),
        cmocka_unit_test(keys_sort_descending_and_stable),
        cmocka_unit_test(plans_are_legal_and_the_same_twice),
        cmocka_unit_test(a_wrong_plan_ends_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
