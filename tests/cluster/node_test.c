/* A node's mail and sessions: a request that it cannot read is answered, and what came over a
 * session ends with it. */
#include "fake_engine.h"
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/link.h"
#include "cluster/message.h"
#include <string.h>

enum { PORT_GATEWAY, PORT_MANAGER, PORT_NODE, PORT_SECOND, PORTS };

struct submit_bytes {
    struct message_submit m;
    struct request_body body;
    int32_t tokens[4];
};

static bool always_fits(const struct engine_report *report, const struct request *request)
{
    (void)report;
    (void)request;
    return true;
}

static struct submit_bytes submit_of(uint64_t id)
{
    struct submit_bytes s = { 0 };
    s.m.head = cluster_message_head(MESSAGE_SUBMIT, PORT_GATEWAY, sizeof s);
    s.m.head.id = id;
    s.m.head.service = cluster_roster_name(&(struct service_spec){ 0 });
    s.m.request =
        (struct request){ .id = id, .epoch = 5, .n_prompt = 4, .n_tokens = 4, .n_tokens_max = 8 };
    s.body = (struct request_body){ .n_bytes = sizeof s.body + 16,
                                    .n_tokens = 4,
                                    .sampling = { .repetition_penalty = 1.0F } };
    return s;
}

/* The next event that came to the gateway; false when there is none. */
static bool next_event(const struct bus_port *gateway, struct message_event *event, char *text)
{
    const void *message;
    size_t n_bytes;
    bool is_event = false;
    while (!is_event && gateway->peek(gateway->self, gateway->address, &message, &n_bytes)) {
        is_event = ((const struct message_head *)message)->kind == MESSAGE_EVENT;
        if (is_event) {
            assert_true(cluster_message_is_valid(message, n_bytes, 1));
            memcpy(event, message, sizeof *event);
            memcpy(text, (const struct message_event *)message + 1, n_bytes - sizeof *event);
            text[n_bytes - sizeof *event] = 0;
        }
        gateway->pop(gateway->self, gateway->address);
    }
    return is_event;
}

struct scene { /* a node with one engine, and a gateway's port with a session */
    struct fake_engine engine;
    struct cluster_engine face;
    struct service_spec service;
    struct cluster_local_bus *bus;
    struct bus_port gateway;
    struct cluster_node *node;
    struct cluster_link link; /* the gateway's end */
};

static void open_session(struct scene *s, uint64_t session)
{
    struct message_head open = cluster_message_head(MESSAGE_OPEN, PORT_GATEWAY, sizeof open);
    cluster_link_begin(&s->link, session, 1);
    assert_true(cluster_link_send(&s->link, &open, sizeof open, NULL, 0));
}

static struct scene *open_scene(bool is_passive)
{
    struct scene *s = mem_take(sizeof *s);
    s->bus = cluster_local_bus_open(PORTS, 1 << 20);
    s->gateway = cluster_local_bus_port(s->bus, PORT_GATEWAY);
    fake_engine_init(&s->engine, 0, 1, 1);
    s->face = fake_engine_face(&s->engine);
    const struct cluster_node_options options = {
        .port = cluster_local_bus_port(s->bus, PORT_NODE),
        .manager = PORT_MANAGER,
        .n_requests_max = 8,
        .n_engines = 1,
        .n_services = 1,
        .services = &s->service,
        .engines = &s->face,
        .report_ns = TIME_NS_PER_S,
        .is_passive = is_passive,
        .fits = always_fits,
    };
    s->node = cluster_node_open(&options);
    s->link = (struct cluster_link){ .port = s->gateway, .peer = PORT_NODE };
    open_session(s, 11);
    return s;
}

static void send_submit(struct scene *s, uint64_t id, uint32_t epoch)
{
    struct submit_bytes m = submit_of(id);
    m.m.request.epoch = epoch;
    assert_true(cluster_link_send(&s->link, &m, sizeof m, NULL, 0));
}

static int n_live(const struct scene *s)
{
    int n = 0;
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++)
        n += s->engine.requests[i].is_live && !s->engine.requests[i].is_cancelled;
    return n;
}

