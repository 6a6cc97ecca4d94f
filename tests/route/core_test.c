/* The routing core: by hand, and beside the test's own host (world.h), with every router. */
#include "world.h"

#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "route/core.h"

enum { N_SLOTS = 8, N_EVENTS = 64, N_TWIN_ENGINES = 6, N_TWIN_REQUESTS = 400 };

/* ---- By hand: a router that sends all held requests to the engine of their service, and notes
 * what it hears and what the view shows then. ---- */

struct heard {
    struct route_event event;
    uint32_t n_held;
    int32_t n_sent; /* of the event's engine */
};
static struct heard heard[N_EVENTS];
static int n_heard, n_plans;
static int64_t wake_ns;

static size_t no_state(const struct route_limits *limits)
{
    (void)limits;
    return 1;
}

static void open_script(void *state, const struct route_limits *limits,
                        const struct route_config *config)
{
    (void)state;
    assert_int_equal(limits->n_requests_max, N_SLOTS);
    assert_non_null(config);
}

static void plan_script(const void *state, const struct route_view *view, struct route_plan *plan)
{
    (void)state;
    n_plans++;
    for (int s = 0; s < view->n_services; s++) {
        uint32_t at = view->services[s].n_held > 0 ? view->services[s].first_held : ROUTE_NONE;
        for (; at != ROUTE_NONE && view->engines[s].is_open; at = view->requests[at].next)
            plan->choices[plan->n_choices++] =
                (struct route_choice){ .slot = at, .engine = (uint16_t)s, .is_forced = at == 1 };
    }
    plan->wake_ns = wake_ns;
}

static void saw_script(void *state, const struct route_view *view, const struct route_event *event)
{
    (void)state;
    assert_true(n_heard < N_EVENTS);
    heard[n_heard++] = (struct heard){ *event, view->n_held, view->engines[event->engine].n_sent };
}

static const struct route_policy script = { .name = "script",
                                            .state_bytes = no_state,
                                            .open = open_script,
                                            .plan = plan_script,
                                            .saw = saw_script };

struct hand {
    struct route_request requests[N_SLOTS];
    int64_t now_ns;
    struct route_core core;
};

static void open_hand(struct hand *h)
{
    *h = (struct hand){ .now_ns = 100 };
    n_heard = n_plans = 0;
    wake_ns = TIME_NEVER;
    for (uint32_t i = 0; i < N_SLOTS; i++)
        h->requests[i] = (struct route_request){ .id = i + 1,
                                                 .service = (uint16_t)(i / 4),
                                                 .arrived_ns = 10 + i,
                                                 .n_prompt = 5,
                                                 .n_tokens = 5 };
    route_core_open(&h->core, &(struct route_core_options){ .router = &script,
                                                            .n_engines = 2,
                                                            .n_services = 2,
                                                            .n_slots = N_SLOTS,
                                                            .requests = h->requests,
                                                            .clock_ns = &h->now_ns });
    for (int e = 0; e < 2; e++)
        h->core.engines[e] = (struct route_engine){ .is_open = true, .services = set_of_first(2) };
}

static void heard_is(int at, enum route_what what, uint32_t slot, uint32_t n_held, int32_t n_sent)
{
    assert_true(at < n_heard);
    assert_int_equal(heard[at].event.what, what);
    assert_int_equal(heard[at].event.slot, slot);
    assert_int_equal(heard[at].n_held, n_held);
    assert_int_equal(heard[at].n_sent, n_sent);
}

