/* The manager against a node played by hand: the orders that follow the reports. */
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/manager_plan.h"
#include "manager_scene.h"

static void test_loaded_at_start_on_every_engine(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].is_loaded_at_start = i < 2;
        s->services[i].keep_alive_ns = -1;
    }
    s->services[1].engines = (struct set){ { 2 } }; /* the second engine only */
    scene_open(s, 1000);
    for (int i = 0; i < 5; i++)
        scene_step(s, TIME_NS_PER_MS);
    assert_true(s->n_loads[0][0] == 1 && s->n_loads[1][0] == 1);
    assert_true(s->n_loads[0][1] == 0 && s->n_loads[1][1] == 1);
    assert_true(s->n_loads[0][2] == 0 && s->n_loads[1][2] == 0);
    scene_close(s);
}

/* Placed on both engines and loaded for requests: both load it. Placed anywhere: one is enough. */
static void test_a_placed_model_is_on_all_its_engines(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = -1;
    s->services[1].engines = (struct set){ { 3 } };
    scene_open(s, 1000);
    scene_want(s, 0);
    scene_want(s, 1);
    for (int i = 0; i < 5; i++)
        scene_step(s, TIME_NS_PER_MS);
    assert_int_equal(s->n_loads[0][0] + s->n_loads[1][0], 1);
    assert_true(s->n_loads[0][1] == 1 && s->n_loads[1][1] == 1);
    scene_ask(s, 7, CONTROL_UNLOAD, 1); /* it does not come back by itself */
    for (int i = 0; i < 5; i++)
        scene_step(s, TIME_NS_PER_MS);
    assert_true(s->n_unloads[0][1] == 1 && s->n_unloads[1][1] == 1);
    assert_true(s->n_loads[0][1] == 1 && s->n_loads[1][1] == 1);
    scene_close(s);
}

/* Room for one model on each engine: each of the two has one place, none leaves for a copy. */
static void test_copies_evict_nobody(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].is_loaded_at_start = i < 2;
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
    }
    scene_open(s, 500);
    for (int i = 0; i < 5; i++)
        scene_step(s, TIME_NS_PER_MS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(s->n_loads[0][i] + s->n_loads[1][i], 1);
        assert_int_equal(s->n_unloads[0][i] + s->n_unloads[1][i], 0);
    }
    scene_close(s);
}

/* Requests that are too short for any report to see keep a model in memory all the same. */
static void test_short_requests_keep_it_alive(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = TIME_NS_PER_S;
    s->services[0].engines = (struct set){ { 1 } };
    scene_open(s, 1000);
    scene_want(s, 0);
    for (int i = 0; i < 50; i++) {
        s->reports[0].services[0].n_arrived += i % 5 == 0;
        scene_step(s, 100 * TIME_NS_PER_MS);
    }
    assert_true(s->n_loads[0][0] == 1 && s->n_unloads[0][0] == 0);
    for (int i = 0; i < 12; i++)
        scene_step(s, 100 * TIME_NS_PER_MS);
    assert_int_equal(s->n_unloads[0][0], 1);
    scene_close(s);
}

/* A model loaded for requests isn't evicted before they could reach it. One that is busy without
 * the manager's knowledge stays, and the other gets its turn later. */
static void test_taking_turns(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
        s->services[i].engines = (struct set){ { 1 } };
    }
    scene_open(s, 500);
    scene_want(s, 0);
    scene_step(s, TIME_NS_PER_MS);
    scene_step(s, TIME_NS_PER_MS);
    assert_int_equal(s->n_loads[0][0], 1);
    for (int i = 0; i < 10; i++) {
        scene_want(s, 1);
        scene_step(s, 10 * TIME_NS_PER_MS);
    }
    assert_true(s->n_loads[0][1] == 0 && s->n_unloads[0][0] == 0);
    s->reports[0].services[0].n_arrived = 1; /* one came and went */
    scene_step(s, 10 * TIME_NS_PER_MS);
    assert_int_equal(s->n_unloads[0][0], 0); /* routers would soon report such requests */
    for (int i = 0; i < 5; i++)
        scene_step(s, 10 * TIME_NS_PER_MS);
    assert_int_equal(s->n_loads[0][1], 1);
    scene_close(s);
}

/* A model whose requests a router holds stays, also between two slices of its requests. When the
 * router holds none any more, the other model has its turn. */