static void close_scene(struct scene *s)
{
    cluster_node_close(s->node);
    cluster_local_bus_close(s->bus);
    mem_give(s);
}

static void test_a_malformed_submit_is_answered(void **state)
{
    (void)state;
    struct scene *s = open_scene(false);
    struct submit_bytes bad[3] = { submit_of(7), submit_of(8), submit_of(9) };
    struct message_event event;
    char text[256];
    bad[0].tokens[1] = -3;
    bad[1].m.head.engine = 4;                    /* there is one */
    bad[2].m.head.version = MESSAGE_VERSION + 1; /* whose layout is not known */
    for (int i = 0; i < 3; i++)
        assert_true(cluster_link_send(&s->link, &bad[i], sizeof bad[i], NULL, 0));
    (void)cluster_node_step(s->node, 1);
    for (uint64_t id = 7; id <= 8; id++) {
        assert_true(next_event(&s->gateway, &event, text));
        assert_int_equal(event.event.id, id);
        assert_int_equal(event.event.epoch, 5);
        assert_int_equal(event.event.what, SERVICE_ENDED);
        assert_int_equal(event.event.why, SERVICE_FAILED);
        assert_string_equal(text, "the node could not read the request");
    }
    assert_false(next_event(&s->gateway, &event, text));
    assert_false(cluster_local_bus_has_mail(s->bus, PORT_NODE));
    close_scene(s);
}

static int n_reports(const struct bus_port *gateway)
{
    const void *message;
    size_t n_bytes;
    int n = 0;
    while (gateway->peek(gateway->self, gateway->address, &message, &n_bytes)) {
        n += ((const struct message_head *)message)->kind == MESSAGE_REPORT;
        gateway->pop(gateway->self, gateway->address);
    }
    return n;
}

static void test_reports_are_passed_over(void **state)
{
    (void)state;
    struct scene *s = open_scene(true);
    (void)cluster_node_step(s->node, 1);
    assert_int_equal(n_reports(&s->gateway), 1);
    cluster_node_pass(s->node, 3 * TIME_NS_PER_S);
    (void)cluster_node_step(s->node, 1 + 3 * TIME_NS_PER_S);
    assert_int_equal(n_reports(&s->gateway), 0);
    (void)cluster_node_step(s->node, 1 + 4 * TIME_NS_PER_S);
    assert_int_equal(n_reports(&s->gateway), 1);
    close_scene(s);
}

/* The gateway has begun another session: it takes back what it sent over the first one. */
static void test_requests_end_with_their_session(void **state)
{
    (void)state;
    struct scene *s = open_scene(false);
    struct message_event event;
    char text[256];
    s->engine.status[0] = SERVICE_LOADED;
    s->engine.p_return = 0;
    send_submit(s, 7, 5);
    (void)cluster_node_step(s->node, 1);
    assert_int_equal(n_live(s), 1);
    while (next_event(&s->gateway, &event, text))
        assert_int_equal(event.head.session, 11);
    open_session(s, 12);
    send_submit(s, 7, 6); /* again, as the first one is no more: it has to end first */
    (void)cluster_node_step(s->node, 2);
    assert_true(next_event(&s->gateway, &event, text));
    assert_int_equal(event.head.session, 12);
    assert_int_equal(event.event.epoch, 6);
    assert_int_equal(event.event.why, SERVICE_FULL);
    assert_false(next_event(&s->gateway, &event, text)); /* the first one's end is not told */
    struct submit_bytes late = submit_of(8); /* of the first session, with a number that is next */
    late.m.head.session = 11;
    late.m.head.number = s->link.n_sent;
    assert_true(s->gateway.send(s->gateway.self, PORT_NODE, &late, sizeof late, NULL, 0));
    send_submit(s, 7, 7);
    (void)cluster_node_step(s->node, 3);
    assert_int_equal(n_live(s), 1);
    assert_true(next_event(&s->gateway, &event, text) && event.event.epoch == 7);
    close_scene(s);
}

