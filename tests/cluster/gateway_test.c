/* Gateway, manager and node over the local bus, with engines that return, repeat, refuse and fail:
 * no request is lost, none is answered twice, every token is the right one. */
#include "gateway_world.h"

static void run_storm(uint64_t seed, uint32_t bus_bytes)
{
    struct world *w = mem_take(sizeof *w);
    struct rng rng;
    struct service door;
    int n_submitted = 0, n_over = 0, n_cancelled = 0;
    int64_t n_whole = 0, n_learned = 0;
    open_world(w, seed, bus_bytes);
    door = cluster_gateway_service(w->gateway);
    rng_init(&rng, seed, 9);
    for (int i = 0; i < 200000 && n_over < N_REQUESTS; i++) {
        while (n_submitted < N_REQUESTS && rng_below(&rng, 2) == 0 &&
               submit(w, n_submitted, (int)rng_below(&rng, N_SERVICES),
                      1 + (int32_t)rng_below(&rng, 40), TIME_NEVER))
            n_submitted++;
        if (n_submitted > 0 && rng_below(&rng, 4) == 0) {
            int victim = (int)rng_below(&rng, (uint32_t)n_submitted);
            w->requests[victim].is_cancelled =
                w->requests[victim].is_cancelled || !w->requests[victim].is_over;
            door.cancel(door.self, (uint64_t)victim + 1, 0);
        }
        step(w);
        n_over = 0;
        for (int k = 0; k < n_submitted; k++)
            n_over += w->requests[k].is_over;
    }
    assert_int_equal(n_over, N_REQUESTS);
    for (int k = 0; k < N_REQUESTS; k++) {
        n_cancelled += w->requests[k].why == SERVICE_CANCELLED;
        if (w->requests[k].why == SERVICE_CANCELLED)
            assert_true(w->requests[k].is_cancelled);
        else
            assert_int_equal(w->requests[k].n_tokens, w->requests[k].n_tokens_max);
    }
    for (int k = 0; k < N_REQUESTS; k++)
        n_whole += w->requests[k].why == SERVICE_STOPPED || w->requests[k].why == SERVICE_LENGTH;
    for (int s = 0; s < N_SERVICES; s++) {
        const struct length_calibration *c = &cluster_gateway_lengths(w->gateway)->calibrations[s];
        assert_true(c->n_unknown == 0 && c->sum_abs_error <= 40 * c->n);
        n_learned += c->n; /* every whole answer was predicted, and learned from once */
    }
    assert_int_equal(n_learned, n_whole);
    assert_int_equal(cluster_gateway_n_requests(w->gateway), 0);
    printf("seed %llu: %d requests, %d cancelled, %llu crashes survived, %llu repeats dropped\n",
           (unsigned long long)seed, N_REQUESTS, n_cancelled,
           (unsigned long long)(w->engines[0].n_returned + w->engines[1].n_returned),
           (unsigned long long)(w->engines[0].n_duplicated + w->engines[1].n_duplicated));
    assert_true(w->engines[0].n_returned + w->engines[1].n_returned > 100);
    assert_true(w->engines[0].n_duplicated + w->engines[1].n_duplicated > 100);
    close_world(w);
    mem_give(w);
}

/* All engines have the service from the start, with these roles. */
static struct world *open_split(uint64_t seed)
{
    struct world *w = mem_take(sizeof *w);
    open_world(w, seed, 1 << 20);
    for (int e = 0; e < N_ENGINES; e++) {
        w->engines[e].status[0] = SERVICE_LOADED;
        w->engines[e].role = e == 0 ? ENGINE_PREFILL : ENGINE_DECODE;
        w->engines[e].p_return = 0;
    }
    return w;
}

static void finish(struct world *w, int from, int to)
{
    int n_over = from;
    for (int i = 0; i < 20000 && n_over < to; i++) {
        step(w);
        n_over = from;
        for (int k = from; k < to; k++)
            n_over += w->requests[k].is_over;
    }
    for (int k = from; k < to; k++) {
        assert_int_equal(w->requests[k].why, SERVICE_LENGTH);
        assert_int_equal(w->requests[k].n_tokens, w->requests[k].n_tokens_max);
    }
    assert_true(cluster_gateway_is_sound(w->gateway));
}

/* Prompts go to the one engine, answers that have begun to the other, with the ticket of their KV.
 * When none decodes any more, the other takes all. */
