/* Managers of two nodes over their sessions: one is obeyed, a deposed one is not, and models move
 * as operators say. Real nodes with engines that pretend. */
#include "cluster/lead.h"

#include "fake_engine.h"
#include "test.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "cluster/link.h"
#include "cluster/manager.h"
#include "cluster/manager_plan.h"
#include "cluster/message.h"

enum { N_NODES = 2, N_SERVICES = 2, N_MANAGERS = 2 };
enum {
    PORT_GATEWAY,
    PORT_OWN_MANAGER,
    PORT_MANAGER,
    PORT_NODE = PORT_MANAGER + N_MANAGERS,
    PORTS = PORT_NODE + N_NODES
};

struct world {
    struct cluster_local_bus *bus;
    struct service_spec services[N_SERVICES];
    struct node {
        struct cluster_node *node;
        struct fake_engine engine;
        struct store_fence fence;
    } nodes[N_NODES];
    struct manager {
        struct cluster_lead *lead;
        struct cluster_manager *manager;
        bool may_act;
    } managers[N_MANAGERS];
    int64_t now_ns;
};

static bool may_act(void *self)
{
    return ((struct manager *)self)->may_act;
}

static bool always_fits(const struct engine_report *report, const struct request *request)
{
    (void)report, (void)request;
    return true;
}

static void open_node(struct world *w, int i)
{
    struct node *n = &w->nodes[i];
    fake_engine_init(&n->engine, 0, N_SERVICES, (uint64_t)i);
    assert_int_equal(store_fence_open(&n->fence, NULL, NULL), STATUS_OK);
    const struct cluster_engine face = fake_engine_face(&n->engine);
    const struct cluster_node_options options = {
        .port = cluster_local_bus_port(w->bus, (uint16_t)(PORT_NODE + i)),
        .manager = PORT_OWN_MANAGER,
        .fence = &n->fence,
        .n_engines = 1,
        .n_services = N_SERVICES,
        .services = w->services,
        .n_requests_max = 16,
        .engines = &face,
        .report_ns = 100 * TIME_NS_PER_MS,
        .fits = always_fits,
    };
    n->node = cluster_node_open(&options);
}

static struct world *open_world(void)
{
    struct world *w = mem_take(sizeof *w);
    w->now_ns = TIME_NS_PER_S;
    for (int s = 0; s < N_SERVICES; s++)
        snprintf(w->services[s].name, LIMIT_NAME_BYTES, "model-%d", s);
    w->bus = cluster_local_bus_open(PORTS, 1 << 20);
    for (int i = 0; i < N_NODES; i++)
        open_node(w, i);
    return w;
}

static void open_manager(struct world *w, int i, uint64_t epoch, uint64_t life)
{
    static const int64_t need[N_SERVICES] = { 400, 400 };
    struct manager *m = &w->managers[i];
    const struct cluster_node_at nodes[N_NODES] = { { PORT_NODE, 1 }, { PORT_NODE + 1, 1 } };
    const struct cluster_lead_options lead = {
        .port = cluster_local_bus_port(w->bus, (uint16_t)(PORT_MANAGER + i)),
        .nodes = nodes,
        .n_nodes = N_NODES,
        .stamp = { { 1, life }, { 2, (uint64_t)i + 1 }, epoch },
        .seed = (uint64_t)i + 7,
        .may_act = may_act,
        .self = m,
    };
    m->may_act = true;
    m->lead = cluster_lead_open(&lead);
    const struct cluster_manager_options options = { .port = cluster_lead_port(m->lead),
                                                     .gateway = CLUSTER_LEAD_NO_GATEWAY,
                                                     .nodes = nodes,
                                                     .n_nodes = N_NODES,
                                                     .n_services = N_SERVICES,
                                                     .services = w->services,
                                                     .need_bytes = need };
    m->manager = cluster_manager_open(&options);
}

static void close_manager(struct world *w, int i)
{
    cluster_manager_close(w->managers[i].manager);
    cluster_lead_close(w->managers[i].lead);
    w->managers[i] = (struct manager){ 0 };
}

static void close_world(struct world *w)
{
    for (int i = 0; i < N_MANAGERS; i++)
        if (w->managers[i].lead != NULL)
            close_manager(w, i);
    for (int i = 0; i < N_NODES; i++)
        cluster_node_close(w->nodes[i].node);
    cluster_local_bus_close(w->bus);
    mem_give(w);
}

static void run(struct world *w, int64_t ns)
{
    const struct bus_port own = cluster_local_bus_port(w->bus, PORT_OWN_MANAGER);
    const void *message;
    size_t n_bytes;
    for (int64_t end_ns = w->now_ns + ns; w->now_ns < end_ns; w->now_ns += 10 * TIME_NS_PER_MS) {
        for (int i = 0; i < N_MANAGERS; i++) {
            struct manager *m = &w->managers[i];
            if (m->lead == NULL)
                continue;
            (void)cluster_lead_step(m->lead, w->now_ns);
            (void)cluster_manager_step(m->manager, w->now_ns);
            for (int lost; (lost = cluster_lead_next_lost(m->lead)) >= 0;)
                cluster_manager_plan_lose(m->manager, lost, false);
        }
        for (int i = 0; i < N_NODES; i++)
            (void)cluster_node_step(w->nodes[i].node, w->now_ns);
        while (own.peek(own.self, PORT_OWN_MANAGER, &message, &n_bytes))
            own.pop(own.self, PORT_OWN_MANAGER);
    }
}