static void test_held_requests_keep_their_model(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].keep_alive_ns = TIME_NS_PER_S / 2;
        s->services[i].engines = (struct set){ { 1 } };
    }
    scene_open(s, 500);
    for (int i = 0; i < 50; i++) {
        scene_want(s, 0);
        if (i > 2)
            scene_want(s, 1);
        s->reports[0].services[0].n_arrived = i / 10; /* slices that came and went */
        scene_step(s, TIME_NS_PER_S / 10);
    }
    assert_true(s->n_loads[0][0] == 1 && s->n_unloads[0][0] == 0 && s->n_loads[0][1] == 0);
    for (int i = 0; i < 15; i++) {
        scene_want(s, 1);
        scene_step(s, TIME_NS_PER_S / 10);
    }
    assert_true(s->n_unloads[0][0] == 1 && s->n_loads[0][1] == 1);
    scene_close(s);
}

static void say_no_space(struct scene *s, int service, int64_t n_bytes, bool insists)
{
    scene_step(s, 30 * TIME_NS_PER_MS); /* an idle model has been idle for long enough */
    struct message_space message = { .n_bytes = n_bytes, .insists = insists };
    message.head = cluster_message_head(MESSAGE_SPACE, PORT_GATEWAY, sizeof message);
    message.head.service = cluster_roster_name(&s->services[service]);
    assert_true(s->node.send(s->node.self, PORT_MANAGER, &message, sizeof message, NULL, 0));
    scene_step(s, TIME_NS_PER_MS);
    scene_step(s, TIME_NS_PER_MS);
}

/* Models leave for a request of another model: as few as suffice, those idle for longest first,
 * none that is busy or pinned, and none in vain. */
static void test_space_for_a_request(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    struct service_report *reports = s->reports[0].services;
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].is_loaded_at_start = true;
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
        s->services[i].engines = (struct set){ { 1 } };
    }
    scene_open(s, 1300 + KEPT); /* 100 are left beside the three */
    for (int i = 0; i < 5; i++)
        scene_step(s, TIME_NS_PER_MS);
    reports[2].n_arrived++; /* used since, so that the other has been idle for longer */
    scene_step(s, TIME_NS_PER_MS);
    say_no_space(s, 0, 901, false); /* more than all others have */
    assert_int_equal(s->n_unloads[0][1] + s->n_unloads[0][2], 0);
    reports[1].n_running = reports[2].n_running = 1;
    scene_step(s, TIME_NS_PER_MS);
    say_no_space(s, 0, 200, false);
    assert_int_equal(s->n_unloads[0][1] + s->n_unloads[0][2], 0);
    reports[1].n_running = reports[2].n_running = 0;
    scene_step(s, TIME_NS_PER_MS);
    reports[2].n_arrived++;
    scene_step(s, TIME_NS_PER_MS);
    say_no_space(s, 0, 200, false);
    assert_true(s->n_unloads[0][0] == 0 && s->n_unloads[0][1] == 1 && s->n_unloads[0][2] == 0);
    say_no_space(s, 0, 200, false); /* the bytes would suffice, but the engine refused again */
    assert_true(s->n_unloads[0][0] == 0 && s->n_unloads[0][1] == 1 && s->n_unloads[0][2] == 1);
    scene_close(s);
}

/* For an answer that has begun, even pinned and busy models leave, and no other model takes their
 * bytes before it does. Then they are back. */
static void test_an_answer_that_has_begun_insists(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    struct service_report *reports = s->reports[0].services;
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].is_loaded_at_start = true;
        s->services[i].keep_alive_ns = i == 2 ? -1 : 3600 * TIME_NS_PER_S;
        s->services[i].engines = (struct set){ { 1 } };
    }
    scene_open(s, 1300 + KEPT); /* 100 are left beside the three */
    for (int i = 0; i < 5; i++)
        scene_step(s, TIME_NS_PER_MS);
    reports[1].n_running = 1;
    scene_step(s, TIME_NS_PER_MS);
    say_no_space(s, 0, 200, false);
    assert_true(s->n_unloads[0][2] == 0 && s->n_ousted[2] == 0);
    say_no_space(s, 0, 200, true);
    assert_true(s->n_ousted[0] == 0 && s->n_ousted[1] == 0 && s->n_ousted[2] == 1); /* idle */
    say_no_space(s, 0, 600, true);
    assert_true(s->n_ousted[0] == 0 && s->n_ousted[1] == 1 && s->n_ousted[2] == 1);
    for (int i = 0; i < 4; i++) { /* for as long as the gateway asks for it */
        say_no_space(s, 0, 600, true);
        scene_step(s, 200 * TIME_NS_PER_MS);
    }
    assert_true(s->n_loads[0][1] == 1 && s->n_loads[0][2] == 1);
    for (int i = 0; i < 3; i++)
        scene_step(s, 200 * TIME_NS_PER_MS);
    assert_true(s->n_loads[0][0] == 1 && s->n_loads[0][1] == 2 && s->n_loads[0][2] == 2);
    scene_close(s);
}

