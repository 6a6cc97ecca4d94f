/* Plan, reserve, begin: holds and the events that end them, refusals, plans of preempts only,
 * lanes. */
#include "../test.h"
#include "base/time.h"
#include "greedy.h"
#include "world.h"

static void open_with(struct world *w, int32_t n_rounds_max, const struct schedule_policy *policy)
{
    struct world_options o;
    world_options_init(&o);
    o.n_rounds_max = n_rounds_max;
    o.policy = policy;
    world_open(w, &o);
}

/* The same mail at the same times, with and without holds, gives the same events at the same
 * times. */
static void holds_change_nothing(void **state)
{
    uint64_t hashes[2] = { 0 };
    int64_t n_steps[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world w;
        open_with(&w, i == 0 ? 1 : 4096, &greedy_policy);
        for (uint32_t k = 0; k < 20; k++) {
            assert_true(world_submit(&w, &(struct world_ask){ .index = k,
                                                              .n_prompt = 5 + (int32_t)k,
                                                              .n_new = 30 + 7 * (int32_t)k % 40,
                                                              .n_lease = k % 5 == 0 ? 20 : 0 }));
            world_run(&w, w.clock_ns + 3700001 * (1 + k % 9));
            if (k % 6 == 5)
                world_cancel(&w, k);
        }
        world_finish(&w);
        for (uint32_t k = 0; k < 20; k++) {
            const struct world_request *q = &w.requests[k];
            hashes[i] = hashes[i] * 31 + (uint64_t)q->ended_ns + q->why;
        }
        n_steps[i] = w.n_steps;
        assert_true((w.fake.n_rounds_saved > 100 && w.fake.n_cuts > 3) == (i == 1));
        world_close(&w);
    }
    printf("%lld steps, %lld with holds\n", (long long)n_steps[0], (long long)n_steps[1]);
    assert_true(hashes[0] == hashes[1] && n_steps[1] < n_steps[0] / 2);
}

/* ---- A policy whose plans the test writes. ---- */

static struct {
    int n_refused, n_started, n_done, n_plans, n_preempted;
    bool is_greedy, overbooks, preempts_first, preempts_singly;
} script;

static size_t state_bytes(const struct schedule_limits *limits)
{
    return greedy_policy.state_bytes(limits);
}
static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    greedy_policy.open(state, limits, config);
}
static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    (void)state;
    (void)view;
    script.n_refused += event->what == SCHEDULE_REFUSED;
    script.n_started += event->what == SCHEDULE_STARTED;
    script.n_done += event->what == SCHEDULE_DONE;
    script.n_preempted += event->what == SCHEDULE_PREEMPTED;
}
/* Plans one batch per request, whatever the pool has; or preempts every running request once. */
static void plan(const void *state, const struct schedule_view *v, struct schedule_plan *plan)
{
    const struct schedule_service *s = &v->services[0];
    script.n_plans++;
    if (script.preempts_singly && s->n_running > 0) {
        plan->preempts[plan->n_preempts++] = s->running[0];
        return;
    }
    script.preempts_singly = false;
    if (!script.overbooks && !script.preempts_first) {
        greedy_policy.plan(state, v, plan);
        return;
    }
    if (script.preempts_first && s->n_running > 0) {
        for (uint32_t i = 0; i < s->n_running; i++)
            plan->preempts[plan->n_preempts++] = s->running[i];
        script.preempts_first = false;
        return;
    }
    uint32_t slots[64], n = 0;
    for (uint32_t i = 0; i < s->n_running; i++)
        slots[n++] = s->running[i];
    for (uint32_t slot = s->first_waiting; slot != SCHEDULE_NONE; slot = v->requests[slot].next)
        slots[n++] = slot;
    for (uint32_t i = 0; i < n && !v->lane_is_busy[0]; i++) {
        const struct request *r = &v->requests[slots[i]];
        struct batch_item *item = &plan->items[plan->n_items++];
        *item = (struct batch_item){ slots[i], r->n_tokens - r->n_computed, 0 };
        plan->batches[plan->n_batches++] = (struct batch){ .n_items = 1, .items = item };
    }
}
static const struct schedule_policy scripted = { .name = "scripted",
                                                 .summary = "the test's",
                                                 .state_bytes = state_bytes,
                                                 .open = open,
                                                 .plan = plan,
                                                 .saw = saw };

