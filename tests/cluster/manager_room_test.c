/* Which models make room for which others, and when. */
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/manager_plan.h"
#include "manager_scene.h"

/* Seconds until `service` is loaded on engine 0, whose other model never rests; -1: not in 100 s.
 * wants: a gateway asks for it all the time, except for two seconds after pause_s seconds (0:
 * never). */
static int seconds_kept_out(struct scene *s, int service, int other, bool wants, int pause_s)
{
    int n_loads = s->n_loads[0][service];
    for (int i = 0; i < 1000; i++) {
        s->reports[0].services[other].n_running = 1;
        if (wants && (pause_s == 0 || i / 10 < pause_s || i / 10 >= pause_s + 2))
            scene_want(s, service);
        scene_step(s, 100 * TIME_NS_PER_MS);
        if (s->n_loads[0][service] > n_loads)
            return i / 10;
    }
    return -1;
}

static struct scene *open_small(int64_t keep_alive_ns)
{
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].keep_alive_ns = keep_alive_ns;
        s->services[i].engines = (struct set){ { 1 } };
    }
    scene_open(s, 500);
    scene_want(s, 0);
    for (int i = 0; i < 20; i++) /* loaded, and no longer fresh */
        scene_step(s, 100 * TIME_NS_PER_MS);
    return s;
}

/* A model that never rests makes room for one that is waited for, after 30 s, and has its turn
 * again after as many. */
static void test_no_model_is_kept_out(void **state)
{
    (void)state;
    struct scene *s = open_small(3600 * TIME_NS_PER_S);
    assert_int_equal(seconds_kept_out(s, 1, 0, true, 0), 30);
    assert_true(s->n_ousted[0] == 1 && s->n_unloads[0][0] == 0);
    assert_int_equal(seconds_kept_out(s, 0, 1, true, 0), 30);
    assert_int_equal(s->n_ousted[1], 1);
    assert_int_equal(seconds_kept_out(s, 2, 0, true, 20), 52); /* no request waited in between */
    s->reports[0].services[2].n_running = 1;
    scene_ask(s, 7, CONTROL_LOAD, 0); /* an ask waits for the answer */
    assert_int_equal(seconds_kept_out(s, 0, 2, false, 0), 30);
    scene_close(s);
    s = open_small(-1);
    assert_int_equal(seconds_kept_out(s, 1, 0, true, 0), -1);
    assert_int_equal(s->n_ousted[0], 0);
    scene_close(s);
}

/* A model that took long to load stays longer by as much. */
static void test_a_turn_is_long_beside_loading(void **state)
{
    (void)state;
    struct scene *s = open_small(3600 * TIME_NS_PER_S);
    s->load_takes_ns = 15 * TIME_NS_PER_S;
    assert_int_equal(seconds_kept_out(s, 1, 0, true, 0), 30);
    assert_in_range(seconds_kept_out(s, 0, 1, true, 0), 74, 76); /* 15 to come, 60 to stay */
    scene_close(s);
}

/* The model that waited longest comes first: each of three that never rest has a turn of 30 s. */
static void test_all_have_their_turns(void **state)
{
    (void)state;
    struct scene *s = open_small(3600 * TIME_NS_PER_S);
    for (int i = 0; i < 3000; i++) {
        for (int service = 0; service < N_SERVICES; service++) {
            bool is_there = s->reports[0].services[service].status == SERVICE_LOADED;
            s->reports[0].services[service].n_running = is_there;
            if (!is_there)
                scene_want(s, service);
        }
        scene_step(s, 100 * TIME_NS_PER_MS);
    }
    for (int service = 0; service < N_SERVICES; service++)
        assert_in_range(s->n_loads[0][service], 3, 4);
    scene_close(s);
}

/* Operators want one copy of each model, and the first two have taken both engines. The third gets
 * the place of a copy that is one too many, and no last copy leaves for it. */
static void test_surplus_copies_make_room(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
    scene_open(s, 900); /* two models on each engine */
    for (int i = 0; i < 2; i++) {
        cluster_manager_plan_model(s->manager, i, N_ENGINES);
        for (int k = 0; k < 20; k++)
            scene_step(s, 100 * TIME_NS_PER_MS);
    }
    for (int e = 0; e < N_ENGINES; e++)
        assert_true(s->n_loads[e][0] == 1 && s->n_loads[e][1] == 1);
    for (int i = 0; i < N_SERVICES; i++)
        cluster_manager_plan_model(s->manager, i, 1);
    for (int k = 0; k < 100; k++)
        scene_step(s, 100 * TIME_NS_PER_MS);
    assert_int_equal(s->n_loads[0][2] + s->n_loads[1][2], 1);
    int n_out = 0;
    for (int i = 0; i < 2; i++)
        n_out += s->n_unloads[0][i] + s->n_unloads[1][i] + s->n_ousted[i];
    assert_int_equal(n_out, 1);
    scene_close(s);
}

/* A node started anew and has nothing. The manager's unload went to what it had before, so no
 * answer comes. The next report tells, and the model's place counts again. */
static void test_an_unload_without_an_answer(void **state)
{
    (void)state;
    struct scene *s = open_small(3600 * TIME_NS_PER_S);
    s->is_deaf = true; /* to unloads */
    cluster_manager_plan_model(s->manager, 0, -1);
    s->reports[0].services[0].n_running = 0;
    for (int i = 0; i < 5; i++)
        scene_step(s, 100 * TIME_NS_PER_MS);
    assert_int_equal(s->n_unloads[0][0], 1);
    s->reports[0].services[0] = (struct service_report){ 0 }; /* it has started anew */
    scene_step(s, 100 * TIME_NS_PER_MS);
    s->is_deaf = false;
    cluster_manager_plan_model(s->manager, 0, 1);
    for (int i = 0; i < 20; i++)
        scene_step(s, 100 * TIME_NS_PER_MS);
    assert_int_equal(s->reports[0].services[0].status, SERVICE_LOADED);
    cluster_manager_plan_model(s->manager, 0, -1);
    for (int i = 0; i < 20; i++)
        scene_step(s, 100 * TIME_NS_PER_MS);
    assert_int_equal(s->n_unloads[0][0], 2);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_model_is_kept_out),
        cmocka_unit_test(test_a_turn_is_long_beside_loading),
        cmocka_unit_test(test_all_have_their_turns),
        cmocka_unit_test(test_surplus_copies_make_room),
        cmocka_unit_test(test_an_unload_without_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
