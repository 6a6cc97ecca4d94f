/* A move loads before it unloads, keeps what operators want, and is abandoned when it stalls. */
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/manager_move.h"
#include "cluster/manager_plan.h"
#include "manager_scene.h"

enum { TICK_MS = 100 };

static void wait_for(struct scene *s, int n_ticks)
{
    for (int i = 0; i < n_ticks; i++)
        scene_step(s, TICK_MS * TIME_NS_PER_MS);
}

/* Model 0 is busy on engine 0, and model 1 on engine 1. */
static struct scene *open_two(int64_t memory_bytes)
{
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
    scene_open(s, memory_bytes);
    for (int e = 0; e < 2; e++) {
        s->reports[e].services[e] = (struct service_report){ .status = SERVICE_LOADED,
                                                             .weights_bytes = 400,
                                                             .n_running = 1 };
    }
    s->load_takes_ns = TIME_NS_PER_S;
    wait_for(s, 2);
    return s;
}

static void move(struct scene *s, struct set first, struct set second)
{
    const struct set services = set_of_first(2);
    const struct cluster_manager_target targets[2] = { { 0, first }, { 1, second } };
    cluster_manager_move_begin(s->manager, targets, 2, &services, 20 * TIME_NS_PER_S);
}

static enum cluster_manager_move_state state_of(const struct scene *s)
{
    const char *why;
    return cluster_manager_move_state(s->manager, &why);
}

static struct set of(int a)
{
    struct set set = { { 0 } };
    if (a >= 0)
        set_add(&set, a);
    return set;
}

static void test_swap(void **state)
{
    (void)state;
    struct scene *s = open_two(1000);
    move(s, of(1), of(0));
    wait_for(s, 2);
    assert_true(s->n_loads[0][1] == 1 && s->n_loads[1][0] == 1);
    for (int i = 0; i < 5; i++) { /* nothing is loaded yet, so nothing leaves */
        assert_true(s->n_ousted[0] + s->n_ousted[1] == 0);
        wait_for(s, 1);
    }
    wait_for(s, 10);
    assert_true(s->n_ousted[0] == 1 && s->n_ousted[1] == 1);
    assert_int_equal(state_of(s), CLUSTER_MOVE_DONE);
    wait_for(s, 50);
    assert_true(s->n_loads[0][0] + s->n_loads[1][1] == 0); /* it stays so */
    scene_close(s);
}

/* Both engines are full: neither model can leave first, so the move is abandoned. */
static void test_no_room(void **state)
{
    (void)state;
    struct scene *s = open_two(500);
    move(s, of(1), of(0));
    wait_for(s, 100);
    assert_int_equal(state_of(s), CLUSTER_MOVE_MOVING);
    wait_for(s, 120);
    assert_int_equal(state_of(s), CLUSTER_MOVE_ABANDONED);
    assert_true(s->n_ousted[0] + s->n_ousted[1] + s->n_loads[0][1] + s->n_loads[1][0] == 0);
    scene_close(s);
}

/* Model 0 grows to both engines, where model 1 has its only place: it stays, since it has no other
 * planned copy. */
static void test_last_copy_stays(void **state)
{
    (void)state;
    struct scene *s = open_two(500);
    move(s, of(0), of(0));
    wait_for(s, 300);
    assert_true(s->n_ousted[1] == 0 && s->n_unloads[1][1] == 0);
    assert_int_equal(state_of(s), CLUSTER_MOVE_ABANDONED);
    scene_close(s);
}

/* A copy that leaves makes room for another one as soon as one planned copy of it is loaded. */
static void test_chain(void **state)
{
    (void)state;
    struct scene *s = open_two(500);
    s->reports[1].services[0] = s->reports[0].services[0]; /* a second copy of model 0 */
    s->reports[1].memory_bytes = 1000;
    wait_for(s, 2);
    move(s, of(1), of(0)); /* model 1 comes to engine 0, where model 0 is in its way */
    wait_for(s, 2);
    assert_int_equal(s->n_ousted[0], 1);
    wait_for(s, 20);
    assert_true(s->n_loads[0][1] == 1 && s->n_ousted[1] == 1);
    assert_int_equal(state_of(s), CLUSTER_MOVE_DONE);
    scene_close(s);
}