static void test_roles_split_the_phases(void **state)
{
    (void)state;
    struct world *w = open_split(5);
    for (int i = 0; i < 20; i++)
        step(w);
    for (int k = 0; k < 100; k++)
        assert_true(submit(w, k, 0, 1 + k % 30, TIME_NEVER));
    finish(w, 0, 100);
    assert_int_equal(w->engines[0].n_fresh, 100);
    assert_int_equal(w->engines[0].n_begun, 0);
    assert_int_equal(w->engines[1].n_fresh, 0);
    assert_int_equal(w->engines[1].n_begun, 96); /* four answers of one token had ended */
    assert_int_equal(w->engines[1].n_tickets, 96);
    for (int k = 100; k < 200; k++)
        assert_true(submit(w, k, 0, 20, TIME_NEVER));
    for (int i = 0; i < 10; i++)
        step(w);
    w->engines[1].report.is_draining = true; /* what it has goes on */
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++)
        if (w->engines[1].requests[i].is_live)
            w->engines[1].requests[i].request.n_lease = -1;
    finish(w, 100, 200);
    assert_true(w->engines[0].n_begun > 0 && w->engines[0].n_tickets > 0);
    close_world(w);
    mem_give(w);
}

static void test_roles_in_a_storm(void **state)
{
    (void)state;
    for (uint64_t seed = 21; seed < 24; seed++) {
        struct world *w = open_split(seed);
        struct rng rng;
        struct service door = cluster_gateway_service(w->gateway);
        int n = 0, n_over = 0;
        rng_init(&rng, seed, 9);
        for (int e = 0; e < N_ENGINES; e++)
            w->engines[e].p_return = 0.05;
        for (int i = 0; i < 100000 && n_over < 1000; i++) {
            while (n < 1000 && rng_below(&rng, 2) == 0 &&
                   submit(w, n, (int)rng_below(&rng, N_SERVICES), 1 + (int32_t)rng_below(&rng, 30),
                          TIME_NEVER))
                n++;
            if (n > 0 && rng_below(&rng, 8) == 0) {
                int victim = (int)rng_below(&rng, (uint32_t)n);
                w->requests[victim].is_cancelled |= !w->requests[victim].is_over;
                door.cancel(door.self, (uint64_t)victim + 1, 0);
            }
            step(w);
            assert_true(i % 50 > 0 || cluster_gateway_is_sound(w->gateway));
            n_over = 0;
            for (int k = 0; k < n; k++)
                n_over += w->requests[k].is_over;
        }
        assert_int_equal(n_over, 1000);
        for (int k = 0; k < 1000; k++)
            assert_true(w->requests[k].is_cancelled ||
                        w->requests[k].n_tokens == w->requests[k].n_tokens_max);
        assert_int_equal(cluster_gateway_n_requests(w->gateway), 0);
        close_world(w);
        mem_give(w);
    }
}

static void test_nothing_is_lost_or_repeated(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        run_storm(seed, 1 << 20);
}

static void test_a_small_bus_only_slows(void **state)
{
    (void)state;
    run_storm(11, 1 << 16);
}

/* Healthy from the first moment, before any engine has reported; not when one stays silent. */
static void test_health_of_silent_engines(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    struct control_answer answer;
    open_world(w, 3, 1 << 20);
    struct control control = cluster_gateway_control(w->gateway);
    for (int i = 0; i < 3; i++) {
        const struct control_ask health = { .id = 3, .kind = CONTROL_HEALTH };
        cluster_gateway_step(w->gateway, w->now_ns); /* the node gets no orders */
        assert_true(control.ask(control.self, &health));
        assert_true(control.next(control.self, &answer));
        assert_int_equal(answer.is_healthy, i < 2);
        assert_true(answer.engines[1].is_healthy);
        w->now_ns += 3 * TIME_NS_PER_S;
    }
    close_world(w);
    mem_give(w);
}

static void test_a_broken_model_is_told(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    open_world(w, 3, 1 << 20);
    w->engines[0].fails_load[1] = w->engines[1].fails_load[1] = true;
    assert_true(submit(w, 0, 1, 4, TIME_NEVER));
    assert_true(submit(w, 1, 0, 4, TIME_NEVER));
    for (int i = 0; i < 500; i++)
        step(w);
    assert_true(w->requests[0].is_over && w->requests[1].is_over);
    assert_int_equal(w->requests[0].why, SERVICE_LOAD_FAILED);
    assert_string_equal(w->requests[0].sentence, ""); /* which names the file */
    assert_int_equal(w->requests[1].why, SERVICE_LENGTH);
    close_world(w);
    mem_give(w);
}

