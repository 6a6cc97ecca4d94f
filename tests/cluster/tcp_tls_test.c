/* Mutual TLS on the bus. Both ends have a certificate of the cluster's authority with the name that
 * the other expects, or no message passes. */
#include "tcp_world.h"

#include "base/mem.h"
#include "base/time.h"
#include <event2/event.h>

enum { REFUSED_MS = 600 };

static struct certificates certificates;
static const char *const gateways[] = { "none.test", "gateway.test" };

static struct cluster_tcp_tls tls_of(enum certificate of)
{
    return (struct cluster_tcp_tls){ .cert = certificates.of[of].cert,
                                     .key = certificates.of[of].key,
                                     .ca = certificates.ca,
                                     .names = gateways,
                                     .n_names = COUNT_OF(gateways) };
}

static struct tcp_world *open_world(enum certificate node, enum certificate gateway,
                                    const char *name)
{
    struct tcp_world *w = mem_take(sizeof *w);
    const struct cluster_tcp_tls of_node = tls_of(node), of_gateway = tls_of(gateway);
    w->node_options.tls = &of_node;
    tcp_world_open_nodes(w);
    tcp_world_open_gateway(w, &of_gateway, name);
    w->node_options.tls = NULL;
    return w;
}

static void test_known_ends_talk(void **state)
{
    (void)state;
    struct tcp_world *w = open_world(CERTIFICATE_NODE, CERTIFICATE_GATEWAY, "node.test");
    assert_true(tcp_world_wait_up(w, TCP_NODES, 5000));
    for (int i = 0; i < 20; i++)
        tcp_world_ask(w, i, 150);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 5; i++)
            tcp_world_step(w);
        cluster_tcp_bus_cut(w->gateway_bus, TCP_NODE_ADDRESS);
        assert_true(tcp_world_wait_up(w, TCP_NODES, 5000));
    }
    tcp_world_finish(w, 20);
    tcp_world_close(w);
}

/* Neither end sends anything to the other, and no connection is ever up. */
static void test_unknown_ends_do_not(void **state)
{
    static const struct {
        enum certificate node, gateway;
        const char *name;
    } rows[] = {
        { CERTIFICATE_NODE, CERTIFICATE_OTHER, "node.test" },       /* not one of the gateways */
        { CERTIFICATE_NODE, CERTIFICATE_STRANGER, "node.test" },    /* a stranger has the name */
        { CERTIFICATE_OTHER, CERTIFICATE_GATEWAY, "node.test" },    /* another node answers */
        { CERTIFICATE_STRANGER, CERTIFICATE_GATEWAY, "node.test" }, /* a stranger answers */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct tcp_world *w = open_world(rows[i].node, rows[i].gateway, rows[i].name);
        int64_t until_ns = time_now_ns() + REFUSED_MS * TIME_NS_PER_MS;
        while (time_now_ns() < until_ns) {
            tcp_world_step(w);
            for (int n = 0; n < TCP_NODES; n++)
                assert_int_equal(cluster_tcp_bus_n_up(w->node_buses[n]), 0);
            assert_int_equal(cluster_tcp_bus_n_up(w->gateway_bus), 0);
        }
        tcp_world_close(w);
    }
}

/* A plain connection to a node that has certificates, and one the other way round. */
static void test_plain_meets_tls(void **state)
{
    (void)state;
    for (int plain_node = 0; plain_node < 2; plain_node++) {
        struct tcp_world *w = mem_take(sizeof *w);
        const struct cluster_tcp_tls node = tls_of(CERTIFICATE_NODE),
                                     gateway = tls_of(CERTIFICATE_GATEWAY);
        w->node_options.tls = plain_node ? NULL : &node;
        tcp_world_open_nodes(w);
        tcp_world_open_gateway(w, plain_node ? &gateway : NULL, "node.test");
        assert_false(tcp_world_wait_up(w, TCP_NODES, REFUSED_MS));
        for (int n = 0; n < TCP_NODES; n++)
            assert_int_equal(cluster_tcp_bus_n_up(w->node_buses[n]), 0);
        assert_int_equal(cluster_tcp_bus_n_up(w->gateway_bus), 0);
        tcp_world_close(w);
    }
}

static void test_files_are_checked(void **state)
{
    struct event_base *base = event_base_new();
    struct cluster_tcp_tls good = tls_of(CERTIFICATE_NODE);
    const struct {
        struct cluster_tcp_tls tls;
        const char *part;
    } rows[] = {
        { { .cert = good.cert, .key = good.key }, "all of cert, key and ca" },
        { { .cert = "/nowhere", .key = good.key, .ca = good.ca }, "cert: /nowhere" },
        { { .cert = good.cert, .key = certificates.of[CERTIFICATE_OTHER].key, .ca = good.ca },
          "belongs to" },
        { { .cert = good.cert, .key = good.key, .ca = good.key }, "ca: " },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { "" };
        struct cluster_tcp_bus_options o = { .base = base,
                                             .listen_host = "127.0.0.1",
                                             .tls = &rows[i].tls };
        assert_null(cluster_tcp_bus_open(&o, &fault));
        assert_non_null(strstr(fault.text, rows[i].part));
    }
    event_base_free(base);
}

static int make_certificates(void **state)
{
    (void)state;
    certificates_make(&certificates);
    return 0;
}

static int remove_certificates(void **state)
{
    (void)state;
    certificates_remove(&certificates);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_ends_talk),
        cmocka_unit_test(test_unknown_ends_do_not),
        cmocka_unit_test(test_plain_meets_tls),
        cmocka_unit_test(test_files_are_checked),
    };
    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
