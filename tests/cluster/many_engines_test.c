/* 1,024 engines on 64 nodes, one gateway and one manager. Models come to each engine, and requests
 * use all of them. When some nodes fall silent, their requests go on elsewhere. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cluster/gateway.h"
#include "cluster/manager.h"
#include "cluster/message.h"
#include "cluster/node.h"
#include "route/policy.h"

enum {
    N_NODES = 64,
    N_EACH = 16,
    N_ENGINES = N_NODES * N_EACH,
    N_SERVICES = 3,
    N_PLACES = 8, /* requests of an engine */
    N_REQUESTS = 3 * N_ENGINES,
    N_PROMPT = 4,
    N_ANSWER = 12,
    PORT_GATEWAY = N_NODES,
    PORT_MANAGER,
    PORTS,
    BUS_BYTES = 1 << 22,
    STEPS_MAX = 2000,
};

/* An engine that emits one token for each of its requests at each step: the token is its position
 * and the request's number. */
struct engine {
    struct request requests[N_PLACES]; /* id 0: free */
    struct service_event events[4 * N_PLACES];
    int32_t tokens[4 * N_PLACES];
    int n_events, n_told;
    uint8_t status[N_SERVICES];
    struct service_change changes[2 * N_SERVICES];
    int n_changes, n_changes_told;
    int32_t n_served;
    int64_t now_ns;
    struct engine_report *report;
};
struct world {
    struct engine engines[N_ENGINES];
    struct service_spec services[N_SERVICES];
    struct cluster_local_bus *bus;
    struct cluster_node *nodes[N_NODES];
    bool is_silent[N_NODES];
    struct cluster_gateway *gateway;
    struct cluster_manager *manager;
    int64_t now_ns;
    int32_t n_tokens[N_REQUESTS];
    bool is_over[N_REQUESTS];
    int n_over;
    size_t message_bytes_max;
};

static int32_t token_at(uint64_t id, int32_t position)
{
    return (int32_t)(rng_at(id, 3, (uint64_t)position) % 1000);
}

static void say(struct engine *e, const struct service_event *event)
{
    if (e->n_told == e->n_events)
        e->n_told = e->n_events = 0;
    CHECK(e->n_events < 4 * N_PLACES);
    e->events[e->n_events] = *event;
    e->tokens[e->n_events++] = token_at(event->id, event->position);
}

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct engine *e = self;
    CHECK(e->status[request->service] == SERVICE_LOADED);
    for (int32_t i = request->n_prompt; i < request->n_tokens; i++)
        CHECK(request_body_tokens(body)[i] == token_at(request->id, i));
    for (int i = 0; i < N_PLACES; i++) {
        if (e->requests[i].id != 0)
            continue;
        e->requests[i] = *request;
        e->n_served++;
        return true;
    }
    return false;
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct engine *e = self;
    for (int i = 0; i < N_PLACES; i++) {
        struct request *r = &e->requests[i];
        if (r->id != id || r->epoch != epoch)
            continue;
        say(e, &(struct service_event){ .id = id,
                                        .epoch = epoch,
                                        .what = SERVICE_ENDED,
                                        .why = SERVICE_CANCELLED,
                                        .position = r->n_tokens });
        r->id = 0;
    }
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct engine *e = self;
    if (e->n_told == e->n_events)
        return false;
    *event = e->events[e->n_told];
    *payload = &e->tokens[e->n_told++];
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static void load(void *self, int service)
{
    struct engine *e = self;
    e->status[service] = SERVICE_LOADED;
    if (e->n_changes_told == e->n_changes)
        e->n_changes_told = e->n_changes = 0;
    CHECK(e->n_changes < 2 * N_SERVICES);
    e->changes[e->n_changes++] = (struct service_change){ .service = (uint16_t)service,
                                                          .status = SERVICE_LOADED,
                                                          .weights_bytes = 100 };
}

static void unload(void *self, int service, bool even_busy)
{
    (void)self, (void)service, (void)even_busy;
}

static void drain(void *self)
{
    (void)self;
}

static int64_t step_engine(void *self, int64_t now_ns)
{
    struct engine *e = self;
    e->now_ns = now_ns;
    for (int i = 0; i < N_PLACES; i++) {
        struct request *r = &e->requests[i];
        struct service_event event = { .id = r->id, .epoch = r->epoch, .position = r->n_tokens };
        if (r->id == 0 || e->n_events - e->n_told >= 2 * N_PLACES)
            continue;
        bool is_over = r->n_tokens == r->n_tokens_max;
        event.what = is_over ? SERVICE_ENDED : SERVICE_TOKENS;
        event.why = is_over ? SERVICE_LENGTH : SERVICE_WHY_NONE;
        event.n_tokens = !is_over;
        event.n_bytes = is_over ? 0 : (int32_t)sizeof(int32_t);
        say(e, &event);
        r->n_tokens++;
        if (is_over)
            r->id = 0;
    }
    return now_ns + TIME_NS_PER_MS;
}