static void test_a_missing_message_ends_the_session(void **state)
{
    (void)state;
    struct scene *s = open_scene(false);
    const void *message;
    size_t n_bytes;
    bool is_closed = false;
    s->engine.status[0] = SERVICE_LOADED;
    send_submit(s, 7, 5);
    (void)cluster_node_step(s->node, 1);
    s->link.n_sent++;
    send_submit(s, 8, 5);
    (void)cluster_node_step(s->node, 2);
    assert_int_equal(n_live(s), 0);
    while (s->gateway.peek(s->gateway.self, PORT_GATEWAY, &message, &n_bytes)) {
        is_closed = ((const struct message_head *)message)->kind == MESSAGE_CLOSED;
        s->gateway.pop(s->gateway.self, PORT_GATEWAY);
    }
    assert_true(is_closed); /* and nothing is said after it */
    close_scene(s);
}

static void test_a_cancel_ends_its_own_epoch(void **state)
{
    (void)state;
    struct scene *s = open_scene(false);
    struct message_head cancel = cluster_message_head(MESSAGE_CANCEL, PORT_GATEWAY, sizeof cancel);
    s->engine.status[0] = SERVICE_LOADED;
    s->engine.p_return = 0;
    send_submit(s, 7, 5);
    cancel.id = 7;
    cancel.epoch = 4;
    assert_true(cluster_link_send(&s->link, &cancel, sizeof cancel, NULL, 0));
    (void)cluster_node_step(s->node, 1);
    assert_int_equal(n_live(s), 1);
    cancel.epoch = 5;
    assert_true(cluster_link_send(&s->link, &cancel, sizeof cancel, NULL, 0));
    (void)cluster_node_step(s->node, 2);
    assert_int_equal(n_live(s), 0);
    close_scene(s);
}

/* Two gateways at one node: each hears of its own requests, and of the engines. */
static void test_each_gateway_has_its_own_session(void **state)
{
    (void)state;
    struct scene *s = open_scene(false);
    struct bus_port second = cluster_local_bus_port(s->bus, PORT_SECOND);
    struct cluster_link other = { .port = second, .peer = PORT_NODE };
    struct message_head open = cluster_message_head(MESSAGE_OPEN, PORT_SECOND, sizeof open);
    struct submit_bytes m = submit_of(9);
    struct message_event event;
    char text[256];
    s->engine.status[0] = SERVICE_LOADED;
    s->engine.p_return = 0;
    cluster_link_begin(&other, 99, 1);
    assert_true(cluster_link_send(&other, &open, sizeof open, NULL, 0));
    m.m.head.from = PORT_SECOND;
    assert_true(cluster_link_send(&other, &m, sizeof m, NULL, 0));
    send_submit(s, 7, 5);
    (void)cluster_node_step(s->node, 1);
    assert_true(next_event(&s->gateway, &event, text) && event.event.id == 7);
    assert_true(next_event(&second, &event, text) && event.event.id == 9);
    cluster_link_end(&other);
    (void)cluster_node_step(s->node, 2);
    assert_int_equal(n_live(s), 1);
    (void)cluster_node_step(s->node, 1 + TIME_NS_PER_S);
    assert_true(n_reports(&s->gateway) > 0);
    assert_int_equal(n_reports(&second), 1); /* the one from before */
    close_scene(s);
}

/* A second gateway's link, whose session is open. */
static struct cluster_link open_second(struct scene *s)
{
    struct cluster_link link = { .port = cluster_local_bus_port(s->bus, PORT_SECOND),
                                 .peer = PORT_NODE };
    struct message_head open = cluster_message_head(MESSAGE_OPEN, PORT_SECOND, sizeof open);
    cluster_link_begin(&link, 99, 1);
    assert_true(cluster_link_send(&link, &open, sizeof open, NULL, 0));
    return link;
}

static void send_as(struct cluster_link *link, struct submit_bytes m)
{
    m.m.head.from = link->port.address;
    assert_true(cluster_link_send(link, &m, sizeof m, NULL, 0));
}