static bool has(const struct world *w, int node, int service)
{
    return w->nodes[node].engine.status[service] == SERVICE_LOADED;
}

static int n_copies(const struct world *w, int service)
{
    return has(w, 0, service) + has(w, 1, service);
}

static void test_one_copy_and_more(void **state)
{
    struct world *w = open_world();
    (void)state;
    open_manager(w, 0, 1, 1);
    run(w, TIME_NS_PER_S);
    assert_true(cluster_lead_has_session(w->managers[0].lead, 0));
    assert_int_equal(n_copies(w, 0), 0);
    cluster_manager_plan_model(w->managers[0].manager, 0, 1);
    run(w, 2 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 1);
    cluster_manager_plan_model(w->managers[0].manager, 0, 2);
    run(w, 2 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 2);
    cluster_manager_plan_model(w->managers[0].manager, 0, -1);
    run(w, 2 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 0);
    close_world(w);
}

/* One node does not have a model yet: the other one gets it, and the first one later, too. When the
 * node drops a model that the manager just orders out, the manager learns that it is gone. */
static void test_a_node_lacks_a_model(void **state)
{
    struct world *w = open_world();
    (void)state;
    cluster_node_remove_service(w->nodes[0].node, 1);
    open_manager(w, 0, 1, 1);
    struct cluster_manager *manager = w->managers[0].manager;
    run(w, TIME_NS_PER_S);
    cluster_manager_plan_model(manager, 1, 2);
    run(w, 4 * TIME_NS_PER_S);
    assert_true(!has(w, 0, 1) && has(w, 1, 1));
    cluster_node_add_service(w->nodes[0].node, 1, &w->services[1]);
    run(w, 2 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 1), 2);
    cluster_manager_dismiss_service(manager, 1);
    cluster_node_remove_service(w->nodes[0].node, 1);
    run(w, 2 * TIME_NS_PER_S);
    assert_true(cluster_manager_remove_service(manager, 1));
    close_world(w);
}

/* A gateway's WANT goes through its nodes, and brings one copy, although both pass it on. */
static void test_a_wish_comes_through_nodes(void **state)
{
    struct world *w = open_world();
    const struct bus_port gateway = cluster_local_bus_port(w->bus, PORT_GATEWAY);
    (void)state;
    open_manager(w, 0, 1, 1);
    run(w, TIME_NS_PER_S);
    for (int i = 0; i < N_NODES; i++) {
        struct cluster_link link = { .port = gateway, .peer = (uint16_t)(PORT_NODE + i) };
        struct message_head open = cluster_message_head(MESSAGE_OPEN, PORT_GATEWAY, sizeof open);
        struct message_head want = cluster_message_head(MESSAGE_WANT, PORT_GATEWAY, sizeof want);
        want.service = cluster_roster_name(&w->services[1]);
        cluster_link_begin(&link, 5 + (uint64_t)i, w->now_ns);
        assert_true(cluster_link_send(&link, &open, sizeof open, NULL, 0));
        assert_true(cluster_link_send(&link, &want, sizeof want, NULL, 0));
    }
    run(w, 900 * TIME_NS_PER_MS);
    assert_int_equal(n_copies(w, 1), 1);
    close_world(w);
}

static void test_a_deposed_manager_is_not_obeyed(void **state)
{
    struct world *w = open_world();
    struct store_stamp kept;
    (void)state;
    open_manager(w, 0, 1, 1);
    run(w, TIME_NS_PER_S);
    open_manager(w, 1, 2, 1);
    run(w, TIME_NS_PER_S);
    assert_true(cluster_lead_has_session(w->managers[1].lead, 0));
    cluster_manager_plan_model(w->managers[0].manager, 0, 2);
    run(w, 3 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 0);
    assert_true(cluster_lead_next_refusal(w->managers[0].lead, &kept));
    assert_int_equal(kept.epoch, 2);
    assert_int_equal(w->nodes[0].fence.kept.epoch, 2);
    cluster_manager_plan_model(w->managers[1].manager, 1, 2);
    run(w, 3 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 1), 2);
    /* The same epoch of another manager is refused, too. */
    close_manager(w, 0);
    open_manager(w, 0, 2, 1);
    cluster_manager_plan_model(w->managers[0].manager, 0, 2);
    run(w, 3 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 0);
    close_world(w);
}