static void test_deadlines_and_bounds_of_holding(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    open_world(w, 3, 1 << 20);
    w->services[2].hold_ns_max = 10 * TIME_NS_PER_MS; /* copied at open: the second world has it */
    w->services[3].n_held_max = 2;
    w->services[3].hold_ns_max = 600 * TIME_NS_PER_S;
    struct service_spec services[N_SERVICES];
    memcpy(services, w->services, sizeof services);
    const struct cluster_node_at own = { PORT_NODE, N_ENGINES };
    const struct cluster_gateway_options gateway = { .port = cluster_local_bus_port(w->bus,
                                                                                    PORT_GATEWAY),
                                                     .nodes = &own,
                                                     .n_nodes = 1,
                                                     .manager = PORT_MANAGER,
                                                     .n_services = N_SERVICES,
                                                     .services = services,
                                                     .n_requests_max = 128,
                                                     .router = route_find("least"),
                                                     .router_config = &w->route };
    cluster_gateway_close(w->gateway);
    w->gateway = cluster_gateway_open(&gateway);
    assert_true(
        submit(w, 0, 1, 4,
               w->now_ns + 5 * TIME_NS_PER_MS)); /* ends by its deadline while the model loads */
    assert_true(submit(w, 1, 2, 4, TIME_NEVER)); /* held too long: loading takes 30 ms */
    for (int i = 2; i < 6; i++)
        assert_true(
            submit(w, i, 3, 4, TIME_NEVER)); /* two of these are held, two are one too many */
    for (int i = 0; i < 500; i++)
        step(w);
    int n_not_ready = 0;
    for (int i = 0; i < 6; i++) {
        assert_true(w->requests[i].is_over);
        n_not_ready += i >= 2 && w->requests[i].why == SERVICE_NOT_READY;
    }
    assert_int_equal(w->requests[0].why, SERVICE_DEADLINE);
    assert_int_equal(w->requests[1].why, SERVICE_NOT_READY);
    assert_int_equal(n_not_ready, 2);
    close_world(w);
    mem_give(w);
}

/* An engine that said FULL is asked again as soon as its pause is over, without other news. */
static void test_a_full_engine_is_asked_again(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    int64_t longest = 0, since[8] = { 0 };
    world_report_ns = 10 * TIME_NS_PER_S; /* no report wakes the router by chance */
    open_world(w, 3, 1 << 20);
    world_report_ns = 10 * TIME_NS_PER_MS;
    w->engines[0].p_return = w->engines[1].p_return = 0.0;
    w->services[0].engines = (struct set){ { 1 } };
    w->engines[0].n_requests_max = 1; /* it reports room for 32 */
    assert_true(submit(w, 0, 0, 1, TIME_NEVER));
    for (int i = 0; i < 100; i++)
        step(w);
    for (int i = 1; i < 8; i++) {
        assert_true(submit(w, i, 0, 3, TIME_NEVER));
        since[i] = w->now_ns;
    }
    for (int n_over = 0; n_over < 7;) {
        step(w);
        n_over = 0;
        for (int i = 1; i < 8; i++) {
            n_over += w->requests[i].is_over;
            longest = w->requests[i].is_over ? longest : max_i64(longest, w->now_ns - since[i]);
        }
    }
    assert_true(longest < 80 * TIME_NS_PER_MS);
    close_world(w);
    mem_give(w);
}

/* Four models of 400 bytes on two engines of 1000: two fit on each, so a third one evicts the
 * longest idle. */
