/* The state that a gateway keeps of its requests: prompts that siblings share, and bodies that are
 * whole when they are sent. */
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/gateway.h"
#include "cluster/gateway_route.h"
#include "cluster/gateway_state.h"
#include "cluster/message.h"

enum { N_PROMPT = 50000, STOP_ID = 7 };

struct world {
    struct cluster_local_bus *bus;
    struct service_spec service;
    struct route_config route;
    struct cluster_gateway *gateway;
    struct service door;
    struct request_body *body; /* of a prompt and two tokens of an earlier life */
};

static void open_world(struct world *w)
{
    *w = (struct world){ .service.n_held_max = 2, .bus = cluster_local_bus_open(3, 1 << 20) };
    const struct cluster_gateway_options options = { .port = cluster_local_bus_port(w->bus, 0),
                                                     .manager = 1,
                                                     .nodes = &(struct cluster_node_at){ 2, 1 },
                                                     .n_nodes = 1,
                                                     .n_services = 1,
                                                     .services = &w->service,
                                                     .n_requests_max = 8,
                                                     .router = route_find("least"),
                                                     .router_config = &w->route };
    w->gateway = cluster_gateway_open(&options);
    w->door = cluster_gateway_service(w->gateway);
    size_t n_bytes = request_body_bytes(N_PROMPT + 2, 1, 0);
    w->body = mem_take(n_bytes);
    *w->body = (struct request_body){ .n_bytes = (uint32_t)n_bytes,
                                      .n_tokens = N_PROMPT + 2,
                                      .n_stop_ids = 1 };
    request_body_tokens(w->body)[N_PROMPT] = 11;
    request_body_tokens(w->body)[N_PROMPT + 1] = 12;
    *request_body_stop_ids(w->body) = STOP_ID;
}

static void close_world(struct world *w)
{
    cluster_gateway_close(w->gateway);
    cluster_local_bus_close(w->bus);
    mem_give(w->body);
}

static void submit_as(struct world *w, uint64_t id, uint16_t tenant, int64_t arrived_ns,
                      int16_t priority)
{
    const struct request request = { .id = id,
                                     .tenant = tenant,
                                     .n_prompt = N_PROMPT,
                                     .n_tokens = N_PROMPT + 2,
                                     .n_tokens_max = N_PROMPT + 9,
                                     .arrived_ns = arrived_ns,
                                     .priority = priority,
                                     .deadline_ns = TIME_NEVER };
    w->body->seed = id;
    assert_true(w->door.submit(w->door.self, &request, w->body));
}

static void submit(struct world *w, uint64_t id)
{
    submit_as(w, id, 0, TIME_NS_PER_S, 0);
}

static struct gateway_entry *entry_of(struct world *w, uint64_t id)
{
    uint32_t handle = gateway_state_find(w->gateway, id);
    assert_true(handle != 0);
    return &w->gateway->entries[slots_index(handle)];
}

/* Choices of one ask are kept with one prompt between them, until the last choice is over. */
static void test_siblings_share_a_prompt(void **state)
{
    (void)state;
    struct world w;
    struct service_event event;
    const void *payload;
    open_world(&w);
    for (uint64_t id = 1; id <= 3; id++)
        submit(&w, id);
    request_body_tokens(w.body)[N_PROMPT - 1]++; /* only almost the same */
    submit(&w, 4);
    *request_body_stop_ids(w.body) = STOP_ID + 1;
    submit(&w, 5);
    assert_int_equal(entry_of(&w, 1)->prompt->n_users, 3);
    assert_ptr_equal(entry_of(&w, 1)->prompt, entry_of(&w, 3)->prompt);
    assert_ptr_not_equal(entry_of(&w, 3)->prompt, entry_of(&w, 4)->prompt);
    assert_ptr_not_equal(entry_of(&w, 4)->prompt, entry_of(&w, 5)->prompt);
    for (uint64_t id = 1; id <= 2; id++) {
        w.door.cancel(w.door.self, id, 0);
        assert_true(w.door.next(w.door.self, &event, &payload));
        assert_int_equal(event.id, id);
        assert_false(w.door.next(w.door.self, &event, &payload));
        assert_int_equal(entry_of(&w, 3)->prompt->n_users, 3 - id);
    }
    assert_int_equal(entry_of(&w, 3)->prompt->tokens[N_PROMPT - 1], 0);
    close_world(&w);
}