static void test_a_life_by_hand(void **state)
{
    struct hand h;
    (void)state;
    open_hand(&h);
    assert_null(route_core_next(&h.core)); /* nothing happened, so the router is not asked */
    route_core_arrived(&h.core, 1);
    route_core_arrived(&h.core, 4);
    assert_true(h.core.is_dirty);
    const struct route_choice *choice = route_core_next(&h.core);
    assert_int_equal(choice->slot, 1);
    route_core_sent(&h.core);
    choice = route_core_next(&h.core);
    assert_int_equal(choice->slot, 4);
    assert_int_equal(choice->engine, 1);
    route_core_sent(&h.core);
    assert_null(route_core_next(&h.core)); /* nothing is held, so it is not asked again */
    assert_int_equal(n_plans, 1);
    assert_int_equal(h.core.n_forced, 1);
    route_core_returned(&h.core, 4, 1, SERVICE_FULL);
    h.core.engines[1].is_open = false;
    route_core_changed(&h.core, 1);
    wake_ns = 500;
    assert_null(route_core_next(&h.core));
    assert_int_equal(h.core.wake_ns, 500);
    assert_null(route_core_next(&h.core)); /* before its time */
    assert_int_equal(n_plans, 2);
    h.now_ns = 500;
    h.core.engines[1].is_open = true;
    assert_int_equal(route_core_next(&h.core)->slot, 4);
    route_core_sent(&h.core);
    route_core_ended(&h.core, 4, 1, SERVICE_LENGTH);
    route_core_arrived(&h.core, 2);
    route_core_gone(&h.core, 2, SERVICE_CANCELLED);
    heard_is(0, ROUTE_ARRIVED, 1, 1, 0);
    heard_is(1, ROUTE_ARRIVED, 4, 2, 0);
    heard_is(2, ROUTE_SENT, 1, 1, 1);
    heard_is(3, ROUTE_SENT, 4, 0, 1);
    heard_is(4, ROUTE_RETURNED, 4, 1, 0);
    assert_int_equal(heard[4].event.why, SERVICE_FULL);
    heard_is(5, ROUTE_ENGINE, 0, 1, 0);
    heard_is(6, ROUTE_ASKED, 0, 1, 1);
    heard_is(7, ROUTE_SENT, 4, 0, 1);
    heard_is(8, ROUTE_ENDED, 4, 0, 0);
    heard_is(9, ROUTE_ARRIVED, 2, 1, 1);
    heard_is(10, ROUTE_GONE, 2, 0, 1);
    assert_int_equal(n_heard, 11);
    assert_int_equal(h.core.engines[0].n_sent, 1);
    route_core_close(&h.core);
}

/* The bus is full at the second of three choices, and the third ends meanwhile. */
static void test_what_is_left_of_a_plan(void **state)
{
    struct hand h;
    (void)state;
    open_hand(&h);
    for (uint32_t i = 0; i < 3; i++)
        route_core_arrived(&h.core, i);
    assert_int_equal(route_core_next(&h.core)->slot, 0);
    route_core_sent(&h.core);
    assert_int_equal(route_core_next(&h.core)->slot, 1);
    route_core_wait(&h.core, 150);
    route_core_gone(&h.core, 2, SERVICE_DEADLINE);
    assert_null(route_core_next(&h.core));
    h.now_ns = 150;
    assert_int_equal(route_core_next(&h.core)->slot, 1);
    route_core_wait(&h.core, 250);
    route_core_arrived(&h.core, 3); /* what happens is a reason to try at once */
    assert_int_equal(route_core_next(&h.core)->slot, 1);
    assert_int_equal(n_plans, 1);
    route_core_sent(&h.core);
    assert_int_equal(route_core_next(&h.core)->slot, 3);
    assert_int_equal(n_plans, 2);
    route_core_sent(&h.core);
    assert_null(route_core_next(&h.core));
    route_core_close(&h.core);
}

static void end_with(struct hand *h, uint32_t slot, int32_t n_output, enum service_why why)
{
    route_core_arrived(&h->core, slot);
    assert_int_equal(route_core_next(&h->core)->slot, slot);
    route_core_sent(&h->core);
    h->requests[slot].n_tokens = h->requests[slot].n_prompt + n_output;
    route_core_ended(&h->core, slot, h->requests[slot].service, why);
}

/* The first answer is the mean, unless the host had a guess. */
static void test_means_by_hand(void **state)
{
    struct hand h;
    (void)state;
    open_hand(&h);
    h.core.services[1].n_output_mean = 128;
    end_with(&h, 0, 10, SERVICE_LENGTH);
    assert_true(h.core.services[0].n_output_mean == 10 && h.core.services[0].n_prompt_mean == 5);
    end_with(&h, 1, 30, SERVICE_STOPPED);
    assert_true(h.core.services[0].n_output_mean == 11);
    end_with(&h, 2, 400, SERVICE_LEASE_OVER); /* it goes on elsewhere */
    assert_true(h.core.services[0].n_output_mean == 11);
    end_with(&h, 4, 28, SERVICE_LENGTH);
    assert_true(h.core.services[1].n_output_mean == 123);
    assert_true(h.core.services[1].n_prompt_mean == 0.05 * 5);
    route_core_close(&h.core);
}

static void test_priorities(void **state)
{
    struct hand h;
    (void)state;
    open_hand(&h);
    for (uint32_t i = 0; i < 3; i++)
        route_core_arrived(&h.core, i);
    route_core_set_priority(&h.core, 2, -1);
    static const uint32_t expected[] = { 2, 0, 1 };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(route_core_next(&h.core)->slot, expected[i]);
        route_core_sent(&h.core);
    }
    route_core_close(&h.core);
}

