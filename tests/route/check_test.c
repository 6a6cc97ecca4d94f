/* Every way in which a plan can be illegal is found, and named in the message. */
#include "../test.h"
#include "base/mem.h"
#include "world.h"

static const char *check(struct world *w, struct route_choice *choices, int32_t n)
{
    struct route_plan plan = { .n_choices = n, .n_choices_max = 4, .choices = choices };
    const char *wrong = route_check(&w->view, &plan, w->marks, WORLD_REQUESTS);
    for (int i = 0; i < WORLD_REQUESTS; i++)
        assert_int_equal(w->marks[i], 0);
    return wrong;
}

static void assert_says(const char *wrong, const char *what)
{
    assert_non_null(wrong);
    assert_string_equal(wrong, what);
}

static void test_what_is_wrong(void **state)
{
    (void)state;
    struct world *w = world_new(3, 2, 2);
    struct route_choice c[4] = { 0 };
    w->engines[1].services = (struct set){ { 1 } };
    w->engines[2].is_open = false;
    world_open(w, "least");
    for (int i = 0; i < 4; i++)
        world_arrive(w, i == 3, 10, 10);
    for (uint32_t i = 0; i < 4; i++)
        c[i] = (struct route_choice){ .slot = i, .engine = i >= 2 ? 0 : 1 };
    assert_null(check(w, c, 4));
    assert_says(check(w, c, 5), "more choices than there is space for");
    c[1].slot = 0;
    assert_says(check(w, c, 2), "a request chosen twice");
    c[1].slot = WORLD_REQUESTS;
    assert_says(check(w, c, 2), "a choice of no slot");
    c[1].slot = 1;
    c[1].engine = 3;
    assert_says(check(w, c, 2), "a choice of no engine");
    c[1].engine = 2;
    assert_says(check(w, c, 2), "an engine that is not open");
    c[1].engine = 1;
    c[1].n_lease = -1;
    assert_says(check(w, c, 2), "a lease of less than nothing");
    c[1].n_lease = 0;
    c[3].engine = 1;
    assert_says(check(w, c, 4), "an engine that does not serve the request");
    c[3].engine = 0;
    c[1].engine = 0;
    assert_says(check(w, c, 4), "more requests than an engine takes");
    c[1].engine = 1;
    for (int i = 0; i < 2; i++)
        c[i].cohort = 9, c[i].n_cohort = 2;
    assert_null(check(w, c, 4));
    assert_says(check(w, c, 1), "a cohort that is not whole");
    c[1].cohort = 8;
    assert_says(check(w, c, 4), "a cohort that is not whole");
    c[1].cohort = 9;
    c[1].engine = 0;
    assert_says(check(w, c, 2), "a cohort on two engines");
    c[1].slot = 3;
    c[0].engine = 0;
    assert_says(check(w, c, 2), "a cohort of two services");
    c[0] = c[1] = (struct route_choice){ 0 };
    world_gone(w, 0);
    assert_says(check(w, c, 1), "a request that is not held");
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_what_is_wrong) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