static void assert_whole(struct world *w, uint64_t id, const int32_t *generated, size_t n)
{
    struct gateway_body body;
    assert_true(gateway_state_open_body(entry_of(w, id), &body));
    assert_int_equal(body.head.n_tokens, N_PROMPT + n);
    assert_int_equal(body.head.seed, id);
    assert_int_equal(body.head.n_bytes, request_body_bytes(body.head.n_tokens, 1, 0));
    assert_int_equal(body.head.n_bytes, sizeof body.head + body.n_bytes);
    const int32_t *tokens = body.at;
    assert_memory_equal(tokens, request_body_tokens(w->body), sizeof(int32_t) * N_PROMPT);
    assert_memory_equal(tokens + N_PROMPT, generated, sizeof(int32_t) * n);
    assert_int_equal(tokens[N_PROMPT + n], STOP_ID);
    assert_true((body.made != NULL) == (n > 0));
    gateway_state_close_body(&body);
}

/* The tokens of one sibling are not sent with another. */
static void test_what_is_sent_is_whole(void **state)
{
    (void)state;
    static const int32_t more[200] = { 13, 14 };
    int32_t all[202] = { 11, 12, 13, 14 };
    struct world w;
    open_world(&w);
    submit(&w, 1);
    submit(&w, 2);
    assert_true(gateway_state_add_tokens(entry_of(&w, 1), more, 1));
    assert_true(gateway_state_add_tokens(entry_of(&w, 1), more + 1, COUNT_OF(more) - 1));
    assert_whole(&w, 1, all, COUNT_OF(all));
    assert_whole(&w, 2, all, 2);
    w.body->n_tokens = N_PROMPT; /* a prompt alone is sent as it is kept */
    *request_body_stop_ids(w.body) = STOP_ID;
    submit(&w, 3);
    assert_whole(&w, 3, all, 0);
    close_world(&w);
}

/* When too many requests wait for a model, the last ones end, except those that came home from an
 * engine. */
static void test_who_was_let_in_is_not_one_too_many(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    for (uint64_t id = 1; id <= 4; id++) {
        submit(&w, id);
        entry_of(&w, id)->request->n_tokens = N_PROMPT; /* none has begun */
    }
    entry_of(&w, 3)->request->epoch++;
    entry_of(&w, 4)->request->epoch++;
    (void)gateway_route_watch_held(w.gateway);
    assert_true(entry_of(&w, 1)->state == GATEWAY_OVER && entry_of(&w, 2)->state == GATEWAY_OVER);
    assert_true(entry_of(&w, 3)->state == GATEWAY_HELD && entry_of(&w, 4)->state == GATEWAY_HELD);
    close_world(&w);
}

/* Two requests are held, the later one at a higher priority, and so it is the first. When both have
 * waited for long, the earlier one is. One that comes then stands behind both. */
static void test_what_waits_for_long_goes_first(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const struct route_service *held = &w.gateway->core.services[0];
    submit_as(&w, 1, 0, 1 * TIME_NS_PER_S, INT16_MAX);
    submit_as(&w, 2, 0, 2 * TIME_NS_PER_S, -5);
    for (int64_t s = 2; s <= 30; s++) {
        (void)cluster_gateway_step(w.gateway, s * TIME_NS_PER_S);
        assert_int_equal(w.gateway->requests[held->first_held].id, s < 21 ? 2 : 1);
    }
    assert_int_equal(entry_of(&w, 1)->asked.priority, INT16_MAX); /* engines see no other */
    w.door.cancel(w.door.self, 2, 0);
    submit_as(&w, 3, 0, 31 * TIME_NS_PER_S, INT16_MIN);
    assert_int_equal(w.gateway->requests[held->first_held].id, 1);
    close_world(&w);
}

/* Request 1 was sent to engine 0 and comes home. age_ns: the time since it was last served, -1: not
 * told. */
static void come_home(struct world *w, struct cluster_link *node, enum service_why why,
                      int64_t now_ns, int64_t age_ns)
{
    struct gateway_entry *entry = entry_of(w, 1);
    struct service_event event;
    const void *payload;
    uint32_t at = slots_index(gateway_state_find(w->gateway, 1));
    struct message_event back = { .head = cluster_message_head(MESSAGE_EVENT, 2, sizeof back) };
    back.event = (struct service_event){ .id = 1,
                                         .epoch = entry->request->epoch,
                                         .what = SERVICE_RETURNED,
                                         .why = why,
                                         .position = entry->request->n_tokens,
                                         .served_ns = age_ns };
    gateway_state_unhold(w->gateway, at);
    route_held_remove(&w->gateway->core.held, at);
    w->gateway->core.engines[0].n_sent++;
    entry->state = GATEWAY_SENT;
    w->gateway->now_ns = now_ns;
    cluster_gateway_hears_at(w->gateway, now_ns);
    assert_true(cluster_link_send(node, &back, sizeof back, NULL, 0));
    assert_false(w->door.next(w->door.self, &event, &payload));
    assert_int_equal(entry->state, GATEWAY_HELD);
}