/* One batch gets no blocks: its neighbours go on, and at the end it does too. */
static void refused_batches_do_not_void_neighbours(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    memset(&script, 0, sizeof(script));
    script.overbooks = true;
    world_options_init(&o);
    o.policy = &scripted;
    o.pool_bytes = 4000;
    o.has_prefix_cache = false;
    world_open(&w, &o);
    base_verify = false; /* the plans are illegal on purpose */
    for (uint32_t i = 0; i < 6; i++)
        assert_true(
            world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 60, .n_new = 4 }));
    world_step(&w);
    assert_true(script.n_refused >= 2 && script.n_started >= 2);
    assert_int_equal(script.n_refused + script.n_started, 6);
    world_finish(&w);
    base_verify = true;
    for (uint32_t i = 0; i < 6; i++)
        assert_true(w.requests[i].is_over);
    assert_int_equal(script.n_started, script.n_done);
    world_close(&w);
}

static void plans_of_preempts_only_are_asked_again(void **state)
{
    struct world w;
    (void)state;
    memset(&script, 0, sizeof(script));
    open_with(&w, 1, &scripted);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(
            world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 60, .n_new = 9 }));
    world_run(&w, 3500000);
    script.preempts_first = true;
    int n_plans = script.n_plans;
    int64_t n_steps = w.n_steps;
    world_run(&w, 4000000);
    assert_int_equal(w.n_steps - n_steps, 1);
    assert_int_equal(script.n_plans - n_plans, 2); /* asked again in the same step */
    assert_int_equal(script.n_preempted, 3);
    world_finish(&w);
    world_close(&w);
}

/* Each request that gives way finds its own blocks in the prefix index, and gives them back before
 * the next request has to give way: two plans for each request, in one step. */
static void all_give_way_one_by_one(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    memset(&script, 0, sizeof(script));
    world_options_init(&o);
    o.policy = &scripted;
    o.n_requests_max = 12;
    o.n_rounds_max = 1;
    world_open(&w, &o);
    for (uint32_t i = 0; i < 12; i++)
        assert_true(
            world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 60, .n_new = 9 }));
    world_run(&w, 3500000);
    script.preempts_singly = true;
    int n_plans = script.n_plans;
    world_run(&w, 4000000);
    assert_int_equal(script.n_preempted, 12);
    assert_true(script.n_plans - n_plans > 12);
    world_finish(&w);
    world_close(&w);
}

static void lanes_run_side_by_side(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.n_services = o.n_lanes = 2;
    world_open(&w, &o);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(world_submit(
            &w,
            &(struct world_ask){ .index = i, .service = (uint16_t)i, .n_prompt = 9, .n_new = 10 }));
    world_finish(&w);
    assert_true(w.fake.n_side_by_side >= 9);
    assert_int_equal(w.clock_ns, 10000000); /* both in the time of one */
    world_close(&w);
}

static void time_must_not_go_back(void *arg)
{
    struct world *w = arg;
    w->clock_ns = 5;
    (void)engine_step(w->engine, 5);
    (void)engine_step(w->engine, 4);
}

static void time_goes_on(void **state)
{
    struct world w;
    (void)state;
    open_with(&w, 1, &greedy_policy);
    test_dies(time_must_not_go_back, &w);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_change_nothing),
        cmocka_unit_test(refused_batches_do_not_void_neighbours),
        cmocka_unit_test(plans_of_preempts_only_are_asked_again),
        cmocka_unit_test(all_give_way_one_by_one),
        cmocka_unit_test(lanes_run_side_by_side),
        cmocka_unit_test(time_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
