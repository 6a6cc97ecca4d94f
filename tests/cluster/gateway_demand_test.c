/* The sums that a gateway sends of its traffic: each request counts once, and sums come again for a
 * new leader. */
#include "test.h"

#include "base/time.h"
#include "cluster/gateway.h"
#include "cluster/message.h"

enum { PROMPT = 5, NODE = 1 };

struct world {
    struct cluster_local_bus *bus;
    struct bus_port node;
    struct service_spec service;
    struct route_config route;
    struct cluster_gateway *gateway;
    int64_t now_ns;
    int n_heard;
    struct message_demand last;
};

static void open_world(struct world *w, uint16_t manager)
{
    static const struct cluster_node_at own = { NODE, 1 };
    *w = (struct world){ .service = { .name = "tale", .hold_ns_max = 600 * TIME_NS_PER_S },
                         .bus = cluster_local_bus_open(3, 1 << 20),
                         .now_ns = TIME_NS_PER_S };
    w->node = cluster_local_bus_port(w->bus, NODE);
    const struct cluster_gateway_options options = { .port = cluster_local_bus_port(w->bus, 0),
                                                     .manager = manager,
                                                     .seed = 4,
                                                     .nodes = &own,
                                                     .n_nodes = 1,
                                                     .n_services = 1,
                                                     .services = &w->service,
                                                     .n_requests_max = 8,
                                                     .router = route_find("least"),
                                                     .router_config = &w->route };
    w->gateway = cluster_gateway_open(&options);
}

static void close_world(struct world *w)
{
    cluster_gateway_close(w->gateway);
    cluster_local_bus_close(w->bus);
}

static void submit(struct world *w, uint64_t id, int64_t deadline_ns)
{
    unsigned char bytes[sizeof(struct request_body) + 4 * PROMPT] = { 0 };
    struct request_body *body = (void *)bytes;
    struct service door = cluster_gateway_service(w->gateway);
    *body = (struct request_body){ .n_bytes = sizeof bytes, .n_tokens = PROMPT };
    const struct request request = { .id = id,
                                     .n_prompt = PROMPT,
                                     .n_tokens = PROMPT,
                                     .n_tokens_max = PROMPT + 3,
                                     .arrived_ns = w->now_ns,
                                     .deadline_ns = deadline_ns };
    assert_true(door.submit(door.self, &request, body));
}

/* Runs for some time. Each message has to be valid; the last one is kept. */
static void run(struct world *w, int64_t span_ns)
{
    struct service door = cluster_gateway_service(w->gateway);
    struct service_event event;
    const void *payload, *message;
    size_t n_bytes;
    for (int64_t end_ns = w->now_ns + span_ns; w->now_ns < end_ns;
         w->now_ns += 50 * TIME_NS_PER_MS) {
        (void)cluster_gateway_step(w->gateway, w->now_ns);
        while (door.next(door.self, &event, &payload)) {}
        for (; w->node.peek(w->node.self, NODE, &message, &n_bytes);
             w->node.pop(w->node.self, NODE)) {
            assert_true(cluster_message_is_valid(message, n_bytes, 1));
            if (((const struct message_head *)message)->kind != MESSAGE_DEMAND)
                continue;
            w->n_heard++;
            w->last = *(const struct message_demand *)message;
        }
    }
}

static void test_counts(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, CLUSTER_GATEWAY_NO_MANAGER);
    struct service door = cluster_gateway_service(w.gateway);
    run(&w, 2 * TIME_NS_PER_S);
    assert_int_equal(w.n_heard, 0); /* nothing has happened */
    submit(&w, 1, TIME_NEVER);
    submit(&w, 2, w.now_ns + 300 * TIME_NS_PER_MS); /* no engine has the model, so it is late */
    submit(&w, 3, TIME_NEVER);
    door.cancel(door.self, 3, 0);
    run(&w, 4 * TIME_NS_PER_S);
    assert_int_equal(w.last.sums.n_arrived, 3);
    assert_int_equal(w.last.sums.n_failed, 1);
    assert_int_equal(w.last.sums.n_done, 0);
    assert_true(w.last.sums.prompt.sum == 15 && w.last.sums.prompt.squares == 75);
    int n_heard = w.n_heard;
    assert_true(n_heard >= 3 && n_heard <= 5);
    run(&w, 10 * TIME_NS_PER_S); /* without news: every 5 s */
    assert_true(w.n_heard == n_heard + 2 && w.last.number == (uint64_t)w.n_heard);
    assert_int_equal(w.last.sums.n_arrived, 3);
    close_world(&w);
}

/* A gateway with a manager of its own process sends none. */
static void test_own_manager(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 2);
    submit(&w, 1, TIME_NEVER);
    run(&w, 3 * TIME_NS_PER_S);
    assert_int_equal(w.n_heard, 0);
    close_world(&w);
}

/* Sums that no machine counts are malformed. */
static void test_malformed(void **state)
{
    (void)state;
    struct message_demand m = { .number = 1, .sums = { .n_arrived = 1 } };
    m.head = cluster_message_head(MESSAGE_DEMAND, 0, sizeof m);
    assert_true(cluster_message_is_valid(&m, sizeof m, 1));
    struct message_demand bad[7];
    for (int i = 0; i < 7; i++)
        bad[i] = m;
    bad[0].number = 0;
    bad[1].n_engines_wanted = -1;
    bad[2].n_engines_wanted = LIMIT_ENGINES + 1;
    bad[3].sums.n_met = 1; /* of no answer */
    bad[4].sums.ttft_s.sum = -1;
    bad[5].sums.latency_s.squares = 1e300 * 1e300;
    bad[6].sums.n_failed = INT64_MAX;
    for (int i = 0; i < 7; i++)
        assert_false(cluster_message_is_valid(&bad[i], sizeof m, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_own_manager),
        cmocka_unit_test(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
