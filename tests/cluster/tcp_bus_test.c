/* The bus over TCP: the answers are the same, whatever is cut, gone, slow or hostile. */
#include "tcp_world.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/link.h"
#include "cluster/message.h"
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

static struct tcp_world *open_world(void)
{
    struct tcp_world *w = mem_take(sizeof *w);
    tcp_world_open_nodes(w);
    tcp_world_open_gateway(w, NULL, NULL);
    assert_true(tcp_world_wait_up(w, TCP_NODES, 5000));
    return w;
}

static void test_requests_are_answered(void **state)
{
    (void)state;
    struct tcp_world *w = open_world();
    for (int i = 0; i < 60; i++)
        tcp_world_ask(w, i, 20);
    tcp_world_finish(w, 60);
    for (int n = 0; n < TCP_NODES; n++)
        assert_true(w->engines[n].n_arrived[0] > 0);
    tcp_world_close(w);
}

/* The connection to one node breaks again and again, from either end, while answers come over it.
 * The requests under way go on, elsewhere or there. */
static void test_a_cut_loses_nothing(void **state)
{
    (void)state;
    struct tcp_world *w = open_world();
    for (int i = 0; i < 40; i++)
        tcp_world_ask(w, i, 200);
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 4; i++)
            tcp_world_step(w);
        if (round % 3 == 0)
            cluster_tcp_bus_cut(w->node_buses[0], TCP_ACCEPTED_ADDRESS);
        else
            cluster_tcp_bus_cut(w->gateway_bus, (uint16_t)(TCP_NODE_ADDRESS + round % 2));
        assert_true(tcp_world_wait_up(w, TCP_NODES, 5000));
    }
    tcp_world_finish(w, 40);
    assert_true(w->engines[0].n_arrived[0] + w->engines[1].n_arrived[0] > 40); /* again */
    tcp_world_close(w);
}

static void test_a_dead_nodes_requests_go_on(void **state)
{
    (void)state;
    struct tcp_world *w = open_world();
    for (int i = 0; i < 20; i++)
        tcp_world_ask(w, i, 100);
    for (int i = 0; i < 10; i++)
        tcp_world_step(w);
    int64_t n_before = w->engines[1].n_arrived[0];
    assert_true(w->engines[0].n_arrived[0] > 0);
    tcp_world_close_node(w, 0);
    tcp_world_finish(w, 20);
    assert_true(w->engines[1].n_arrived[0] > n_before);
    assert_int_equal(cluster_tcp_bus_n_up(w->gateway_bus), 1);
    tcp_world_close(w);
}

/* ---- The descriptor. ---- */

static bool is_readable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    return poll(&one, 1, 0) == 1;
}

static void test_a_port_says_when_it_has_mail(void **state)
{
    (void)state;
    struct tcp_world *w = open_world();
    const struct bus_port gateway = cluster_tcp_bus_port(w->gateway_bus);
    const struct bus_port node = cluster_tcp_bus_port(w->node_buses[0]);
    const void *message;
    size_t n_bytes;
    struct message_head head = cluster_message_head(MESSAGE_BEAT, 77, sizeof head);
    for (int i = 0; i < 50; i++) {
        while (node.peek(node.self, 0, &message, &n_bytes))
            node.pop(node.self, 0);
        assert_false(is_readable(node.wait_fd(node.self, 0)));
        assert_true(gateway.send(gateway.self, TCP_NODE_ADDRESS, &head, sizeof head, NULL, 0));
        for (int k = 0; k < 1000 && !is_readable(node.wait_fd(node.self, 0)); k++)
            (void)event_base_loop(w->base, EVLOOP_ONCE);
        assert_true(is_readable(node.wait_fd(node.self, 0)));
        while (node.peek(node.self, 0, &message, &n_bytes) && n_bytes != sizeof head)
            node.pop(node.self, 0);
        assert_int_equal(((const struct message_head *)message)->from, TCP_ACCEPTED_ADDRESS);
    }
    tcp_world_close(w);
}

