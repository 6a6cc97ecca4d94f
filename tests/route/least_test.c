/* The least-loaded router: who gets what, hand-worked. */
#include "test.h"

#include "base/time.h"
#include "route/policy.h"

enum { N_ENGINES = 3 };

struct scene {
    struct route_engine engines[N_ENGINES];
    struct request requests[8];
    const struct request *held[8];
    struct route_choice choices[8];
    struct route_view view;
    struct route_plan plan;
    struct route_config config;
};

/* Three open engines that serve services 0 and 1, with room for 4 each; n held requests of service
 * 0. */
static void set_scene(struct scene *s, int n)
{
    *s = (struct scene){ .plan = { .n_choices_max = 8, .choices = s->choices } };
    for (int e = 0; e < N_ENGINES; e++)
        s->engines[e] =
            (struct route_engine){ .is_open = true, .services = 3, .n_requests_max = 4 };
    for (int i = 0; i < n; i++) {
        s->requests[i].id = (uint64_t)i + 1;
        s->held[i] = &s->requests[i];
    }
    s->view = (struct route_view){
        .now_ns = 100, .n_engines = N_ENGINES, .engines = s->engines, .n_held = n, .held = s->held
    };
}

static void plan(struct scene *s)
{
    const struct route_policy *least = route_find("least");
    unsigned char state[64];
    const struct route_limits limits = { N_ENGINES, 8 };
    assert_true(least->state_bytes(&limits) <= sizeof state);
    least->open(state, &limits, &s->config);
    least->plan(state, &s->view, &s->plan);
}

static void test_spreads_and_breaks_ties_by_number(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, 5);
    s.engines[1].n_sent = 1;
    plan(&s);
    const uint16_t expected[] = { 0, 2, 0, 1, 2 };
    assert_int_equal(s.plan.n_choices, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(s.choices[i].index, i);
        assert_int_equal(s.choices[i].engine, expected[i]);
    }
}

static void test_only_where_it_is_served(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, 2);
    s.requests[0].service = 1;
    s.engines[0].services = s.engines[1].services = 1;
    s.requests[1].service = 5;
    plan(&s);
    assert_int_equal(s.plan.n_choices, 1);
    assert_int_equal(s.choices[0].engine, 2);
}

static void test_full_and_closed_engines_get_nothing(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, 3);
    s.engines[0].is_open = false;
    s.engines[1].full_until_ns = 500;
    s.engines[2].n_sent = 3;
    plan(&s);
    assert_int_equal(s.plan.n_choices, 1); /* engine 2 has one place left */
    assert_int_equal(s.choices[0].engine, 2);
    assert_int_equal(s.plan.wake_ns, 500); /* when engine 1 may be asked again */
}

static void test_inflight_limit(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, 8);
    s.config.n_inflight_max = 2;
    plan(&s);
    assert_int_equal(s.plan.n_choices, 6);
}

static void test_table(void **state)
{
    (void)state;
    int n;
    const struct route_policy *const *all = route_all(&n);
    for (int i = 0; i < n; i++)
        assert_ptr_equal(route_find(all[i]->name), all[i]);
    assert_null(route_find("best"));
    struct engine_report report = { .n_requests = 4, .n_requests_max = 4 };
    const struct request request = { 0 };
    assert_false(route_find("least")->fits(&report, &request));
    report.n_requests = 3;
    assert_true(route_find("least")->fits(&report, &request));
    report.is_draining = true;
    assert_false(route_find("least")->fits(&report, &request));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spreads_and_breaks_ties_by_number),
        cmocka_unit_test(test_only_where_it_is_served),
        cmocka_unit_test(test_full_and_closed_engines_get_nothing),
        cmocka_unit_test(test_inflight_limit),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
