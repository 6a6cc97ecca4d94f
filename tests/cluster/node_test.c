/* A node's mail: what it can't read is answered when it was a request, and stops nothing. */
#include "fake_engine.h"
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/message.h"
#include <string.h>

enum { PORT_GATEWAY, PORT_MANAGER, PORT_NODE, PORTS };

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
            assert_true(cluster_message_is_valid(message, n_bytes, 1, 1));
            memcpy(event, message, sizeof *event);
            memcpy(text, (const struct message_event *)message + 1, n_bytes - sizeof *event);
            text[n_bytes - sizeof *event] = 0;
        }
        gateway->pop(gateway->self, gateway->address);
    }
    return is_event;
}

struct scene { /* a node with one engine, and a gateway's port */
    struct fake_engine engine;
    struct cluster_engine face;
    struct cluster_local_bus *bus;
    struct bus_port gateway;
    struct cluster_node *node;
};

static struct scene *open_scene(bool is_passive)
{
    struct scene *s = mem_take(sizeof *s);
    s->bus = cluster_local_bus_open(PORTS, 1 << 20);
    s->gateway = cluster_local_bus_port(s->bus, PORT_GATEWAY);
    fake_engine_init(&s->engine, 0, 1, 1);
    s->face = fake_engine_face(&s->engine);
    const struct cluster_node_options options = {
        .port = cluster_local_bus_port(s->bus, PORT_NODE),
        .gateway = PORT_GATEWAY,
        .manager = PORT_MANAGER,
        .n_engines = 1,
        .n_services = 1,
        .engines = &s->face,
        .report_ns = TIME_NS_PER_S,
        .is_passive = is_passive,
        .fits = always_fits,
    };
    s->node = cluster_node_open(&options);
    return s;
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
    bad[2].m.head.version = MESSAGE_VERSION + 1; /* whose layout nobody knows */
    for (int i = 0; i < 3; i++)
        assert_true(s->gateway.send(s->gateway.self, PORT_NODE, &bad[i], sizeof bad[i], NULL, 0));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_malformed_submit_is_answered),
        cmocka_unit_test(test_reports_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