/* Two models would fill the memory to the last byte. The engine keeps some for its pool, so it
 * takes the second model only when the first is gone. */
static void test_what_an_engine_keeps_is_not_promised(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
        s->services[i].engines = (struct set){ { 1 } };
    }
    scene_open(s, 800 + KEPT - 1);
    scene_want(s, 0);
    scene_step(s, TIME_NS_PER_MS);
    scene_step(s, TIME_NS_PER_MS);
    s->reports[0].services[0].n_arrived = 1;
    scene_want(s, 1);
    for (int i = 0; i < 5; i++)
        scene_step(s, 10 * TIME_NS_PER_MS);
    assert_true(s->n_unloads[0][0] == 1 && s->n_loads[0][1] == 1);
    scene_close(s);
}

/* A want ends when no request is held for it. */
static void test_wants_expire(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
        s->services[i].engines = (struct set){ { 1 } };
    }
    scene_open(s, 500);
    scene_want(s, 0);
    scene_step(s, TIME_NS_PER_MS);
    s->reports[0].services[0].n_running = 1;
    s->reports[0].services[0].n_arrived = 1;
    scene_want(s, 1);
    scene_step(s, TIME_NS_PER_MS);
    scene_step(s, 2 * TIME_NS_PER_S);
    s->reports[0].services[0].n_running = 0;
    for (int i = 0; i < 5; i++)
        scene_step(s, TIME_NS_PER_S);
    assert_true(s->n_unloads[0][0] == 0 && s->n_loads[0][1] == 0);
    scene_close(s);
}

static struct scene *open_wanting(int n_broken)
{
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
    scene_open(s, 1000);
    s->n_broken = n_broken;
    return s;
}

static void want_for(struct scene *s, int n_tenths)
{
    for (int i = 0; i < n_tenths; i++) {
        scene_want(s, 0);
        scene_step(s, 100 * TIME_NS_PER_MS);
    }
}

/* A load that failed is tried on the other engine at once. When it failed on both, it is tried
 * again when its time has come, however often it is asked for meanwhile. */
static void test_a_failed_load_is_tried_again(void **state)
{
    enum status cause;
    const char *why;
    (void)state;
    struct scene *s = open_wanting(1);
    want_for(s, 50);
    assert_true(s->n_loads[0][0] == 1 && s->n_loads[1][0] == 1);
    assert_false(cluster_manager_plan_is_broken(s->manager, 0, &cause, &why));
    scene_close(s);
    s = open_wanting(2);
    want_for(s, 50);
    assert_true(s->n_loads[0][0] == 1 && s->n_loads[1][0] == 1);
    assert_true(cluster_manager_plan_is_broken(s->manager, 0, &cause, &why));
    want_for(s, 80);
    assert_int_equal(s->n_loads[0][0] + s->n_loads[1][0], 3);
    assert_false(cluster_manager_plan_is_broken(s->manager, 0, &cause, &why));
    scene_close(s);
    s = open_wanting(2);
    want_for(s, 50);
    scene_ask(s, 7, CONTROL_LOAD, 0); /* an operator does not wait for that time */
    want_for(s, 1);
    assert_int_equal(s->n_loads[0][0] + s->n_loads[1][0], 3);
    scene_close(s);
}

/* Copies that an operator wants are not ordered again and again on an engine that can't load. */
static void test_an_engine_that_fails_is_left_alone(void **state)
{
    (void)state;
    struct scene *s = open_wanting(1);
    cluster_manager_plan_model(s->manager, 0, 2);
    for (int i = 0; i < 50; i++)
        scene_step(s, 100 * TIME_NS_PER_MS);
    assert_true(s->n_loads[0][0] == 1 && s->n_loads[1][0] == 1); /* one is there, one failed */
    for (int i = 0; i < 80; i++)
        scene_step(s, 100 * TIME_NS_PER_MS);
    assert_int_equal(s->n_loads[0][0] + s->n_loads[1][0], 3);
    scene_close(s);
}

