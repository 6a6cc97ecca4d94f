/* Gateway, manager and node over the local bus, and clients that check each token. */
#include "gateway_world.h"

int64_t world_report_ns = 10 * TIME_NS_PER_MS;
int64_t world_keep_alive_ns = 3600 * TIME_NS_PER_S;
const struct route_policy *world_router; /* NULL = least */

/* ---- A bus that loses and repeats messages between gateway and node. ---- */

struct end {
    struct world *world;
    uint16_t address;
};

static bool send(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    struct end *end = self;
    struct world *w = end->world;
    const struct bus_port port = cluster_local_bus_port(w->bus, end->address);
    bool is_faulty = to != PORT_MANAGER && end->address != PORT_MANAGER;
    if (is_faulty &&
        (w->now_ns < w->faults.cut_until_ns || rng_unit(&w->faults.rng) < w->faults.lost)) {
        w->faults.n_lost++;
        return true;
    }
    if (is_faulty && rng_unit(&w->faults.rng) < w->faults.twice) {
        w->faults.n_twice++;
        (void)port.send(port.self, to, part1, n1, part2, n2);
    }
    return port.send(port.self, to, part1, n1, part2, n2);
}

static bool peek(void *self, uint16_t at, const void **message, size_t *n_bytes)
{
    const struct bus_port port = cluster_local_bus_port(((struct end *)self)->world->bus, at);
    return port.peek(port.self, at, message, n_bytes);
}

static void pop(void *self, uint16_t at)
{
    const struct bus_port port = cluster_local_bus_port(((struct end *)self)->world->bus, at);
    port.pop(port.self, at);
}

static struct bus_port port_of(struct world *w, uint16_t address)
{
    static struct end ends[3];
    if (!w->faults.can_lose)
        return cluster_local_bus_port(w->bus, address);
    ends[address] = (struct end){ w, address };
    return (struct bus_port){ &ends[address], address, true, send, peek, pop };
}

void open_world(struct world *w, uint64_t seed, uint32_t bus_bytes)
{
    static const int64_t need[N_SERVICES] = { 400, 400, 400, 400 };
    struct cluster_engine faces[N_ENGINES];
    w->faults.rng = (struct rng){ .seed = seed, .stream = 99 };
    w->now_ns = TIME_NS_PER_S;
    for (int e = 0; e < N_ENGINES; e++) {
        fake_engine_init(&w->engines[e], (uint16_t)e, N_SERVICES, seed);
        faces[e] = fake_engine_face(&w->engines[e]);
    }
    for (int s = 0; s < N_SERVICES; s++) {
        snprintf(w->services[s].name, LIMIT_NAME_BYTES, "model-%d", s);
        w->services[s].keep_alive_ns = world_keep_alive_ns;
        w->services[s].hold_ns_max = 600 * TIME_NS_PER_S;
    }
    w->bus = cluster_local_bus_open(3, bus_bytes);
    const struct cluster_node_options node = { .port = port_of(w, PORT_NODE),
                                               .manager = PORT_MANAGER,
                                               .n_requests_max = 128,
                                               .n_engines = N_ENGINES,
                                               .n_services = N_SERVICES,
                                               .services = w->services,
                                               .engines = faces,
                                               .report_ns = world_report_ns,
                                               .fits = route_find("least")->fits };
    const struct cluster_manager_options manager = { .port = port_of(w, PORT_MANAGER),
                                                     .gateway = PORT_GATEWAY,
                                                     .node = PORT_NODE,
                                                     .n_engines = N_ENGINES,
                                                     .n_services = N_SERVICES,
                                                     .services = w->services,
                                                     .need_bytes = need };
    const struct cluster_gateway_options gateway = { .port = port_of(w, PORT_GATEWAY),
                                                     .node = PORT_NODE,
                                                     .manager = PORT_MANAGER,
                                                     .seed = seed,
                                                     .n_engines = N_ENGINES,
                                                     .n_services = N_SERVICES,
                                                     .services = w->services,
                                                     .n_requests_max = 128,
                                                     .kv_unit_bytes = 150,
                                                     .router = world_router ? world_router
                                                                            : route_find("least"),
                                                     .router_config = &w->route };
    w->node = cluster_node_open(&node);
    w->manager = cluster_manager_open(&manager);
    w->gateway = cluster_gateway_open(&gateway);
}

void close_world(struct world *w)
{
    cluster_gateway_close(w->gateway);
    cluster_manager_close(w->manager);
    cluster_node_close(w->node);
    cluster_local_bus_close(w->bus);
}

bool submit(struct world *w, int index, int service, int32_t n_generate, int64_t deadline_ns)
{
    unsigned char bytes[sizeof(struct request_body) + 4 * PROMPT];
    struct request_body *body = (void *)bytes;
    struct service door = cluster_gateway_service(w->gateway);
    uint64_t seed = rng_at(5, 5, (uint64_t)index);
    *body = (struct request_body){
        .n_bytes = sizeof bytes,
        .n_tokens = PROMPT,
        .seed = seed,
        .sampling = { .repetition_penalty = 1.0F, .top_p = 1.0F, .n_top_logprobs = -1 }
    };
    for (int i = 0; i < PROMPT; i++)
        request_body_tokens(body)[i] = index % 1000;
    const struct request request = { .id = (uint64_t)index + 1,
                                     .service = (uint16_t)service,
                                     .n_prompt = PROMPT,
                                     .n_tokens = PROMPT,
                                     .n_tokens_max = PROMPT + n_generate,
                                     .arrived_ns = w->now_ns,
                                     .deadline_ns = deadline_ns };
    if (!door.submit(door.self, &request, body))
        return false;
    w->requests[index].n_tokens = PROMPT;
    w->requests[index].n_tokens_max = PROMPT + n_generate;
    w->requests[index].seed = seed;
    return true;
}

void take_events(struct world *w)
{
    struct service door = cluster_gateway_service(w->gateway);
    struct service_event event;
    const void *payload;
    while (door.next(door.self, &event, &payload)) {
        int i = (int)event.id - 1;
        assert_in_range(i, 0, N_REQUESTS - 1);
        assert_false(w->requests[i].is_over); /* never a word after the end */
        if (event.what == SERVICE_TOKENS) {
            assert_int_equal(event.position,
                             w->requests[i].n_tokens); /* nothing lost, nothing repeated */
            for (int32_t k = 0; k < event.n_tokens; k++)
                assert_int_equal(((const int32_t *)payload)[k],
                                 fake_engine_token(w->requests[i].seed, event.position + k));
            w->requests[i].n_tokens += event.n_tokens;
        } else {
            assert_int_equal(event.what, SERVICE_ENDED);
            w->requests[i].is_over = true;
            w->requests[i].why = event.why;
            if (event.n_bytes > 0)
                memcpy(w->requests[i].sentence, payload, (size_t)min_i32(event.n_bytes, 63));
        }
    }
}

void step(struct world *w)
{
    for (int round = 0; round < 4; round++) {
        cluster_gateway_step(w->gateway, w->now_ns);
        cluster_node_step(w->node, w->now_ns);
        cluster_manager_step(w->manager, w->now_ns);
        take_events(w);
    }
    assert_true(cluster_gateway_is_sound(w->gateway));
    w->now_ns += TIME_NS_PER_MS;
}