static void test_the_local_bus_says_when_it_has_mail(void **state)
{
    struct cluster_local_bus *bus = cluster_local_bus_open(2, 1 << 12);
    const struct bus_port port = cluster_local_bus_port(bus, 1);
    const void *message;
    size_t n_bytes;
    (void)state;
    assert_true(port.send(port.self, 1, "first", 5, NULL, 0)); /* before it was asked for */
    for (int i = 0; i < 3; i++) {
        assert_true(is_readable(port.wait_fd(port.self, 1)));
        assert_false(is_readable(port.wait_fd(port.self, 0)));
        assert_true(port.send(port.self, 1, "another", 7, NULL, 0));
        assert_true(port.peek(port.self, 1, &message, &n_bytes));
        port.pop(port.self, 1);
        assert_true(is_readable(port.wait_fd(port.self, 1)));
        port.pop(port.self, 1);
        assert_false(is_readable(port.wait_fd(port.self, 1)));
        assert_true(port.send(port.self, 1, "first", 5, NULL, 0));
    }
    cluster_local_bus_close(bus);
}

/* ---- Hostile peers. ---- */

static void say(int fd, const void *bytes, size_t n)
{
    assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static size_t hello(unsigned char *out, uint32_t version)
{
    memcpy(out, "shoalbus", 8);
    memcpy(out + 8, &version, 4);
    memset(out + 12, 0, 4);
    return 16;
}

static bool is_closed(struct tcp_world *w, int fd, int64_t ms)
{
    char bytes[4096];
    int64_t until_ns = time_now_ns() + ms * TIME_NS_PER_MS;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    while (time_now_ns() < until_ns) {
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return true;
        tcp_world_step(w);
    }
    return false;
}

/* Bytes that are no frame end the connection, without effect on the node or its gateway. */
static void test_garbage_ends_its_own_connection(void **state)
{
    (void)state;
    static const uint32_t lengths[] = { 0, 1, 47, 5 << 20, UINT32_MAX, 48 };
    struct tcp_world *w = open_world();
    unsigned char bytes[256];
    for (int i = 0; i < 10; i++)
        tcp_world_ask(w, i, 200);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        int fd = tcp_world_connect(w, 0);
        size_t n = hello(bytes, MESSAGE_VERSION);
        memset(bytes + n, 0, 64);
        memcpy(bytes + n, &lengths[i], 4);
        if (lengths[i] == 48)
            bytes[n + 5] = 1; /* its zero is none */
        else if (lengths[i] == 5 << 20)
            memset(bytes + n, 0xff, 4);
        say(fd, bytes, n + 64);
        assert_true(is_closed(w, fd, 3000));
        close(fd);
    }
    int fd = tcp_world_connect(w, 0);
    say(fd, "GET / HTTP/1.1\r\n\r\n", 18);
    assert_true(is_closed(w, fd, 3000));
    close(fd);
    fd = tcp_world_connect(w, 0);
    say(fd, bytes, hello(bytes, MESSAGE_VERSION + 1));
    assert_true(is_closed(w, fd, 3000));
    close(fd);
    assert_int_equal(cluster_tcp_bus_n_up(w->gateway_bus), TCP_NODES);
    tcp_world_finish(w, 10);
    tcp_world_close(w);
}

/* Connections that send nothing, a half hello, or half a frame, and more of them than there are
 * places. The gateway keeps its own, and a new one finds a place. */
static void test_strangers_make_room(void **state)
{
    (void)state;
    enum { N = 60 };
    struct tcp_world *w = open_world();
    int fds[N];
    unsigned char bytes[64];
    for (int i = 0; i < 10; i++)
        tcp_world_ask(w, i, 200);
    for (int i = 0; i < N; i++) {
        fds[i] = tcp_world_connect(w, i % 2);
        size_t n = hello(bytes, MESSAGE_VERSION);
        if (i % 3 > 0)
            say(fds[i], bytes, i % 3 == 1 ? 7 : n - 1);
        tcp_world_step(w);
    }
    cluster_tcp_bus_cut(w->gateway_bus, TCP_NODE_ADDRESS);
    assert_true(tcp_world_wait_up(w, TCP_NODES, 5000));
    assert_true(is_closed(w, fds[0], 3000));
    tcp_world_finish(w, 10);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    tcp_world_close(w);
}

/* A gateway opens a session and reads nothing. Its connection is cut when the bytes that wait for
 * it reach the limit, and the other gateway's requests do not stop meanwhile. */