/* Two gateways that gave the same id to a request each: the second one's is refused until the first
 * one's is over, and its cancel does not reach the other. */
static void test_an_id_of_another_gateway_is_left_alone(void **state)
{
    (void)state;
    struct scene *s = open_scene(false);
    struct message_head cancel = cluster_message_head(MESSAGE_CANCEL, PORT_SECOND, sizeof cancel);
    struct message_event event;
    char text[256];
    s->engine.status[0] = SERVICE_LOADED;
    s->engine.p_return = 0;
    struct cluster_link other = open_second(s);
    send_submit(s, 7, 5);
    (void)cluster_node_step(s->node, 1);
    send_as(&other, submit_of(7));
    cancel.id = 7;
    cancel.epoch = 5;
    assert_true(cluster_link_send(&other, &cancel, sizeof cancel, NULL, 0));
    (void)cluster_node_step(s->node, 2);
    assert_int_equal(n_live(s), 1);
    const struct bus_port second = other.port;
    assert_true(next_event(&second, &event, text));
    assert_int_equal(event.event.why, SERVICE_FULL);
    while (next_event(&s->gateway, &event, text))
        assert_int_equal(event.event.what, SERVICE_TOKENS);
    close_scene(s);
}

/* Each gateway numbers its cohorts from 1: at the node they are different ones, and members of one
 * stay together. */
static void test_cohorts_of_two_gateways_stay_apart(void **state)
{
    (void)state;
    struct scene *s = open_scene(false);
    uint32_t cohorts[6] = { 0 };
    s->engine.status[0] = SERVICE_LOADED;
    s->engine.p_return = 0;
    struct cluster_link other = open_second(s);
    for (uint64_t i = 0; i < 6; i++) {
        struct submit_bytes m = submit_of(i);
        m.m.request.cohort = i < 4 ? 1 : 0;
        send_as(i % 2 ? &other : &s->link, m);
    }
    (void)cluster_node_step(s->node, 1);
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++)
        if (s->engine.requests[i].is_live)
            cohorts[s->engine.requests[i].request.id] = s->engine.requests[i].request.cohort;
    assert_int_equal(n_live(s), 6);
    assert_true(cohorts[0] != 0 && cohorts[0] == cohorts[2]);
    assert_true(cohorts[1] != 0 && cohorts[1] == cohorts[3]);
    assert_true(cohorts[0] != cohorts[1] && cohorts[4] == 0 && cohorts[5] == 0);
    close_scene(s);
}

/* A service or an adapter that the node does not have: the request goes home, and nothing runs. */
static void test_what_is_not_here_is_returned(void **state)
{
    (void)state;
    struct scene *s = open_scene(false);
    struct submit_bytes bad[2] = { submit_of(7), submit_of(8) };
    struct message_event event;
    char text[256];
    s->engine.status[0] = SERVICE_LOADED;
    bad[0].m.head.service++;
    bad[1].m.adapter = 12345;
    for (int i = 0; i < 2; i++) {
        send_as(&s->link, bad[i]);
        (void)cluster_node_step(s->node, i + 1);
        assert_int_equal(n_live(s), 0);
        assert_true(next_event(&s->gateway, &event, text));
        assert_int_equal(event.event.what, SERVICE_RETURNED);
        assert_int_equal(event.event.why, SERVICE_DRAINING);
        assert_int_equal(event.event.position, 4);
    }
    close_scene(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_malformed_submit_is_answered),
        cmocka_unit_test(test_reports_are_passed_over),
        cmocka_unit_test(test_requests_end_with_their_session),
        cmocka_unit_test(test_a_missing_message_ends_the_session),
        cmocka_unit_test(test_a_cancel_ends_its_own_epoch),
        cmocka_unit_test(test_each_gateway_has_its_own_session),
        cmocka_unit_test(test_an_id_of_another_gateway_is_left_alone),
        cmocka_unit_test(test_cohorts_of_two_gateways_stay_apart),
        cmocka_unit_test(test_what_is_not_here_is_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