/* An engine had the request: it tells with it how long it was not served, and the next engine is
 * told too. A request that an engine refused has waited since before. */
static void test_what_comes_home_keeps_its_age(void **state)
{
    (void)state;
    static const struct {
        int64_t now_s, said_s, kept_s; /* said: 0 = not told */
        int16_t priority;
    } rows[] = {
        { 10, 3, 3, 7 },
        { 24, 0, 3, INT16_MIN },
        { 30, 25, 25, 7 },
    };
    struct world w;
    open_world(&w);
    struct cluster_link node = { .port = cluster_local_bus_port(w.bus, 2), .peer = 0 };
    submit_as(&w, 1, 0, 1 * TIME_NS_PER_S, 7);
    cluster_link_begin(&node, 11, 0);
    cluster_link_begin(&w.gateway->links[0], 11, 0);
    struct gateway_entry *entry = entry_of(&w, 1);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t now_ns = rows[i].now_s * TIME_NS_PER_S;
        int64_t age_ns = rows[i].said_s > 0 ? now_ns - rows[i].said_s * TIME_NS_PER_S : -1;
        come_home(&w, &node, SERVICE_DRAINING, now_ns, age_ns);
        assert_int_equal(entry->asked.served_ns, rows[i].kept_s * TIME_NS_PER_S);
        assert_int_equal(entry->request->priority, rows[i].priority);
    }
    close_world(&w);
}

/* Request 1 is at engine 0, which says these tokens; then the connection to its node is cut. */
static void say_and_cut(struct world *w, struct cluster_link *node, const int32_t *ids, int32_t n)
{
    struct gateway_entry *entry = entry_of(w, 1);
    uint32_t at = slots_index(gateway_state_find(w->gateway, 1));
    struct message_head cut = cluster_message_head(MESSAGE_CLOSED, 2, sizeof cut);
    struct message_event event;
    size_t n_ids = sizeof *ids * (size_t)n;
    gateway_state_unhold(w->gateway, at);
    route_held_remove(&w->gateway->core.held, at);
    w->gateway->core.engines[0].n_sent++;
    entry->state = GATEWAY_SENT;
    event = (struct message_event){ .head = cluster_message_head(MESSAGE_EVENT, 2,
                                                                 sizeof event + n_ids) };
    event.event = (struct service_event){ .id = 1,
                                          .epoch = entry->request->epoch,
                                          .what = SERVICE_TOKENS,
                                          .n_tokens = n,
                                          .position = entry->request->n_tokens,
                                          .n_bytes = (int32_t)n_ids };
    assert_true(cluster_link_send(node, &event, sizeof event, ids, n_ids));
    assert_true(node->port.send(node->port.self, 0, &cut, sizeof cut, NULL, 0));
}

/* The last token came, and the word that it was the last did not: the answer ends with it, as at
 * the engine, since whatever were computed behind it would not belong to it. */
static void test_a_whole_answer_is_not_sent_again(void **state)
{
    (void)state;
    static const int32_t stop[] = { 3, STOP_ID }, full[] = { 1, 2, 3, 4, 5, 6, 8 },
                         other[] = { STOP_ID, 3 };
    static const struct {
        const int32_t *ids;
        int32_t n, n_tokens_min;
        enum service_why why; /* NONE: it goes on */
    } rows[] = { { stop, 2, 0, SERVICE_STOPPED },  { stop, 2, 3, SERVICE_STOPPED },
                 { stop, 2, 4, SERVICE_WHY_NONE }, { full, 7, 0, SERVICE_LENGTH },
                 { full, 6, 0, SERVICE_WHY_NONE }, { other, 2, 0, SERVICE_WHY_NONE } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w;
        struct service_event event;
        const void *payload;
        open_world(&w);
        w.body->sampling.n_tokens_min = rows[i].n_tokens_min;
        struct cluster_link node = { .port = cluster_local_bus_port(w.bus, 2), .peer = 0 };
        submit(&w, 1);
        cluster_link_begin(&node, 11, 0);
        cluster_link_begin(&w.gateway->links[0], 11, 0);
        say_and_cut(&w, &node, rows[i].ids, rows[i].n);
        assert_true(w.door.next(w.door.self, &event, &payload));
        assert_int_equal(event.what, SERVICE_TOKENS);
        assert_false(w.door.next(w.door.self, &event, &payload)); /* takes the CLOSED */
        bool is_over = w.door.next(w.door.self, &event, &payload);
        assert_int_equal(is_over, rows[i].why != SERVICE_WHY_NONE);
        if (is_over) {
            assert_int_equal(event.what, SERVICE_ENDED);
            assert_int_equal(event.why, rows[i].why);
            assert_int_equal(event.position, N_PROMPT + 2 + rows[i].n);
        } else {
            assert_int_equal(entry_of(&w, 1)->state, GATEWAY_HELD);
        }
        close_world(&w);
    }
}