static bool next_change(void *self, struct service_change *change)
{
    struct engine *e = self;
    if (e->n_changes_told == e->n_changes)
        return false;
    *change = e->changes[e->n_changes_told++];
    return true;
}

static const struct engine_report *report(void *self)
{
    struct engine *e = self;
    struct engine_report *r = e->report;
    memset(r, 0, engine_report_bytes(N_SERVICES));
    r->is_healthy = true;
    r->now_ns = e->now_ns;
    r->memory_bytes = 1000;
    r->n_requests_max = N_PLACES;
    r->n_services = N_SERVICES;
    r->listed = set_of_first(N_SERVICES);
    for (int s = 0; s < N_SERVICES; s++) {
        r->services[s].status = e->status[s];
        r->services[s].weights_bytes = e->status[s] == SERVICE_LOADED ? 100 : 0;
    }
    for (int i = 0; i < N_PLACES; i++) {
        r->services[e->requests[i].service].n_running += e->requests[i].id != 0;
        r->n_requests += e->requests[i].id != 0;
    }
    return r;
}

/* A port that notes how long messages are. */
static struct world *watched;
static bool send(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    const struct bus_port port = cluster_local_bus_port(self, 0);
    size_t n_bytes = n1 + n2;
    watched->message_bytes_max =
        n_bytes > watched->message_bytes_max ? n_bytes : watched->message_bytes_max;
    return port.send(port.self, to, part1, n1, part2, n2);
}

static struct bus_port port_of(struct world *w, uint16_t address)
{
    struct bus_port port = cluster_local_bus_port(w->bus, address);
    port.can_lose = true;
    port.send = send;
    return port;
}

static void open_node(struct world *w, int n, struct engine_report *scratch)
{
    struct cluster_engine faces[N_EACH];
    for (int i = 0; i < N_EACH; i++) {
        struct engine *e = &w->engines[n * N_EACH + i];
        e->report = scratch;
        faces[i] = (struct cluster_engine){ e,           { e, submit, cancel, next, wait_fd },
                                            load,        unload,
                                            drain,       step_engine,
                                            next_change, report };
    }
    w->nodes[n] =
        cluster_node_open(&(struct cluster_node_options){ .port = port_of(w, (uint16_t)n),
                                                          .manager = PORT_MANAGER,
                                                          .n_requests_max = N_EACH * N_PLACES,
                                                          .n_engines = N_EACH,
                                                          .n_services = N_SERVICES,
                                                          .services = w->services,
                                                          .engines = faces,
                                                          .report_ns = 100 * TIME_NS_PER_MS,
                                                          .fits = route_find("least")->fits });
}

static struct world *open_world(struct engine_report *scratch)
{
    static const int64_t need[N_SERVICES] = { 100, 100, 100 };
    struct world *w = mem_take(sizeof *w);
    struct cluster_node_at places[N_NODES];
    struct route_config config;
    route_config_init(&config);
    watched = w;
    w->now_ns = TIME_NS_PER_S;
    w->bus = cluster_local_bus_open(PORTS, BUS_BYTES);
    for (int s = 0; s < N_SERVICES; s++) {
        (void)snprintf(w->services[s].name, sizeof w->services[s].name, "model-%d", s);
        w->services[s].keep_alive_ns = -1;
        w->services[s].is_loaded_at_start = true;
        w->services[s].hold_ns_max = 600 * TIME_NS_PER_S;
    }
    for (int n = 0; n < N_NODES; n++) {
        open_node(w, n, scratch);
        places[n] = (struct cluster_node_at){ (uint16_t)n, N_EACH };
    }
    w->manager =
        cluster_manager_open(&(struct cluster_manager_options){ .port = port_of(w, PORT_MANAGER),
                                                                .gateway = PORT_GATEWAY,
                                                                .nodes = places,
                                                                .n_nodes = N_NODES,
                                                                .n_services = N_SERVICES,
                                                                .services = w->services,
                                                                .need_bytes = need });
    w->gateway =
        cluster_gateway_open(&(struct cluster_gateway_options){ .port = port_of(w, PORT_GATEWAY),
                                                                .nodes = places,
                                                                .n_nodes = N_NODES,
                                                                .manager = PORT_MANAGER,
                                                                .seed = 5,
                                                                .n_services = N_SERVICES,
                                                                .services = w->services,
                                                                .n_requests_max = N_REQUESTS,
                                                                .router = route_find("least"),
                                                                .router_config = &config });
    return w;
}

static void close_world(struct world *w)
{
    for (int n = 0; n < N_NODES; n++)
        cluster_node_close(w->nodes[n]);
    cluster_gateway_close(w->gateway);
    cluster_manager_close(w->manager);
    cluster_local_bus_close(w->bus);
    mem_give(w);
}