/* The engine that was told to load answers that its node does not have the model. */
static void say_lacking(struct scene *s)
{
    int e = s->due_ns[0][0] > 0 ? 0 : 1;
    s->due_ns[e][0] = 0;
    scene_say(s, e, 0, SERVICE_BROKEN, STATUS_BUSY);
}

/* A node that does not have the model yet is asked again after a second, and nothing is broken. */
static void test_a_node_lacks_the_model(void **state)
{
    static const struct {
        int n_tenths, n_loads;
    } spans[] = { { 1, 1 }, { 1, 2 }, { 12, 3 }, { 1, 4 } };
    enum status cause;
    const char *why;
    (void)state;
    struct scene *s = open_wanting(0);
    s->load_takes_ns = 3600 * TIME_NS_PER_S; /* the engines say nothing by themselves */
    for (size_t i = 0; i < COUNT_OF(spans); i++) {
        want_for(s, spans[i].n_tenths);
        assert_int_equal(s->n_loads[0][0] + s->n_loads[1][0], spans[i].n_loads);
        say_lacking(s);
        assert_false(cluster_manager_plan_is_broken(s->manager, 0, &cause, &why));
    }
    want_for(s, 5);
    assert_int_equal(s->n_loads[0][0] + s->n_loads[1][0], 4);
    scene_close(s);
}

/* Takes the gateway's mail. Returns the number of answers in it; *sum is the sum of their ids. */
static int hear_answers(struct scene *s, uint64_t *sum)
{
    const void *record;
    size_t n_bytes;
    int n = 0;
    struct bus_port gateway = cluster_local_bus_port(s->bus, PORT_GATEWAY);
    for (*sum = 0; gateway.peek(gateway.self, PORT_GATEWAY, &record, &n_bytes);
         gateway.pop(gateway.self, PORT_GATEWAY)) {
        const struct message_answer *answer = record;
        if (answer->head.kind == MESSAGE_ANSWER) {
            *sum += answer->head.id;
            n++;
        }
    }
    return n;
}

/* A load fails after an unload was ordered: the asks for both are answered. */
static void test_an_unload_ends_with_a_failed_load(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    const void *record;
    size_t n_bytes;
    uint64_t sum;
    s->services[0].engines = (struct set){ { 1 } };
    scene_open(s, 1000);
    scene_step(s, TIME_NS_PER_MS);
    scene_ask(s, 1, CONTROL_LOAD, 0);
    (void)cluster_manager_step(s->manager, s->now_ns);
    assert_true(s->node.peek(s->node.self, PORT_NODE, &record, &n_bytes)); /* LOAD, under way */
    s->node.pop(s->node.self, PORT_NODE);
    scene_ask(s, 2, CONTROL_UNLOAD, 0);
    (void)cluster_manager_step(s->manager, s->now_ns);
    scene_say(s, 0, 0, SERVICE_BROKEN, STATUS_IO);
    (void)cluster_manager_step(s->manager, s->now_ns);
    assert_int_equal(hear_answers(s, &sum), 2);
    assert_int_equal(sum, 3);
    scene_close(s);
}

/* However many asks there are, and however full the gateway's mail is, each is answered once. */
static void test_everyone_is_answered(void **state)
{
    enum { N_ASKS = 200 };
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    static const char filler[1000];
    uint64_t sum, sum_all = 0;
    int n_all = 0;
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
    s->services[0].engines = (struct set){ { 1 } };
    scene_open(s, 1000);
    scene_step(s, TIME_NS_PER_MS);
    for (uint64_t id = 1; id <= N_ASKS; id++)
        scene_ask(s, id, CONTROL_LOAD, 0);
    struct message_head junk =
        cluster_message_head(MESSAGE_WANT, PORT_NODE, sizeof junk + sizeof filler);
    while (s->node.send(s->node.self, PORT_GATEWAY, &junk, sizeof junk, filler, sizeof filler)) {}
    for (int i = 0; i < 20; i++) {
        scene_step(s, 50 * TIME_NS_PER_MS);
        if (i >= 10)
            n_all += hear_answers(s, &sum);
        sum_all += i >= 10 ? sum : 0;
    }
    assert_int_equal(n_all, N_ASKS);
    assert_int_equal(sum_all, N_ASKS * (N_ASKS + 1) / 2);
    scene_close(s);
}