static void test_eviction_and_asks(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    open_world(w, 3, 1 << 20);
    for (int s = 0; s < 4; s++) {
        assert_true(submit(w, s, s, 2, TIME_NEVER));
        for (int i = 0; i < 100; i++)
            step(w);
        assert_true(w->requests[s].is_over);
    }
    struct control control = cluster_gateway_control(w->gateway);
    const struct control_ask unload = { .id = 1, .kind = CONTROL_UNLOAD, .service = 0 },
                             load = { .id = 2, .kind = CONTROL_LOAD, .service = 0 };
    struct control_answer answer;
    assert_true(control.ask(control.self, &unload));
    for (int i = 0; i < 50; i++)
        step(w);
    assert_true(control.next(control.self, &answer));
    assert_int_equal(answer.id, 1);
    assert_int_equal(answer.status, STATUS_OK);
    assert_int_not_equal(w->engines[0].status[0], SERVICE_LOADED);
    assert_int_not_equal(w->engines[1].status[0], SERVICE_LOADED);
    struct service_change change;
    while (control.next_change(control.self, &change)) {}
    assert_true(control.ask(control.self, &load));
    for (int i = 0; i < 100; i++)
        step(w);
    assert_true(control.next(control.self, &answer));
    assert_int_equal(answer.id, 2);
    assert_int_equal(answer.status, STATUS_OK);
    /* Every change is told, in order, also changes that reports may have missed. */
    assert_true(control.next_change(control.self, &change));
    assert_int_equal(change.service, 0);
    assert_int_equal(change.status, SERVICE_LOADING);
    assert_true(control.next_change(control.self, &change));
    assert_int_equal(change.service, 0);
    assert_int_equal(change.status, SERVICE_LOADED);
    assert_false(control.next_change(control.self, &change));
    const struct control_ask health = { .id = 3, .kind = CONTROL_HEALTH };
    assert_true(control.ask(control.self, &health));
    assert_true(control.next(control.self, &answer));
    assert_true(answer.is_healthy);
    assert_int_equal(answer.n_engines, N_ENGINES);
    close_world(w);
    mem_give(w);
}

/* Two models on each of two engines, beside each other, where a request of 40 tokens fits only when
 * one of them is alone. */
static struct world *open_crowded(void)
{
    struct world *w = mem_take(sizeof *w);
    open_world(w, 3, 1 << 20);
    for (int s = 0; s < N_SERVICES; s++) {
        assert_true(submit(w, s, s, 2, TIME_NEVER));
        for (int i = 0; i < 100; i++)
            step(w);
        assert_true(w->requests[s].is_over);
    }
    for (int e = 0; e < N_ENGINES; e++) {
        w->engines[e].p_return = 0.0;
        w->engines[e].n_tokens_beside = 40;
    }
    return w;
}

static int n_loaded(const struct world *w)
{
    int n = 0;
    for (int e = 0; e < N_ENGINES; e++)
        for (int s = 0; s < N_SERVICES; s++)
            n += w->engines[e].status[s] == SERVICE_LOADED;
    return n;
}

/* An idle model leaves for a request that its neighbour's memory can't hold. */
static void test_space_is_made_for_a_request(void **state)
{
    (void)state;
    struct world *w = open_crowded();
    int n_before = n_loaded(w);
    assert_true(submit(w, 4, 0, 60, TIME_NEVER));
    for (int i = 0; i < 400 && !w->requests[4].is_over; i++)
        step(w);
    assert_int_equal(w->requests[4].why, SERVICE_LENGTH);
    assert_int_equal(n_loaded(w), n_before - 1);
    close_world(w);
    mem_give(w);
}

/* None of the neighbours may leave: others go on at once, and a request waits within bounds. */
static void test_space_that_never_comes(void **state)
{
    (void)state;
    world_keep_alive_ns = -1;
    struct world *w = open_crowded();
    world_keep_alive_ns = 3600 * TIME_NS_PER_S;
    struct service door = cluster_gateway_service(w->gateway);
    int n_before = n_loaded(w);
    assert_true(submit(w, 4, 0, 60, TIME_NEVER));
    assert_true(submit(w, 5, 0, 60, w->now_ns + 150 * TIME_NS_PER_MS));
    assert_true(submit(w, 6, 0, 60, TIME_NEVER));
    for (int i = 0; i < 20; i++)
        step(w);
    assert_true(submit(w, 7, 0, 4, TIME_NEVER));
    for (int i = 0; i < 20; i++)
        step(w);
    assert_int_equal(w->requests[7].why, SERVICE_LENGTH);
    door.cancel(door.self, 7, 0); /* the one with index 6 */
    for (int i = 0; i < 160; i++)
        step(w);
    assert_int_equal(w->requests[5].why, SERVICE_DEADLINE);
    assert_int_equal(w->requests[6].why, SERVICE_CANCELLED);
    assert_false(w->requests[4].is_over);
    w->now_ns += 600 * TIME_NS_PER_S;
    for (int i = 0; i < 200; i++)
        step(w);
    assert_int_equal(w->requests[4].why, SERVICE_NOT_READY);
    assert_string_equal(w->requests[4].sentence,
                        "other models kept the memory that the request needs");
    assert_int_equal(n_loaded(w), n_before);
    close_world(w);
    mem_give(w);
}