static void test_failed_load(void **state)
{
    (void)state;
    struct scene *s = open_two(1000);
    s->n_broken = 1;
    move(s, of(0), set_of_first(2)); /* a copy of model 0 on engine 1 */
    wait_for(s, 20);
    assert_int_equal(state_of(s), CLUSTER_MOVE_ABANDONED);
    assert_true(s->n_loads[1][0] == 1 && s->n_ousted[0] + s->n_ousted[1] == 0);
    scene_close(s);
}

/* The node goes while a copy is loading: nothing has left, and the move is over. */
static void test_node_goes(void **state)
{
    (void)state;
    struct scene *s = open_two(1000);
    move(s, of(1), of(0));
    wait_for(s, 3);
    cluster_manager_plan_lose(s->manager, 0, false);
    wait_for(s, 3);
    assert_int_equal(state_of(s), CLUSTER_MOVE_ABANDONED);
    assert_true(s->n_ousted[0] + s->n_ousted[1] == 0);
    scene_close(s);
}

/* An operator wants two copies of model 0, so none leaves. */
static void test_wishes_come_first(void **state)
{
    (void)state;
    struct scene *s = open_two(1500);
    cluster_manager_plan_model(s->manager, 0, 2);
    wait_for(s, 20);
    assert_int_equal(s->n_loads[1][0], 1);
    move(s, of(-1), set_of_first(2));
    wait_for(s, 20);
    assert_int_equal(s->n_ousted[0], 0);
    assert_int_equal(state_of(s), CLUSTER_MOVE_DONE);
    assert_false(cluster_manager_move_may_leave(s->manager, 0));
    assert_true(cluster_manager_move_may_leave(s->manager, 1));
    scene_close(s);
}

/* A pinned model is moved by no plan. */
static void test_pinned(void **state)
{
    (void)state;
    struct scene *s = open_two(1500);
    cluster_manager_plan_pin(s->manager, 0, 0, 0);
    wait_for(s, 2);
    assert_true(cluster_manager_move_is_fixed(s->manager, 0));
    assert_false(cluster_manager_move_may_leave(s->manager, 0));
    move(s, of(1), of(0));
    wait_for(s, 20);
    assert_int_equal(state_of(s), CLUSTER_MOVE_ABANDONED);
    assert_true(s->n_ousted[0] == 0 && s->n_loads[1][0] == 0);
    scene_close(s);
}

/* A model that is deployed anew gets an engine for itself where that costs no eviction, until a
 * plan has had it. */
static void test_new_model_is_alone(void **state)
{
    (void)state;
    const struct set second = of(1);
    for (int planned = 0; planned < 2; planned++) {
        struct scene *s = mem_take(sizeof *s);
        for (int i = 0; i < N_SERVICES; i++)
            s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
        scene_open(s, 1500);
        s->reports[0].memory_bytes = 2000;
        s->reports[0].services[0] = (struct service_report){ .status = SERVICE_LOADED,
                                                             .weights_bytes = 400,
                                                             .n_running = 1 };
        wait_for(s, 2);
        cluster_manager_plan_model(s->manager, 1, 1);
        wait_for(s, 2);
        assert_true(s->n_loads[1][1] == 1); /* and not on engine 0, where more bytes are free */
        if (planned)
            cluster_manager_move_planned(s->manager, &second);
        s->reports[0].memory_bytes = 1400; /* engine 1 has more bytes free */
        wait_for(s, 2);
        scene_want(s, 2);
        wait_for(s, 2);
        assert_true(s->n_loads[planned ? 1 : 0][2] == 1);
        scene_close(s);
    }
}

static void test_see(void **state)
{
    (void)state;
    struct cluster_manager_engine seen;
    struct scene *s = open_two(1000);
    move(s, of(0), set_of_first(2));
    wait_for(s, 20);
    cluster_manager_move_see(s->manager, 1, &seen);
    assert_true(seen.is_planned && set_has(&seen.there, 0) && set_has(&seen.there, 1));
    assert_int_equal(seen.memory_bytes, 1000 - KEPT);
    /* 400 bytes came in a second, give or take a step. */
    assert_true(seen.load_bytes_per_s > 300 && seen.load_bytes_per_s < 420);
    cluster_manager_plan_node(s->manager, 0, 0);
    cluster_manager_move_see(s->manager, 0, &seen);
    assert_false(seen.is_planned);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_last_copy_stays),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_failed_load),
        cmocka_unit_test(test_node_goes),
        cmocka_unit_test(test_wishes_come_first),
        cmocka_unit_test(test_see),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_new_model_is_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