static void test_a_busy_model_stays(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = 3600 * TIME_NS_PER_S;
    scene_open(s, 1000);
    scene_want(s, 0);
    for (int i = 0; i < 3; i++)
        scene_step(s, 2 * TIME_NS_PER_S);
    int e = s->n_loads[0][0] ? 0 : 1;
    struct message_ask ask = { .kind = CONTROL_UNLOAD };
    ask.head = cluster_message_head(MESSAGE_ASK, PORT_GATEWAY, sizeof ask);
    ask.head.id = 7;
    ask.head.service = cluster_roster_name(&s->services[0]);
    assert_true(s->node.send(s->node.self, PORT_MANAGER, &ask, sizeof ask, NULL, 0));
    /* The order leaves because a report says idle, but the engine knows better. */
    const void *record;
    size_t n_bytes;
    (void)cluster_manager_step(s->manager, s->now_ns);
    assert_true(s->node.peek(s->node.self, PORT_NODE, &record, &n_bytes));
    assert_int_equal(((const struct message_head *)record)->kind, MESSAGE_UNLOAD);
    s->node.pop(s->node.self, PORT_NODE);
    scene_say(s, e, 0, SERVICE_LOADED, STATUS_BUSY);
    s->reports[e].services[0].n_running = 1;
    scene_step(s, TIME_NS_PER_MS);
    bool is_refused = false;
    struct bus_port gateway = cluster_local_bus_port(s->bus, PORT_GATEWAY);
    while (gateway.peek(gateway.self, PORT_GATEWAY, &record, &n_bytes)) {
        const struct message_answer *answer = record;
        is_refused = is_refused || (answer->head.kind == MESSAGE_ANSWER && answer->head.id == 7 &&
                                    answer->status == STATUS_BUSY);
        gateway.pop(gateway.self, PORT_GATEWAY);
    }
    assert_true(is_refused);
    scene_close(s);
}

/* A report older than the ask refuses no unload, since all may be answered by now. */
static void test_busy_is_judged_by_what_was_said_since(void **state)
{
    (void)state;
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        struct scene *s = mem_take(sizeof *s);
        s->services[0].keep_alive_ns = 3600 * TIME_NS_PER_S;
        scene_open(s, 1000);
        scene_want(s, 0);
        s->reports[0].services[0].n_running = s->reports[1].services[0].n_running = 1;
        for (int i = 0; i < 3; i++)
            scene_step(s, TIME_NS_PER_S);
        struct message_ask ask = { .kind = CONTROL_UNLOAD };
        ask.head = cluster_message_head(MESSAGE_ASK, PORT_GATEWAY, sizeof ask);
        ask.head.id = 7;
        ask.head.service = cluster_roster_name(&s->services[0]);
        assert_true(s->node.send(s->node.self, PORT_MANAGER, &ask, sizeof ask, NULL, 0));
        uint64_t sum;
        (void)cluster_manager_step(s->manager, s->now_ns);
        assert_int_equal(hear_answers(s, &sum), 0);
        assert_int_equal(s->n_unloads[0][0] + s->n_unloads[1][0], 0);
        s->reports[0].services[0].n_running = s->reports[1].services[0].n_running = is_busy;
        scene_step(s, TIME_NS_PER_MS);
        scene_step(s, TIME_NS_PER_MS);
        assert_int_equal(s->n_unloads[0][0] + s->n_unloads[1][0], !is_busy);
        assert_int_equal(hear_answers(s, &sum), 1);
        scene_close(s);
    }
}

/* The next order to the node; MESSAGE_N: none. */
static enum message_kind take_order(struct scene *s)
{
    const void *record;
    size_t n_bytes;
    if (!s->node.peek(s->node.self, PORT_NODE, &record, &n_bytes))
        return MESSAGE_N;
    enum message_kind kind = ((const struct message_head *)record)->kind;
    s->node.pop(s->node.self, PORT_NODE);
    return kind;
}

static int step_alone(struct scene *s, uint64_t *answers)
{
    uint64_t sum;
    (void)cluster_manager_step(s->manager, s->now_ns);
    int n = hear_answers(s, &sum);
    *answers += sum;
    return n;
}