/* A request too large even for all the memory beside pinned models does not wait for them. */
static void test_never_beside_pinned_models(void **state)
{
    (void)state;
    for (int64_t bytes = 2; bytes <= 3; bytes++) { /* of 1000, the two models have 400 each */
        world_keep_alive_ns = -1;
        struct world *w = open_crowded();
        world_keep_alive_ns = 3600 * TIME_NS_PER_S;
        w->engines[0].kv_bytes_per_token = w->engines[1].kv_bytes_per_token = bytes;
        for (int i = 0; i < 20; i++)
            step(w);
        assert_true(submit(w, 4, 0, 60, TIME_NEVER));
        for (int i = 0; i < 20; i++)
            step(w);
        assert_int_equal(w->requests[4].is_over, bytes == 3); /* 64 tokens, and 150 are left */
        if (bytes == 3)
            assert_int_equal(w->requests[4].why, SERVICE_TOO_LARGE);
        close_world(w);
        mem_give(w);
    }
}

/* An answer that has begun does not end when pinned models take its space. They leave, and come
 * back after it. */
static void test_what_has_begun_gets_its_space(void **state)
{
    (void)state;
    world_keep_alive_ns = -1;
    struct world *w = open_crowded();
    world_keep_alive_ns = 3600 * TIME_NS_PER_S;
    int n_before = n_loaded(w), n_least = n_before;
    for (int e = 0; e < N_ENGINES; e++)
        w->engines[e].n_tokens_beside = 0;
    assert_true(submit(w, 4, 0, 60, TIME_NEVER));
    while (w->requests[4].n_tokens < PROMPT + 3)
        step(w);
    for (int e = 0; e < N_ENGINES; e++) {
        w->engines[e].n_tokens_beside = 40;
        w->engines[e].p_return = 1.0;
    }
    step(w);
    for (int e = 0; e < N_ENGINES; e++)
        w->engines[e].p_return = 0.0;
    for (int i = 0; i < 20; i++)
        step(w);
    w->now_ns += 3600 * TIME_NS_PER_S; /* longer than any request is held */
    for (int i = 0; i < 2000 && !(w->requests[4].is_over && n_loaded(w) == n_before); i++) {
        step(w);
        n_least = min_i32(n_least, n_loaded(w));
    }
    assert_int_equal(w->requests[4].why, SERVICE_LENGTH);
    assert_true(n_least < n_before && n_loaded(w) == n_before);
    close_world(w);
    mem_give(w);
}

/* As many asks as are taken are answered, even when all come at once. */
static void test_every_ask_is_answered(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    struct control_answer answer;
    open_world(w, 21, 1 << 20);
    struct control control = cluster_gateway_control(w->gateway);
    for (int round = 0; round < 3; round++) {
        struct control_ask load = { .kind = CONTROL_LOAD, .service = 1 };
        int n_asked = 0, n_answered = 0;
        while (load.id++ < 1000 && control.ask(control.self, &load))
            n_asked++;
        assert_true(n_asked >= 100 && n_asked < 1000);
        for (int i = 0; i < 200; i++)
            step(w);
        while (control.next(control.self, &answer))
            n_answered += answer.status == STATUS_OK;
        assert_int_equal(n_answered, n_asked);
    }
    close_world(w);
    mem_give(w);
}

/* ---- Predictions. ---- */

static int32_t n_predicted_at_end; /* of the last request, as routers see it */
static void note_prediction(void *state, const struct route_view *view,
                            const struct route_event *event)
{
    if (event->what == ROUTE_ENDED)
        n_predicted_at_end = view->requests[event->slot].n_predicted;
    route_find("least")->saw(state, view, event);
}

static void play(struct world *w, int index, int32_t n_generate)
{
    assert_true(submit(w, index, 0, n_generate, TIME_NEVER));
    for (int i = 0; i < 20000 && !w->requests[index].is_over; i++)
        step(w);
    assert_true(w->requests[index].is_over);
}

/* Half of the answers have 10 tokens, half 100. For one that may have 120, 55 are predicted; when
 * it has outrun them, 100, as all had that got so far. The first prediction is judged. */