static void test_another_life(void **state)
{
    struct world *w = open_world();
    (void)state;
    open_manager(w, 0, 9, 1);
    run(w, TIME_NS_PER_S);
    close_manager(w, 0);
    open_manager(w, 1, 20, 2); /* of an emptied store */
    cluster_manager_plan_model(w->managers[1].manager, 0, 2);
    run(w, 3 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 0);
    assert_int_equal(store_fence_adopt(&w->nodes[0].fence, (struct store_id){ 1, 2 }, NULL),
                     STATUS_OK);
    run(w, 4 * TIME_NS_PER_S);
    assert_true(has(w, 0, 0) && !has(w, 1, 0));
    close_world(w);
}

static void test_no_order_without_a_right(void **state)
{
    struct world *w = open_world();
    (void)state;
    open_manager(w, 0, 1, 1);
    run(w, TIME_NS_PER_S);
    w->managers[0].may_act = false;
    cluster_manager_plan_model(w->managers[0].manager, 0, 2);
    run(w, TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 0);
    w->managers[0].may_act = true;
    cluster_manager_plan_freeze(w->managers[0].manager, true);
    run(w, TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 0);
    cluster_manager_plan_freeze(w->managers[0].manager, false);
    run(w, TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 2);
    close_world(w);
}

/* A node that restarts before it counts as gone gets again what is loaded at start. */
static void test_a_node_restarts(void **state)
{
    struct world *w = open_world();
    (void)state;
    w->services[0].is_loaded_at_start = true;
    w->services[0].keep_alive_ns = -1;
    open_manager(w, 0, 1, 1);
    run(w, 2 * TIME_NS_PER_S);
    assert_int_equal(n_copies(w, 0), 2);
    for (int i = 0; i < N_NODES; i++) {
        cluster_node_close(w->nodes[i].node);
        open_node(w, i);
        const struct bus_port port = cluster_local_bus_port(w->bus, (uint16_t)(PORT_NODE + i));
        const struct message_head cut =
            cluster_message_head(MESSAGE_CLOSED, port.address, sizeof cut);
        assert_true(port.send(port.self, PORT_MANAGER, &cut, sizeof cut, NULL, 0));
        assert_int_equal(n_copies(w, 0), 1);
        run(w, 10 * TIME_NS_PER_S);
        assert_int_equal(n_copies(w, 0), 2);
    }
    close_world(w);
}

static const char *name_of(const void *self, int node)
{
    (void)self;
    return node == 0 ? "a:1" : "b:2";
}

static void test_cordon_and_drain(void **state)
{
    struct world *w = open_world();
    struct str places;
    (void)state;
    open_manager(w, 0, 1, 1);
    struct cluster_manager *manager = w->managers[0].manager;
    cluster_manager_plan_node(manager, 0, 0);
    cluster_manager_plan_model(manager, 0, 1);
    run(w, 2 * TIME_NS_PER_S);
    assert_true(!has(w, 0, 0) && has(w, 1, 0));
    cluster_manager_plan_node(manager, 0, 1);
    cluster_manager_plan_node(manager, 1, 0);
    cluster_manager_plan_drain(manager, 1, true);
    for (int i = 0; i < 200; i++) { /* a copy is there at any time */
        run(w, 10 * TIME_NS_PER_MS);
        assert_true(n_copies(w, 0) >= 1);
    }
    assert_true(has(w, 0, 0) && !has(w, 1, 0));
    str_init(&places);
    cluster_manager_plan_print(manager, name_of, NULL, &places);
    assert_string_equal(places.at, "a:1 0 model-0\n");
    str_free(&places);
    assert_true(cluster_manager_plan_knows(manager, 1, 1));
    cluster_manager_plan_lose(manager, 1, true);
    assert_false(cluster_manager_plan_knows(manager, 1, 1));
    close_world(w);
}

/* A candidate's question opens no session and tells the epoch that was obeyed. */
static void test_a_candidate_asks(void **state)
{
    struct world *w = open_world();
    const struct bus_port port = cluster_local_bus_port(w->bus, PORT_MANAGER + 1);
    struct store_stamp kept = { 0 };
    const void *message;
    size_t n_bytes;
    (void)state;
    open_manager(w, 0, 6, 1);
    run(w, TIME_NS_PER_S);
    cluster_lead_ask(&port, PORT_NODE);
    run(w, 100 * TIME_NS_PER_MS);
    assert_true(port.peek(port.self, port.address, &message, &n_bytes));
    assert_true(cluster_lead_read_answer(message, n_bytes, &kept));
    assert_int_equal(kept.epoch, 6);
    assert_false(cluster_lead_read_answer(message, n_bytes - 1, &kept));
    port.pop(port.self, port.address);
    assert_true(cluster_lead_has_session(w->managers[0].lead, 0));
    close_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_copy_and_more),
        cmocka_unit_test(test_a_node_lacks_a_model),
        cmocka_unit_test(test_a_wish_comes_through_nodes),
        cmocka_unit_test(test_a_deposed_manager_is_not_obeyed),
        cmocka_unit_test(test_another_life),
        cmocka_unit_test(test_no_order_without_a_right),
        cmocka_unit_test(test_a_node_restarts),
        cmocka_unit_test(test_cordon_and_drain),
        cmocka_unit_test(test_a_candidate_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
