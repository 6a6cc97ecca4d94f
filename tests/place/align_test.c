/* Aligned plans: the least moves, and the plan is worth what it was. */
#include "place/align.h"
#include "small.h"

static void add(struct small *small, struct place_plan *plan, int32_t first, int32_t n,
                const char *services)
{
    struct place_group *group = place_plan_add_group(plan, &small->problem, first, n);
    for (; *services != '\0'; services++)
        place_group_add(group, *services - '0');
}

static void open_problem(struct small *small, struct place_plan *kept, struct place_plan *plan)
{
    small_open(small, 2, 4);
    for (int s = 0; s < 4; s++)
        small_add(small, 10 + s, 10);
    small_measure(small);
    place_plan_init(kept, &small->problem, &small->pile);
    place_plan_init(plan, &small->problem, &small->pile);
}

static void test_groups_of_one_size_stand_for_one_another(void **state)
{
    (void)state;
    struct small small;
    struct place_plan kept, plan;
    char text[512];
    open_problem(&small, &kept, &plan);
    add(&small, &kept, 0, 1, "0");
    add(&small, &kept, 1, 1, "1");
    add(&small, &kept, 2, 2, "23");
    add(&small, &plan, 0, 1, "1");
    add(&small, &plan, 1, 1, "02");
    add(&small, &plan, 2, 2, "3");
    place_align(&small.problem, &kept, &plan, &small.pile);
    assert_string_equal(small_text(&plan, text), "0:0,2 1:1 2-3:3");
    small_close(&small);
}

static void test_machines_cut_alike_lie_upon_one_another(void **state)
{
    (void)state;
    struct small small;
    struct place_plan kept, plan;
    char text[512];
    open_problem(&small, &kept, &plan);
    add(&small, &kept, 0, 4, "01");
    add(&small, &kept, 4, 2, "2");
    add(&small, &kept, 6, 2, "3");
    add(&small, &plan, 0, 2, "3");
    add(&small, &plan, 2, 2, "2");
    add(&small, &plan, 4, 4, "10");
    place_align(&small.problem, &kept, &plan, &small.pile);
    assert_string_equal(small_text(&plan, text), "0-3:0,1 4-5:2 6-7:3");
    assert_true(place_plan_equal(&kept, &plan));
    small_close(&small);
}

static void test_other_kinds_stay_where_they_are(void **state)
{
    (void)state;
    struct small small;
    struct place_plan kept, plan;
    char text[512];
    open_problem(&small, &kept, &plan);
    small.nodes[1].kind = 1;
    add(&small, &kept, 0, 1, "0");
    add(&small, &kept, 4, 1, "123");
    add(&small, &plan, 0, 1, "123");
    add(&small, &plan, 4, 1, "0");
    place_align(&small.problem, &kept, &plan, &small.pile);
    assert_string_equal(small_text(&plan, text), "0:1,2,3 4:0");
    assert_null(place_align_group_at(&plan, 0, 2));
    small_close(&small);
}

/* For any two plans: each content is there as often as before, and no fewer bytes stay. */
static int64_t kept_bytes(const struct small *small, const struct place_plan *a,
                          const struct place_plan *b)
{
    int64_t n = 0;
    for (int32_t g = 0; g < a->n_groups; g++) {
        const struct place_group *group = &a->groups[g];
        const struct place_group *here =
            place_align_group_at(b, group->first_device, group->n_devices);
        for (int32_t m = 0; here != NULL && m < group->n_members; m++)
            if (place_group_has(here, group->members[m].service))
                n += small->services[group->members[m].service].size.weights_bytes;
    }
    return n;
}

static void draw_plan(struct small *small, uint32_t *dice, struct place_plan *plan)
{
    for (int32_t at = 0; at < 8;) {
        int32_t n = 1 << (*dice >> 8 & 1);
        struct place_group *group;
        *dice = *dice * 1664525 + 1013904223;
        n = at % 2 == 0 ? n : 1;
        group = place_plan_add_group(plan, &small->problem, at, n);
        place_group_add(group, (int32_t)(*dice >> 16 & 3));
        at += n;
    }
    for (int32_t s = 0; s < 4; s++)
        for (int32_t g = 0; g < plan->n_groups && place_plan_copies(plan, s) == 0; g++)
            if (!place_group_has(&plan->groups[g], s))
                place_group_add(&plan->groups[g], s);
    place_plan_finish(plan, &small->problem);
}

static void test_drawn_plans(void **state)
{
    (void)state;
    uint32_t dice = 7;
    int64_t before = 0, after = 0;
    for (int i = 0; i < 200; i++) {
        struct small small;
        struct place_plan kept, plan;
        struct fault fault;
        int32_t n_copies[4];
        open_problem(&small, &kept, &plan);
        draw_plan(&small, &dice, &kept);
        draw_plan(&small, &dice, &plan);
        for (int32_t s = 0; s < 4; s++)
            n_copies[s] = place_plan_copies(&plan, s);
        before += kept_bytes(&small, &plan, &kept);
        place_align(&small.problem, &kept, &plan, &small.pile);
        after += kept_bytes(&small, &plan, &kept);
        assert_int_equal(place_check(&small.problem, &plan, 0, &fault), STATUS_OK);
        for (int32_t s = 0; s < 4; s++)
            assert_int_equal(place_plan_copies(&plan, s), n_copies[s]);
        small_close(&small);
    }
    assert_true(after > before + before / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_one_size_stand_for_one_another),
        cmocka_unit_test(test_machines_cut_alike_lie_upon_one_another),
        cmocka_unit_test(test_other_kinds_stay_where_they_are),
        cmocka_unit_test(test_drawn_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
