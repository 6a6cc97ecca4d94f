/* The estimate: solo times without neighbours, longer times with more load, and overload when there
 * is too much. */
#include "judged.h"
#include "place/estimate.h"

static struct small small;

static struct place_estimate estimate(int32_t n_devices, int32_t n_members, double factor)
{
    struct place_group group = { .n_devices = n_devices };
    struct place_estimate out;
    double rates[PLACE_MEMBERS_MAX];
    for (int32_t i = 0; i < n_members; i++) {
        place_group_add(&group, i);
        rates[i] = factor * small.services[i].rate_per_s;
    }
    place_estimate_group(&small.problem, &group, rates, &out);
    return out;
}

static int open_small(void **state)
{
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 10, 30);
    small_add(&small, 10, 30);
    small_add(&small, 20, 60);
    small_measure(&small);
    return 0;
}

static int close_small(void **state)
{
    (void)state;
    small_close(&small);
    return 0;
}

static void alone_it_takes_its_solo_time(void **state)
{
    struct place_estimate e = estimate(1, 1, 1e-6);
    double solo_s = small.services[0].solo_s;
    (void)state;
    assert_true(e.latency_s[0] > 0.9 * solo_s && e.latency_s[0] < 1.1 * solo_s);
    assert_true(e.met[0] > 0.99 && e.load < 0.01);
}

static void load_costs_time_and_devices_save_it(void **state)
{
    double last_s = 0;
    (void)state;
    for (double factor = 0.25; factor < 100; factor *= 2) {
        struct place_estimate e = estimate(1, 2, factor), more = estimate(4, 2, factor);
        assert_true(e.latency_s[0] > last_s);
        assert_true(more.latency_s[0] < e.latency_s[0] && more.met[0] >= e.met[0]);
        assert_true(more.load < e.load);
        last_s = e.latency_s[0];
    }
    struct place_estimate alone = estimate(1, 1, 1), shared = estimate(1, 3, 1);
    assert_true(shared.latency_s[0] > alone.latency_s[0]);
}

static void overload_is_seen(void **state)
{
    struct place_estimate e = estimate(1, 3, 200);
    (void)state;
    assert_true(e.load > 1);
    assert_true(e.met[0] < 0.5 && e.latency_s[0] > 10 * small.services[0].solo_s);
    assert_true(place_estimate_cost(&small.problem, 0, e.latency_s[0], e.met[0]) >
                place_estimate_cost(&small.problem, 0, small.services[0].solo_s, 1));
}

/* Far above its capacity the load grows like the rate, and a served request is still served. */
static void overload_grows_as_what_is_asked(void **state)
{
    struct place_estimate e = estimate(1, 3, 100), twice = estimate(1, 3, 200);
    (void)state;
    assert_true(e.load > 2);
    assert_true(twice.load > 1.8 * e.load && twice.load < 2.2 * e.load);
    assert_true(twice.latency_s[0] < 3 * e.latency_s[0]);
}

/* A group with less work than time is not overloaded; a group with more is. */
static void work_is_what_overload_begins_at(void **state)
{
    const struct place_group group = { .n_devices = 1 };
    double work_s = place_estimate_work(&small.problem, &group, 0);
    double per_s = small.services[0].rate_per_s;
    (void)state;
    assert_true(work_s > 0 && work_s < small.services[0].solo_s);
    assert_true(estimate(1, 1, 0.2 / (work_s * per_s)).load < 1);
    assert_true(estimate(1, 1, 1.1 / (work_s * per_s)).load > 1);
}

/* For engines that are neither idle nor full, the mean latencies of the simulation are within
 * 40%. */
static void it_is_near_the_simulation(void **state)
{
    static const int32_t n_asked[] = { 60, 200, 500 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(n_asked); i++) {
        static struct small own;
        struct judged judged;
        struct place_plan plan;
        struct place_service_score services[2];
        struct place_score score = { .services = services };
        struct place_estimate e;
        const struct place_plan *plans[] = { &plan };
        small_open(&own, 1, 1);
        small_add(&own, 10, n_asked[i]);
        small_add(&own, 5, n_asked[i] / 2);
        small_measure(&own);
        judged_open(&judged, &own);
        place_plan_init(&plan, &own.problem, &own.pile);
        struct place_group *group = place_plan_add_group(&plan, &own.problem, 0, 1);
        place_group_add(group, 0);
        place_group_add(group, 1);
        judged.face.score(judged.face.self, plans, 1, &own.problem.window, &score);
        double rates[] = { own.services[0].rate_per_s, own.services[1].rate_per_s };
        place_estimate_group(&own.problem, group, rates, &e);
        for (int s = 0; s < 2; s++) {
            double mean_s = services[s].latency_s / (double)services[s].n;
            if (e.latency_s[s] < 0.6 * mean_s || e.latency_s[s] > 1.67 * mean_s)
                fail_msg("%d asked, service %d: %g s, simulated %g", n_asked[i], s, e.latency_s[s],
                         mean_s);
        }
        judged_close(&judged);
        small_close(&own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(alone_it_takes_its_solo_time, open_small, close_small),
        cmocka_unit_test_setup_teardown(load_costs_time_and_devices_save_it, open_small,
                                        close_small),
        cmocka_unit_test_setup_teardown(overload_is_seen, open_small, close_small),
        cmocka_unit_test_setup_teardown(overload_grows_as_what_is_asked, open_small, close_small),
        cmocka_unit_test_setup_teardown(work_is_what_overload_begins_at, open_small, close_small),
        cmocka_unit_test(it_is_near_the_simulation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