/* Two cores over one table of requests, as the doors of groups of engines are. */
static void test_two_that_share(void **state)
{
    struct hand h;
    struct route_core second;
    (void)state;
    open_hand(&h);
    route_core_open(&second, &(struct route_core_options){ .router = &script,
                                                           .n_engines = 2,
                                                           .n_services = 2,
                                                           .n_slots = N_SLOTS,
                                                           .requests = h.requests,
                                                           .clock_ns = &h.now_ns,
                                                           .shares = &h.core });
    second.engines[0].is_open = second.engines[1].is_open = true;
    for (uint32_t i = 0; i < N_SLOTS; i++)
        route_core_arrived(i % 2 == 0 ? &h.core : &second, i);
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        struct route_core *core = i < N_SLOTS / 2 ? &h.core : &second;
        const struct route_choice *choice = route_core_next(core);
        assert_int_equal(choice->slot, i % (N_SLOTS / 2) * 2 + (core == &second));
        route_core_sent(core);
        if (i % (N_SLOTS / 2) == N_SLOTS / 2 - 1)
            assert_null(route_core_next(core));
    }
    assert_int_equal(h.core.engines[0].n_sent + second.engines[1].n_sent, 4);
    route_core_close(&second);
    route_core_close(&h.core);
}

/* ---- Beside another host: the same calls, the same choices. ---- */

struct twin {
    struct world *world;
    struct route_request *requests; /* the core's */
    struct route_core core;
    struct rng rng;
    uint8_t is_held[N_TWIN_REQUESTS], is_over[N_TWIN_REQUESTS];
    bool is_dirty; /* the test's own record of when a router is asked */
    int64_t wake_ns;
    int32_t n_sent, n_over;
};

static void open_twin(struct twin *t, const char *router, uint64_t seed)
{
    *t = (struct twin){ .world = world_new(N_TWIN_ENGINES, 2, 12), .wake_ns = TIME_NEVER };
    struct world *w = t->world;
    rng_init(&t->rng, seed, 5);
    for (int e = 0; e < N_TWIN_ENGINES; e++)
        w->engines[e].kv_bytes = w->engines[e].kv_free_bytes = 40000000;
    for (int s = 0; s < 2; s++)
        w->services[s] = (struct route_service){
            .perf = { .floor_ps = 2000000000,
                      .c1_ps = 1000000000,
                      .k1_ps = 20000000,
                      .c3_ps = { 5000000000, 6000000000 },
                      .c2_ps = { 20000000, 60000000 },
                      .k2_ps = { 100000, 100000 },
                      .b_switch = 24,
                      .prefill_scale = 1,
                      .decode_scale = 1 },
            .kv_bytes_per_token = 2000,
        };
    t->requests = calloc(WORLD_REQUESTS, sizeof(*t->requests));
    route_core_open(&t->core, &(struct route_core_options){ .router = route_find(router),
                                                            .n_engines = N_TWIN_ENGINES,
                                                            .n_services = 2,
                                                            .n_slots = WORLD_REQUESTS,
                                                            .requests = t->requests,
                                                            .clock_ns = &w->view.now_ns,
                                                            .checks = true });
    memcpy(t->core.engines, w->engines, sizeof(*w->engines) * N_TWIN_ENGINES);
    memcpy(t->core.services, w->services, sizeof(*w->services) * 2);
    world_open(w, router);
    for (uint16_t e = 0; e < N_TWIN_ENGINES; e++)
        route_core_changed(&t->core, e);
}

static void close_twin(struct twin *t)
{
    route_core_close(&t->core);
    free(t->requests);
    world_close(t->world);
}

static void arrive(struct twin *t)
{
    int32_t n_prompt = 1 + (int32_t)rng_below(&t->rng, 300);
    uint32_t slot = world_arrive(t->world, (int)rng_below(&t->rng, 2), n_prompt,
                                 1 + (int32_t)rng_below(&t->rng, 200));
    t->requests[slot] = t->world->requests[slot];
    route_core_arrived(&t->core, slot);
    t->is_held[slot] = 1;
    t->is_dirty = true;
}