static void test_a_slow_peer_is_cut(void **state)
{
    (void)state;
    struct tcp_world *w = mem_take(sizeof *w);
    unsigned char bytes[16];
    struct {
        uint32_t n_bytes, zero;
        struct message_head open;
    } frame = { sizeof(struct message_head), 0,
                cluster_message_head(MESSAGE_OPEN, 0, sizeof(struct message_head)) };
    w->node_options.out_bytes_max = 1 << 16;
    tcp_world_open_nodes(w);
    tcp_world_open_gateway(w, NULL, NULL);
    assert_true(tcp_world_wait_up(w, TCP_NODES, 5000));
    int fd = tcp_world_connect(w, 0), small = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say(fd, bytes, hello(bytes, MESSAGE_VERSION));
    frame.open.session = 99;
    say(fd, &frame, sizeof frame);
    const struct bus_port node = cluster_tcp_bus_port(w->node_buses[0]);
    struct message_head beat = cluster_message_head(MESSAGE_BEAT, 0, sizeof beat);
    int64_t until_ns = time_now_ns() + 20 * TIME_NS_PER_S;
    static const char filler[8192];
    for (int i = 0; i < 10; i++)
        tcp_world_ask(w, i, 100);
    while (cluster_tcp_bus_n_up(w->node_buses[0]) != 2)
        tcp_world_step(w);
    while (cluster_tcp_bus_n_up(w->node_buses[0]) == 2) {
        assert_true(time_now_ns() < until_ns);
        beat.n_bytes = sizeof beat + sizeof filler;
        for (int i = 0; i < 20; i++) /* it never reports that it is full, since others would wait */
            assert_true(node.send(node.self, TCP_ACCEPTED_ADDRESS + 1, &beat, sizeof beat, filler,
                                  sizeof filler));
        tcp_world_step(w);
    }
    tcp_world_finish(w, 10);
    assert_int_equal(cluster_tcp_bus_n_up(w->gateway_bus), TCP_NODES);
    close(fd);
    tcp_world_close(w);
}

/* A gateway is told that the connection is full, and the bytes that wait have a limit. */
static void test_a_full_connection_says_so(void **state)
{
    (void)state;
    struct tcp_world *w = open_world();
    const struct bus_port port = cluster_tcp_bus_port(w->gateway_bus);
    struct message_head beat = cluster_message_head(MESSAGE_BEAT, 0, sizeof beat);
    static const char filler[1 << 20];
    int n = 0;
    while (n < 100 &&
           port.send(port.self, TCP_NODE_ADDRESS, &beat, sizeof beat, filler, sizeof filler))
        n++;
    assert_in_range(n, 14, 16); /* of 1 MiB, in 16 MiB */
    assert_int_equal(cluster_tcp_bus_n_up(w->gateway_bus), TCP_NODES);
    tcp_world_close(w);
}

static void test_plain_connections_stay_on_the_machine(void **state)
{
    struct event_base *base = event_base_new();
    struct fault fault = { "" };
    const struct cluster_tcp_peer peer = { "192.0.2.1", 7412, 1, NULL };
    struct cluster_tcp_bus_options o = { .base = base, .listen_host = "0.0.0.0" };
    (void)state;
    assert_null(cluster_tcp_bus_open(&o, &fault));
    assert_non_null(strstr(fault.text, "without TLS: set cert, key and ca"));
    o = (struct cluster_tcp_bus_options){ .base = base, .peers = &peer, .n_peers = 1 };
    fault.text[0] = '\0';
    assert_null(cluster_tcp_bus_open(&o, &fault));
    assert_non_null(strstr(fault.text, "192.0.2.1"));
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_are_answered),
        cmocka_unit_test(test_a_cut_loses_nothing),
        cmocka_unit_test(test_a_dead_nodes_requests_go_on),
        cmocka_unit_test(test_a_port_says_when_it_has_mail),
        cmocka_unit_test(test_the_local_bus_says_when_it_has_mail),
        cmocka_unit_test(test_garbage_ends_its_own_connection),
        cmocka_unit_test(test_strangers_make_room),
        cmocka_unit_test(test_a_slow_peer_is_cut),
        cmocka_unit_test(test_a_full_connection_says_so),
        cmocka_unit_test(test_plain_connections_stay_on_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