/* An engine that was full, or whose batch failed, gets no requests for a while, and gets them again
 * after that. The pause of an engine that stays full doubles up to 16 ms, and begins anew when a
 * request leaves the engine. Refusals within a pause do not double it. */
static void test_an_engine_that_sent_home_rests(void **state)
{
    (void)state;
    static const struct {
        enum service_why why;
        int64_t rest_ns;
    } rows[] = {
        { SERVICE_FULL, 2 * TIME_NS_PER_MS },  { SERVICE_FULL, 4 * TIME_NS_PER_MS },
        { SERVICE_FULL, 8 * TIME_NS_PER_MS },  { SERVICE_FULL, 16 * TIME_NS_PER_MS },
        { SERVICE_FULL, 16 * TIME_NS_PER_MS }, { SERVICE_CRASHED, 20 * TIME_NS_PER_MS },
        { SERVICE_FULL, 2 * TIME_NS_PER_MS },
    };
    struct world w;
    open_world(&w);
    struct cluster_link node = { .port = cluster_local_bus_port(w.bus, 2), .peer = 0 };
    submit_as(&w, 1, 0, 1 * TIME_NS_PER_S, 0);
    cluster_link_begin(&node, 11, 0);
    cluster_link_begin(&w.gateway->links[0], 11, 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t now_ns = (2 + (int64_t)i) * TIME_NS_PER_S;
        come_home(&w, &node, rows[i].why, now_ns, -1);
        come_home(&w, &node, rows[i].why, now_ns, -1);
        int64_t wake_ns = cluster_gateway_step(w.gateway, now_ns + rows[i].rest_ns - 1);
        assert_true(set_words_have(w.gateway->full, 0) && wake_ns <= now_ns + rows[i].rest_ns);
        (void)cluster_gateway_step(w.gateway, now_ns + rows[i].rest_ns);
        assert_false(set_words_have(w.gateway->full, 0));
    }
    close_world(&w);
}

/* When too many requests wait for a model, the last ones of the tenants with the most end. A tenant
 * with few requests that comes later is not shut out. */
static void test_tenants_have_equal_parts_of_what_may_wait(void **state)
{
    (void)state;
    static const uint16_t tenants[] = { 1, 1, 1, 1, 1, 2, 3, 2 };
    static const bool stays[] = { true, true, false, false, false, true, true, false };
    struct world w;
    open_world(&w);
    w.gateway->services[0].n_held_max = 4;
    for (uint64_t id = 1; id <= COUNT_OF(tenants); id++) {
        submit_as(&w, id, tenants[id - 1], TIME_NS_PER_S, 0);
        entry_of(&w, id)->request->n_tokens = N_PROMPT; /* none has begun */
    }
    (void)gateway_route_watch_held(w.gateway);
    for (uint64_t id = 1; id <= COUNT_OF(tenants); id++)
        assert_int_equal(entry_of(&w, id)->state, stays[id - 1] ? GATEWAY_HELD : GATEWAY_OVER);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_waits_for_long_goes_first),
        cmocka_unit_test(test_what_comes_home_keeps_its_age),
        cmocka_unit_test(test_an_engine_that_sent_home_rests),
        cmocka_unit_test(test_a_whole_answer_is_not_sent_again),
        cmocka_unit_test(test_siblings_share_a_prompt),
        cmocka_unit_test(test_what_is_sent_is_whole),
        cmocka_unit_test(test_who_was_let_in_is_not_one_too_many),
        cmocka_unit_test(test_tenants_have_equal_parts_of_what_may_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