static void ask(struct world *w, int i)
{
    unsigned char bytes[sizeof(struct request_body) + 4 * N_PROMPT] = { 0 };
    struct request_body *body = (void *)bytes;
    struct service door = cluster_gateway_service(w->gateway);
    *body = (struct request_body){
        .n_bytes = sizeof bytes,
        .n_tokens = N_PROMPT,
        .sampling = { .repetition_penalty = 1.0F, .top_p = 1.0F, .n_top_logprobs = -1 }
    };
    const struct request request = { .id = (uint64_t)i + 1,
                                     .service = (uint16_t)(i % N_SERVICES),
                                     .n_prompt = N_PROMPT,
                                     .n_tokens = N_PROMPT,
                                     .n_tokens_max = N_PROMPT + N_ANSWER,
                                     .arrived_ns = w->now_ns,
                                     .deadline_ns = TIME_NEVER };
    assert_true(door.submit(door.self, &request, body));
    w->n_tokens[i] = N_PROMPT;
}

static void hear(struct world *w)
{
    struct service door = cluster_gateway_service(w->gateway);
    struct service_event event;
    const void *payload;
    while (door.next(door.self, &event, &payload)) {
        int i = (int)event.id - 1;
        assert_false(w->is_over[i]);
        assert_int_equal(event.position, w->n_tokens[i]);
        if (event.what == SERVICE_TOKENS) {
            assert_int_equal(*(const int32_t *)payload, token_at(event.id, event.position));
            w->n_tokens[i]++;
            continue;
        }
        assert_int_equal(event.why, SERVICE_LENGTH);
        assert_int_equal(w->n_tokens[i], N_PROMPT + N_ANSWER);
        w->is_over[i] = true;
        w->n_over++;
    }
}

static void step(struct world *w, int64_t span_ns)
{
    const void *message;
    size_t n_bytes;
    hear(w);
    (void)cluster_gateway_step(w->gateway, w->now_ns);
    for (uint16_t n = 0; n < N_NODES; n++) {
        const struct bus_port port = cluster_local_bus_port(w->bus, n);
        if (!w->is_silent[n])
            (void)cluster_node_step(w->nodes[n], w->now_ns);
        while (w->is_silent[n] && port.peek(port.self, n, &message, &n_bytes))
            port.pop(port.self, n);
    }
    (void)cluster_manager_step(w->manager, w->now_ns);
    w->now_ns += span_ns;
}

static int n_loaded(const struct world *w)
{
    int n = 0;
    for (int e = 0; e < N_ENGINES; e++)
        for (int s = 0; s < N_SERVICES; s++)
            n += w->engines[e].status[s] == SERVICE_LOADED;
    return n;
}

static void test_a_thousand_engines(void **state)
{
    (void)state;
    static struct engine_report scratch;
    struct world *w = open_world(&scratch);
    int n_steps = 0;
    for (; n_loaded(w) < N_ENGINES * N_SERVICES && n_steps < STEPS_MAX; n_steps++)
        step(w, 10 * TIME_NS_PER_MS);
    assert_int_equal(n_loaded(w), N_ENGINES * N_SERVICES); /* the manager reached each engine */
    for (int i = 0; i < 20; i++)
        step(w, 10 * TIME_NS_PER_MS);
    for (int i = 0; i < N_REQUESTS; i++)
        ask(w, i);
    for (int i = 0; i < 4; i++)
        step(w, TIME_NS_PER_MS);
    for (int n = 0; n < N_NODES; n += 8) /* in the middle of their answers */
        w->is_silent[n] = true;
    for (; w->n_over < N_REQUESTS && n_steps < STEPS_MAX; n_steps++)
        step(w, 50 * TIME_NS_PER_MS);
    assert_int_equal(w->n_over, N_REQUESTS);
    assert_true(cluster_gateway_is_sound(w->gateway));
    for (int e = 0; e < N_ENGINES; e++)
        assert_true(w->engines[e].n_served > 0);
    /* No message is longer than its content needs: a report is the longest here. */
    assert_true(w->message_bytes_max <= cluster_message_report_bytes(N_SERVICES));
    close_world(w);
}

/* The longest messages, and a short one that is frequent. */
static void test_sizes_of_messages(void **state)
{
    (void)state;
    assert_true(cluster_message_report_bytes(LIMIT_SERVICES) <= MESSAGE_BYTES_MAX);
    assert_true(cluster_message_report_bytes(16) <= 7 << 10);
    assert_true(sizeof(struct message_event) + sizeof(int32_t) <= 160);
    assert_true(sizeof(struct message_submit) +
                    request_body_bytes(LIMIT_CONTEXT, LIMIT_STOP_IDS, LIMIT_BIASES) <=
                MESSAGE_BYTES_MAX);
    struct message_head head = cluster_message_head(MESSAGE_EVENT, 0, MESSAGE_BYTES_MAX + 8);
    assert_false(cluster_message_is_valid(&head, MESSAGE_BYTES_MAX + 8, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thousand_engines),
        cmocka_unit_test(test_sizes_of_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