static void end(struct twin *t, uint32_t slot)
{
    struct world *w = t->world;
    struct route_request *r = &w->requests[slot];
    struct route_service *s = &w->services[r->service];
    r->n_tokens += (int32_t)rng_below(&t->rng, 100);
    t->requests[slot].n_tokens = r->n_tokens;
    double n_output = r->n_tokens - r->n_prompt;
    if (s->n_output_mean > 0) {
        s->n_output_mean += 0.05 * (n_output - s->n_output_mean);
        s->n_prompt_mean += 0.05 * (r->n_prompt - s->n_prompt_mean);
    } else {
        s->n_output_mean = n_output;
        s->n_prompt_mean = r->n_prompt;
    }
    world_end(w, slot);
    route_core_ended(&t->core, slot, w->engine_of[slot], SERVICE_LENGTH);
    t->is_over[slot] = 1;
    t->n_over++;
    t->is_dirty = true;
}

static void give_back(struct twin *t, uint32_t slot)
{
    world_return(t->world, slot, SERVICE_DRAINING);
    t->requests[slot].epoch++;
    route_core_returned(&t->core, slot, t->world->engine_of[slot], SERVICE_DRAINING);
    t->is_held[slot] = 1;
    t->is_dirty = true;
}

/* Opens or closes an engine, which alone is no reason to ask. */
static void turn(struct twin *t)
{
    uint16_t e = (uint16_t)rng_below(&t->rng, N_TWIN_ENGINES);
    t->world->engines[e].is_open = t->core.engines[e].is_open = rng_below(&t->rng, 4) > 0;
    world_engine(t->world, e);
    route_core_changed(&t->core, e);
}

static void send(struct twin *t)
{
    struct world *w = t->world;
    const struct route_choice *choice;
    int32_t n_sent = 0;
    if (t->is_dirty || t->wake_ns <= w->view.now_ns) {
        n_sent = world_send(w);
        t->wake_ns = w->held.n > 0 ? w->plan.wake_ns : TIME_NEVER;
    }
    t->is_dirty = false;
    t->n_sent += n_sent;
    while ((choice = route_core_next(&t->core)) != NULL) {
        const struct route_choice *own = &w->sent[choice->slot];
        assert_int_equal(choice->engine, own->engine);
        assert_int_equal(choice->n_lease, own->n_lease);
        assert_int_equal(choice->n_cohort, own->n_cohort);
        assert_int_equal(choice->cohort, own->cohort);
        t->is_held[choice->slot] = 0;
        n_sent--;
        route_core_sent(&t->core);
    }
    assert_int_equal(n_sent, 0);
    assert_true(t->core.wake_ns == t->wake_ns);
    assert_int_equal(t->core.held.n, w->held.n);
    for (int e = 0; e < N_TWIN_ENGINES; e++)
        assert_int_equal(t->core.engines[e].n_sent, w->engines[e].n_sent);
    for (int s = 0; s < 2; s++)
        assert_true(t->core.services[s].n_output_mean == w->services[s].n_output_mean &&
                    t->core.services[s].n_prompt_mean == w->services[s].n_prompt_mean);
    assert_null(t->core.wrong);
}

static void happen(struct twin *t, uint32_t what)
{
    struct world *w = t->world;
    uint32_t slot = w->n_requests > 0 ? rng_below(&t->rng, w->n_requests) : 0;
    w->view.now_ns += (int64_t)rng_below(&t->rng, 40 * (uint32_t)TIME_NS_PER_MS);
    if (what < 4 && w->n_requests < N_TWIN_REQUESTS)
        arrive(t);
    else if (what < 8 && w->is_sent[slot])
        end(t, slot);
    else if (what == 8 && w->is_sent[slot])
        give_back(t, slot);
    else if (what == 9 && t->is_held[slot] && !t->is_over[slot]) {
        world_gone(w, slot);
        route_core_gone(&t->core, slot, SERVICE_CANCELLED);
        t->is_held[slot] = 0;
        t->is_over[slot] = 1;
        t->n_over++;
    } else if (what == 10) {
        turn(t);
    }
    send(t);
}

static void test_beside_another_host(void **state)
{
    int n;
    const struct route_policy *const *all = route_all(&n);
    uint64_t seed = test_seed(1);
    (void)state;
    for (int i = 0; i < n; i++) {
        struct twin *t = calloc(1, sizeof(*t));
        open_twin(t, all[i]->name, seed + (uint64_t)i);
        for (int k = 0; k < 3000; k++)
            happen(t, rng_below(&t->rng, 11));
        if (t->n_sent < 60 || t->n_over < 60)
            fail_msg("%s: %d sent, %d over", all[i]->name, t->n_sent, t->n_over);
        close_twin(t);
        free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_life_by_hand), cmocka_unit_test(test_what_is_left_of_a_plan),
        cmocka_unit_test(test_means_by_hand),  cmocka_unit_test(test_priorities),
        cmocka_unit_test(test_two_that_share), cmocka_unit_test(test_beside_another_host)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