/* An unload calls a load off: both asks are answered. */
static void test_a_load_that_is_called_off_is_answered(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    uint64_t answers = 0;
    s->services[0].engines = (struct set){ { 1 } };
    s->services[0].keep_alive_ns = 3600 * TIME_NS_PER_S;
    scene_open(s, 1000);
    scene_step(s, TIME_NS_PER_MS);
    scene_ask(s, 1, CONTROL_LOAD, 0);
    assert_int_equal(step_alone(s, &answers), 0);
    assert_int_equal(take_order(s), MESSAGE_LOAD);
    scene_say(s, 0, 0, SERVICE_LOADING, STATUS_OK);
    scene_ask(s, 2, CONTROL_UNLOAD, 0);
    assert_int_equal(step_alone(s, &answers), 0);
    assert_int_equal(take_order(s), MESSAGE_UNLOAD);
    scene_say(s, 0, 0, SERVICE_UNLOADED, STATUS_CANCELLED);
    assert_int_equal(step_alone(s, &answers), 2);
    assert_int_equal(answers, 1 + 2);
    scene_close(s);
}

/* Load, unload and load again at once. The second load is ordered only when the unload is over, so
 * that no actor believes that the model goes while it stays. */
static void test_a_load_waits_for_the_unload_before_it(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    uint64_t answers = 0;
    for (int i = 0; i < N_SERVICES; i++) {
        s->services[i].keep_alive_ns = 10 * TIME_NS_PER_S;
        s->services[i].engines = (struct set){ { 1 } };
    }
    scene_open(s, 500);
    scene_step(s, TIME_NS_PER_MS);
    scene_ask(s, 1, CONTROL_LOAD, 0);
    assert_int_equal(step_alone(s, &answers), 0);
    assert_int_equal(take_order(s), MESSAGE_LOAD);
    scene_say(s, 0, 0, SERVICE_LOADING, STATUS_OK);
    scene_ask(s, 2, CONTROL_UNLOAD, 0);
    scene_ask(s, 3, CONTROL_LOAD, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(step_alone(s, &answers), 0);
    assert_int_equal(take_order(s), MESSAGE_UNLOAD);
    assert_int_equal(take_order(s), MESSAGE_N);
    scene_say(s, 0, 0, SERVICE_UNLOADED, STATUS_CANCELLED);
    assert_int_equal(step_alone(s, &answers), 1);
    assert_int_equal(answers, 2);
    assert_int_equal(take_order(s), MESSAGE_LOAD);
    scene_say(s, 0, 0, SERVICE_LOADED, STATUS_OK);
    assert_int_equal(step_alone(s, &answers), 2);
    assert_int_equal(answers, 1 + 2 + 3);
    scene_want(s, 1); /* a model that has no requests any more makes room for others */
    for (int i = 0; i < 20; i++)
        scene_step(s, TIME_NS_PER_S);
    assert_true(s->n_unloads[0][0] == 1);
    scene_close(s);
}

/* A load right behind an unload is not answered by the model that is about to leave. */
static void test_a_load_behind_an_unload_brings_it_back(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    uint64_t answers = 0;
    s->services[0].engines = (struct set){ { 1 } };
    s->services[0].keep_alive_ns = 3600 * TIME_NS_PER_S;
    scene_open(s, 1000);
    scene_step(s, TIME_NS_PER_MS);
    scene_ask(s, 1, CONTROL_LOAD, 0);
    assert_int_equal(step_alone(s, &answers), 0);
    assert_int_equal(take_order(s), MESSAGE_LOAD);
    scene_say(s, 0, 0, SERVICE_LOADED, STATUS_OK);
    assert_int_equal(step_alone(s, &answers), 1);
    scene_ask(s, 2, CONTROL_UNLOAD, 0);
    scene_ask(s, 3, CONTROL_LOAD, 0);
    assert_int_equal(step_alone(s, &answers), 0);
    assert_int_equal(take_order(s), MESSAGE_UNLOAD);
    scene_say(s, 0, 0, SERVICE_DRAINING_OUT, STATUS_OK);
    scene_say(s, 0, 0, SERVICE_UNLOADED, STATUS_OK);
    assert_int_equal(step_alone(s, &answers), 1);
    assert_int_equal(take_order(s), MESSAGE_LOAD);
    scene_say(s, 0, 0, SERVICE_LOADED, STATUS_OK);
    assert_int_equal(step_alone(s, &answers), 1);
    assert_int_equal(answers, 1 + 2 + 3);
    scene_close(s);
}

static void steps(struct scene *s, int n)
{
    for (int i = 0; i < n; i++)
        scene_step(s, 30 * TIME_NS_PER_MS);
}

/* A pinned model comes to its place, leaves the other one only then, and stays there alone. */
static void test_a_pinned_model_is_at_its_place_alone(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = TIME_NS_PER_S;
    s->load_takes_ns = 200 * TIME_NS_PER_MS;
    scene_open(s, 500); /* room for one */
    scene_want(s, 0);
    steps(s, 10);
    int from = s->n_loads[0][0] > 0 ? 0 : 1, to = 1 - from;
    s->reports[from].services[0].n_running = 1; /* its request moves, too */
    cluster_manager_plan_pin(s->manager, 0, 0, to);
    steps(s, 3);
    assert_true(s->n_loads[to][0] == 1 && s->n_ousted[0] == 0);
    steps(s, 10);
    assert_true(s->n_ousted[0] == 1 && s->n_loads[from][0] == 1);
    cluster_manager_plan_model(s->manager, 0, 2); /* one place has no room for two */
    scene_want(s, 1);
    steps(s, 60); /* longer than its keep-alive, and another model wants memory */
    assert_true(s->n_unloads[to][0] == 0 && s->n_loads[from][1] == 1 && s->n_loads[from][0] == 1);
    cluster_manager_plan_model(s->manager, 0, 0);
    cluster_manager_plan_unpin(s->manager, 0);
    steps(s, 60);
    assert_int_equal(s->n_unloads[to][0], 1);        /* its keep-alive counts again */
    cluster_manager_plan_pin(s->manager, 0, -1, -1); /* a place that is not there */
    scene_want(s, 0);
    steps(s, 5);
    assert_true(s->n_loads[0][0] == 1 && s->n_loads[1][0] == 1);
    scene_close(s);
}

/* A paused model's wanted copies do not come, and those that are there are not kept. */
static void test_a_paused_model_is_not_kept(void **state)
{
    (void)state;
    struct scene *s = mem_take(sizeof *s);
    for (int i = 0; i < N_SERVICES; i++)
        s->services[i].keep_alive_ns = TIME_NS_PER_S;
    scene_open(s, 500);
    cluster_manager_plan_pause(s->manager, 0, true);
    cluster_manager_plan_model(s->manager, 0, 1);
    steps(s, 5);
    assert_int_equal(s->n_loads[0][0] + s->n_loads[1][0], 0);
    cluster_manager_plan_pause(s->manager, 0, false);
    steps(s, 60);
    assert_int_equal(s->n_loads[0][0] + s->n_loads[1][0], 1);
    assert_int_equal(s->n_unloads[0][0] + s->n_unloads[1][0], 0);
    cluster_manager_plan_pause(s->manager, 0, true);
    steps(s, 60);
    assert_int_equal(s->n_unloads[0][0] + s->n_unloads[1][0], 1);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded_at_start_on_every_engine),
        cmocka_unit_test(test_a_placed_model_is_on_all_its_engines),
        cmocka_unit_test(test_copies_evict_nobody),
        cmocka_unit_test(test_a_load_that_is_called_off_is_answered),
        cmocka_unit_test(test_a_load_waits_for_the_unload_before_it),
        cmocka_unit_test(test_a_load_behind_an_unload_brings_it_back),
        cmocka_unit_test(test_short_requests_keep_it_alive),
        cmocka_unit_test(test_taking_turns),
        cmocka_unit_test(test_held_requests_keep_their_model),
        cmocka_unit_test(test_space_for_a_request),
        cmocka_unit_test(test_an_answer_that_has_begun_insists),
        cmocka_unit_test(test_what_an_engine_keeps_is_not_promised),
        cmocka_unit_test(test_wants_expire),
        cmocka_unit_test(test_a_failed_load_is_tried_again),
        cmocka_unit_test(test_an_engine_that_fails_is_left_alone),
        cmocka_unit_test(test_a_node_lacks_the_model),
        cmocka_unit_test(test_an_unload_ends_with_a_failed_load),
        cmocka_unit_test(test_everyone_is_answered),
        cmocka_unit_test(test_a_busy_model_stays),
        cmocka_unit_test(test_busy_is_judged_by_what_was_said_since),
        cmocka_unit_test(test_a_pinned_model_is_at_its_place_alone),
        cmocka_unit_test(test_a_paused_model_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