static void test_what_is_outrun_is_predicted_anew(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    struct route_policy watcher = *route_find("least");
    watcher.saw = note_prediction;
    world_router = &watcher;
    open_world(w, 3, 1 << 20);
    world_router = NULL;
    for (int e = 0; e < N_ENGINES; e++)
        w->engines[e].p_return = 0.01; /* and on its way it comes home now and then */
    for (int i = 0; i < 80; i++)
        play(w, i, i % 2 == 0 ? 10 : 100);
    const struct length_calibration *c = &cluster_gateway_lengths(w->gateway)->calibrations[0];
    int64_t n_exceeded = c->n_exceeded;
    play(w, 80, 120);
    assert_in_range(n_predicted_at_end, 98, 120);
    assert_int_equal(c->n_exceeded, n_exceeded + 1);
    play(w, 81, 10);
    assert_int_equal(n_predicted_at_end, 10); /* its own limit */
    close_world(w);
    mem_give(w);
}

/* Every second one is sent although it is said to miss a target. */
static void force_some(const void *state, const struct route_view *view, struct route_plan *plan)
{
    route_find("least")->plan(state, view, plan);
    for (int32_t i = 0; i < plan->n_choices; i++)
        plan->choices[i].is_forced = view->requests[plan->choices[i].slot].id % 2 == 0;
}

static void test_forced_ones_are_counted(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    struct route_policy forcing = *route_find("least");
    forcing.plan = force_some;
    world_router = &forcing;
    open_world(w, 4, 1 << 20);
    world_router = NULL;
    for (int e = 0; e < N_ENGINES; e++)
        w->engines[e].p_return = 0; /* a request that comes home is sent again, and counted again */
    for (int i = 0; i < 20; i++)
        play(w, i, 10);
    assert_int_equal(cluster_gateway_n_forced(w->gateway), 10);
    close_world(w);
    mem_give(w);
}

/* Returns the number of answers to ask `id` in the next n_steps steps. */
static int hear_answers(struct world *w, const struct control *control, uint64_t id, int n_steps)
{
    struct control_answer answer;
    int n = 0;
    for (int i = 0; i < n_steps; i++) {
        step(w);
        while (control->next(control->self, &answer))
            n += answer.id == id;
    }
    return n;
}

/* A repeated answer does not take another ask's place. */
static void test_each_ask_is_answered_once(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    open_world(w, 21, 1 << 20);
    struct control control = cluster_gateway_control(w->gateway);
    struct bus_port manager = cluster_local_bus_port(w->bus, PORT_MANAGER);
    const struct control_ask first = { .id = 1, .kind = CONTROL_LOAD, .service = 1 };
    const struct control_ask second = { .id = 2, .kind = CONTROL_LOAD, .service = 2 };
    assert_true(control.ask(control.self, &first));
    assert_int_equal(hear_answers(w, &control, 1, 200), 1);
    assert_true(control.ask(control.self, &second));
    struct message_answer again = { .status = STATUS_OK };
    again.head = cluster_message_head(MESSAGE_ANSWER, PORT_MANAGER, sizeof again);
    again.head.service = cluster_roster_name(&w->services[first.service]);
    again.head.id = first.id;
    assert_true(manager.send(manager.self, PORT_GATEWAY, &again, sizeof again, NULL, 0));
    take_events(w);
    assert_int_equal(hear_answers(w, &control, 2, 2000), 1);
    close_world(w);
    mem_give(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_lost_or_repeated),
        cmocka_unit_test(test_roles_split_the_phases),
        cmocka_unit_test(test_roles_in_a_storm),
        cmocka_unit_test(test_forced_ones_are_counted),
        cmocka_unit_test(test_each_ask_is_answered_once),
        cmocka_unit_test(test_a_small_bus_only_slows),
        cmocka_unit_test(test_health_of_silent_engines),
        cmocka_unit_test(test_a_broken_model_is_told),
        cmocka_unit_test(test_deadlines_and_bounds_of_holding),
        cmocka_unit_test(test_eviction_and_asks),
        cmocka_unit_test(test_a_full_engine_is_asked_again),
        cmocka_unit_test(test_space_is_made_for_a_request),
        cmocka_unit_test(test_space_that_never_comes),
        cmocka_unit_test(test_never_beside_pinned_models),
        cmocka_unit_test(test_what_has_begun_gets_its_space),
        cmocka_unit_test(test_every_ask_is_answered),
        cmocka_unit_test(test_what_is_outrun_is_predicted_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
