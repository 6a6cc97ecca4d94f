/* Actors over TCP, and clients that check each token. */
#include "tcp_world.h"

#include "base/mem.h"
#include "base/time.h"
#include "route/policy.h"
#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <sys/socket.h>

static void open_node(struct tcp_world *w, int n)
{
    struct fault fault = { "" };
    fake_engine_init(&w->engines[n], 0, 1, (uint64_t)n + 1);
    w->engines[n].status[0] = SERVICE_LOADED;
    w->engines[n].p_return = 0;
    const struct cluster_engine face = fake_engine_face(&w->engines[n]);
    w->node_buses[n] = cluster_tcp_bus_open(
        &(struct cluster_tcp_bus_options){ .base = w->base,
                                           .address = TCP_NODE_ADDRESS,
                                           .listen_host = "127.0.0.1",
                                           .n_accepted_max = w->node_options.n_accepted_max,
                                           .first_accepted = TCP_ACCEPTED_ADDRESS,
                                           .tls = w->node_options.tls,
                                           .out_bytes_max = w->node_options.out_bytes_max,
                                           .cuts_slow = true },
        &fault);
    assert_string_equal(fault.text, "");
    w->nodes[n] = cluster_node_open(
        &(struct cluster_node_options){ .port = cluster_tcp_bus_port(w->node_buses[n]),
                                        .manager = TCP_NO_MANAGER,
                                        .n_requests_max = TCP_REQUESTS,
                                        .n_engines = 1,
                                        .n_services = 1,
                                        .services = &w->service,
                                        .engines = &face,
                                        .report_ns = 20 * TIME_NS_PER_MS,
                                        .fits = route_find("least")->fits });
}

void tcp_world_open_nodes(struct tcp_world *w)
{
    w->base = event_base_new();
    assert_non_null(w->base);
    snprintf(w->service.name, sizeof w->service.name, "model");
    w->service.keep_alive_ns = -1;
    w->service.hold_ns_max = 600 * TIME_NS_PER_S;
    if (w->node_options.n_accepted_max == 0)
        w->node_options.n_accepted_max = 8;
    for (int n = 0; n < TCP_NODES; n++)
        open_node(w, n);
}

void tcp_world_open_gateway(struct tcp_world *w, const struct cluster_tcp_tls *tls,
                            const char *name)
{
    struct fault fault = { "" };
    struct route_config config;
    struct cluster_tcp_peer peers[TCP_NODES];
    struct cluster_node_at places[TCP_NODES];
    route_config_init(&config);
    for (int n = 0; n < TCP_NODES; n++) {
        int port = cluster_tcp_bus_listen_port(w->node_buses[n]);
        uint16_t address = (uint16_t)(TCP_NODE_ADDRESS + n);
        peers[n] = (struct cluster_tcp_peer){ "127.0.0.1", (uint16_t)port, address, name };
        places[n] = (struct cluster_node_at){ address, 1 };
    }
    w->gateway_bus = cluster_tcp_bus_open(
        &(struct cluster_tcp_bus_options){
            .base = w->base, .address = 0, .peers = peers, .n_peers = TCP_NODES, .tls = tls },
        &fault);
    assert_string_equal(fault.text, "");
    w->gateway = cluster_gateway_open(
        &(struct cluster_gateway_options){ .port = cluster_tcp_bus_port(w->gateway_bus),
                                           .nodes = places,
                                           .n_nodes = TCP_NODES,
                                           .manager = TCP_NO_MANAGER,
                                           .seed = 7,
                                           .n_services = 1,
                                           .services = &w->service,
                                           .n_requests_max = TCP_REQUESTS,
                                           .router = route_find("least"),
                                           .router_config = &config });
}

void tcp_world_close_node(struct tcp_world *w, int n)
{
    if (w->node_buses[n] == NULL)
        return;
    cluster_node_close(w->nodes[n]);
    cluster_tcp_bus_close(w->node_buses[n]);
    w->node_buses[n] = NULL;
}

void tcp_world_close(struct tcp_world *w)
{
    for (int n = 0; n < TCP_NODES; n++)
        tcp_world_close_node(w, n);
    if (w->gateway != NULL) {
        cluster_gateway_close(w->gateway);
        cluster_tcp_bus_close(w->gateway_bus);
    }
    (void)event_base_loop(w->base, EVLOOP_NONBLOCK); /* what was freed late */
    event_base_free(w->base);
    mem_give(w);
}

void tcp_world_ask(struct tcp_world *w, int i, int32_t n_generate)
{
    unsigned char bytes[sizeof(struct request_body) + 4 * TCP_PROMPT] = { 0 };
    struct request_body *body = (void *)bytes;
    struct service door = cluster_gateway_service(w->gateway);
    *body = (struct request_body){
        .n_bytes = sizeof bytes,
        .n_tokens = TCP_PROMPT,
        .seed = (uint64_t)i,
        .sampling = { .repetition_penalty = 1.0F, .top_p = 1.0F, .n_top_logprobs = -1 }
    };
    const struct request request = { .id = (uint64_t)i + 1,
                                     .n_prompt = TCP_PROMPT,
                                     .n_tokens = TCP_PROMPT,
                                     .n_tokens_max = TCP_PROMPT + n_generate,
                                     .arrived_ns = time_now_ns(),
                                     .deadline_ns = TIME_NEVER };
    assert_true(door.submit(door.self, &request, body));
    w->n_tokens[i] = TCP_PROMPT;
}

static void hear(struct tcp_world *w)
{
    struct service door = cluster_gateway_service(w->gateway);
    struct service_event event;
    const void *payload;
    while (door.next(door.self, &event, &payload)) {
        int i = (int)event.id - 1;
        assert_in_range(i, 0, TCP_REQUESTS - 1);
        assert_false(w->is_over[i]);
        assert_int_equal(event.position, w->n_tokens[i]);
        if (event.what != SERVICE_TOKENS) {
            assert_int_equal(event.why, SERVICE_LENGTH);
            w->is_over[i] = true;
            w->n_over++;
            continue;
        }
        for (int32_t k = 0; k < event.n_tokens; k++) /* the same as over any bus */
            assert_int_equal(((const int32_t *)payload)[k],
                             fake_engine_token((uint64_t)i, event.position + k));
        w->n_tokens[i] += event.n_tokens;
    }
}

void tcp_world_step(struct tcp_world *w)
{
    int64_t until_ns = time_now_ns() + TIME_NS_PER_MS;
    do {
        (void)event_base_loop(w->base, EVLOOP_NONBLOCK);
        if (w->gateway != NULL) {
            hear(w);
            (void)cluster_gateway_step(w->gateway, time_now_ns());
        }
        (void)event_base_loop(w->base, EVLOOP_NONBLOCK);
    } while (time_now_ns() < until_ns);
    for (int n = 0; n < TCP_NODES; n++)
        if (w->node_buses[n] != NULL)
            (void)cluster_node_step(w->nodes[n], time_now_ns());
}

void tcp_world_finish(struct tcp_world *w, int n)
{
    int64_t until_ns = time_now_ns() + 30 * TIME_NS_PER_S;
    while (w->n_over < n) {
        assert_true(time_now_ns() < until_ns);
        tcp_world_step(w);
    }
    assert_int_equal(w->n_over, n);
    assert_true(cluster_gateway_is_sound(w->gateway));
}

bool tcp_world_wait_up(struct tcp_world *w, int n_up, int64_t ms)
{
    int64_t until_ns = time_now_ns() + ms * TIME_NS_PER_MS;
    while (cluster_tcp_bus_n_up(w->gateway_bus) != n_up) {
        if (time_now_ns() > until_ns)
            return false;
        tcp_world_step(w);
    }
    return true;
}

int tcp_world_connect(const struct tcp_world *w, int node)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons(
                                        (uint16_t)cluster_tcp_bus_listen_port(w->node_buses[node])),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}
