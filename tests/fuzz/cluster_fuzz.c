/* Messages of the bus with any content: the real gateway, manager, node and engines serve six
 * requests while the input tampers with their messages. No input may crash them, and all counts and
 * lists stay valid.
 *
 * The input has three bytes that choose scheduler, router and predictor. Edits of 5 bytes follow:
 * {n messages left alone before it; what; where (2 bytes); n} and n bytes. So any input meets real
 * messages, of whatever layout they have. */
#include "base/log.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/time.h"
#include "cluster/gateway.h"
#include "cluster/manager.h"
#include "cluster/message.h"
#include "cluster/node.h"
#include "engine/engine.h"
#include "fake.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GATEWAY, MANAGER, NODE, N_PORTS };
enum {
    N_ENGINES = 2,
    N_SERVICES = 2,
    N_REQUESTS = 6,
    N_PROMPT = 20,
    N_TOKENS_MAX = 64,
    N_STEPS = 60,
    BUS_BYTES = 1 << 16,
    EVENTS_BYTES = 1 << 14,
    WEIGHTS_BYTES = 1 << 14,
    MESSAGE_MAX = 1 << 14,
};

struct host { /* an engine's host, as the node sees it */
    const int64_t *clock_ns;
    struct engine *engine;
    struct fake fake;
    struct ring *events;
    bool is_popping;
    uint8_t status[N_SERVICES]; /* DRAINING_OUT until its engine releases it */
    struct service_change changes[64];
    uint32_t n_told, n_changes;
    struct engine_report report;
};
struct world {
    int64_t clock_ns;
    struct cluster_local_bus *bus;
    struct cluster_gateway *gateway;
    struct cluster_manager *manager;
    struct cluster_node *node;
    struct host hosts[N_ENGINES];
    const uint8_t *script;
    size_t n_script;
    _Alignas(8) unsigned char message[MESSAGE_MAX];
};

/* ---- An engine and its link to the node. ---- */

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    struct host *h = self;
    return ring_put(h->events, event, sizeof(*event), payload, (size_t)event->n_bytes);
}

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct host *h = self;
    return engine_submit(h->engine, request, body, *h->clock_ns);
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct host *h = self;
    engine_cancel(h->engine, id, epoch, *h->clock_ns);
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct host *h = self;
    const void *record;
    size_t n_bytes;
    if (h->is_popping)
        ring_pop(h->events);
    h->is_popping = ring_peek(h->events, &record, &n_bytes);
    if (!h->is_popping)
        return false;
    memcpy(event, record, sizeof(*event));
    *payload = (const struct service_event *)record + 1;
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static void tell(struct host *h, int service, enum service_status status)
{
    h->status[service] = (uint8_t)status;
    if (h->n_changes - h->n_told < COUNT_OF(h->changes))
        h->changes[h->n_changes++ % COUNT_OF(h->changes)] = (struct service_change){
            .service = (uint16_t)service, .status = (uint8_t)status, .weights_bytes = WEIGHTS_BYTES
        };
}

static void load(void *self, int service)
{
    struct host *h = self;
    struct engine_room room;
    const struct perf perf = { .c1_ps = 400000000,
                               .k1_ps = 1000000,
                               .c3_ps = { 900000000 },
                               .c2_ps = { 1000000 },
                               .k2_ps = { 1000 },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 1 };
    if (h->status[service] != SERVICE_UNLOADED ||
        !engine_make_room(h->engine, service, WEIGHTS_BYTES, 0, *h->clock_ns, &room))
        return;
    engine_open_service(h->engine, service, &perf, *h->clock_ns);
    tell(h, service, SERVICE_LOADED);
}

static void unload(void *self, int service, bool even_busy)
{
    struct host *h = self;
    (void)even_busy; /* it releases every model */
    if (h->status[service] == SERVICE_LOADED)
        tell(h, service, SERVICE_DRAINING_OUT);
}

static void drain(void *self)
{
    struct host *h = self;
    engine_drain(h->engine);
}

static int64_t step(void *self, int64_t now_ns)
{
    struct host *h = self;
    for (int s = 0; s < N_SERVICES; s++)
        if (h->status[s] == SERVICE_DRAINING_OUT && engine_close_service(h->engine, s, now_ns))
            tell(h, s, SERVICE_UNLOADED);
    return engine_step(h->engine, now_ns);
}

static bool next_change(void *self, struct service_change *change)
{
    struct host *h = self;
    if (h->n_told == h->n_changes)
        return false;
    *change = h->changes[h->n_told++ % COUNT_OF(h->changes)];
    return true;
}

static const struct engine_report *report(void *self)
{
    struct host *h = self;
    memset(&h->report, 0, engine_report_bytes(N_SERVICES));
    engine_report(h->engine, &h->report, *h->clock_ns);
    return &h->report;
}

static void open_host(struct world *w, int e, const struct schedule_policy *policy,
                      const struct service_spec *specs)
{
    static const int64_t bytes_per_token[N_SERVICES] = { 16, 24 };
    struct host *h = &w->hosts[e];
    struct kv_layout layouts[N_SERVICES];
    struct schedule_config config;
    double waste;
    schedule_config_init(&config);
    h->clock_ns = &w->clock_ns;
    h->events = mem_take(ring_bytes(EVENTS_BYTES));
    ring_init(h->events, EVENTS_BYTES);
    fake_init(&h->fake, &w->clock_ns, TIME_NS_PER_MS);
    h->engine = engine_open(&(struct engine_options){
        .id = (uint16_t)e,
        .memory_bytes = 3 * WEIGHTS_BYTES,
        .body_bytes = 1 << 16,
        .n_requests_max = 8,
        .n_tokens_max = N_TOKENS_MAX,
        .n_lanes = 1,
        .n_services = N_SERVICES,
        .services = specs,
        .layouts = layouts,
        .kv_unit_bytes = kv_choose_layout(N_SERVICES, bytes_per_token, 1024, layouts, &waste),
        .has_prefix_cache = true,
        .policy = policy,
        .config = &config,
        .exec = fake_exec(&h->fake),
        .emit = emit,
        .emit_self = h,
    });
}

/* ---- The bus with edits. ---- */

enum edit { EDIT_OVERWRITE, EDIT_CUT, EDIT_REPEAT, EDIT_LOSE, EDIT_N };

/* Applies the next edit, if this message is due. Returns the message's length, 0 = it is lost. */
static size_t tamper(struct world *w, size_t n_bytes, bool *is_repeated)
{
    uint8_t *left = (uint8_t *)(uintptr_t)w->script;
    if (w->n_script < 5)
        return n_bytes;
    if (w->script[0] % 64 > 0) {
        (*left)--;
        return n_bytes;
    }
    enum edit edit = (enum edit)(w->script[1] % EDIT_N);
    size_t at = (size_t)(w->script[2] | w->script[3] << 8) % (n_bytes + 1);
    size_t n = w->script[4], n_there = w->n_script - 5;
    n = n < n_there ? n : n_there;
    size_t n_written = n < n_bytes - at ? n : n_bytes - at;
    memcpy(w->message + at, w->script + 5, edit == EDIT_LOSE ? 0 : n_written);
    w->script += 5 + n;
    w->n_script -= 5 + n;
    *is_repeated = edit == EDIT_REPEAT;
    if (edit == EDIT_CUT && at >= sizeof(struct message_head)) {
        n_bytes = at;
        ((struct message_head *)(void *)w->message)->n_bytes = (uint32_t)at;
    }
    return edit == EDIT_LOSE ? 0 : n_bytes;
}

static bool send(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    struct world *w = self;
    const struct bus_port port = cluster_local_bus_port(w->bus, 0);
    bool is_repeated = false;
    CHECK(n1 + n2 <= MESSAGE_MAX);
    memcpy(w->message, part1, n1);
    if (n2 > 0)
        memcpy(w->message + n1, part2, n2);
    size_t n_bytes = tamper(w, n1 + n2, &is_repeated);
    if (n_bytes > 0 && is_repeated)
        (void)port.send(port.self, to, w->message, n_bytes, NULL, 0);
    return n_bytes == 0 || port.send(port.self, to, w->message, n_bytes, NULL, 0);
}

static bool peek(void *self, uint16_t at, const void **message, size_t *n_bytes)
{
    struct world *w = self;
    const struct bus_port port = cluster_local_bus_port(w->bus, at);
    return port.peek(port.self, at, message, n_bytes);
}

static void pop(void *self, uint16_t at)
{
    struct world *w = self;
    const struct bus_port port = cluster_local_bus_port(w->bus, at);
    port.pop(port.self, at);
}

static struct bus_port port_of(struct world *w, uint16_t address)
{
    return (struct bus_port){ w, address, true, send, peek, pop };
}

/* ---- The world. ---- */

static void open_actors(struct world *w, const struct service_spec *specs,
                        const struct route_policy *router, const char *predictor)
{
    static const int64_t need[N_SERVICES] = { WEIGHTS_BYTES, WEIGHTS_BYTES };
    struct cluster_engine faces[N_ENGINES];
    struct route_config config;
    route_config_init(&config);
    for (int e = 0; e < N_ENGINES; e++) {
        struct host *h = &w->hosts[e];
        faces[e] = (struct cluster_engine){
            h, { h, submit, cancel, next, wait_fd }, load, unload, drain, step, next_change, report
        };
    }
    w->node = cluster_node_open(&(struct cluster_node_options){ .port = port_of(w, NODE),
                                                                .manager = MANAGER,
                                                                .n_requests_max = N_REQUESTS,
                                                                .n_engines = N_ENGINES,
                                                                .n_services = N_SERVICES,
                                                                .services = specs,
                                                                .engines = faces,
                                                                .report_ns = 5 * TIME_NS_PER_MS,
                                                                .fits = router->fits });
    w->manager =
        cluster_manager_open(&(struct cluster_manager_options){ .port = port_of(w, MANAGER),
                                                                .gateway = GATEWAY,
                                                                .node = NODE,
                                                                .n_engines = N_ENGINES,
                                                                .n_services = N_SERVICES,
                                                                .services = specs,
                                                                .need_bytes = need });
    w->gateway = cluster_gateway_open(
        &(struct cluster_gateway_options){ .port = port_of(w, GATEWAY),
                                           .node = NODE,
                                           .manager = MANAGER,
                                           .n_engines = N_ENGINES,
                                           .n_services = N_SERVICES,
                                           .services = specs,
                                           .n_requests_max = N_REQUESTS,
                                           .router = router,
                                           .router_config = &config,
                                           .predictor = length_find(predictor) });
}

static void ask(struct world *w, uint64_t id)
{
    _Alignas(8) unsigned char bytes[sizeof(struct request_body) + 4 * N_PROMPT + 4];
    struct request_body *body = (void *)bytes;
    struct service door = cluster_gateway_service(w->gateway);
    *body = (struct request_body){
        .n_bytes = sizeof(bytes),
        .n_tokens = N_PROMPT,
        .n_stop_ids = 1,
        .seed = id,
        .sampling = { .repetition_penalty = 1, .top_p = 1, .n_top_logprobs = id % 2 ? 0 : -1 }
    };
    for (int i = 0; i < N_PROMPT; i++)
        request_body_tokens(body)[i] = i;
    request_body_stop_ids(body)[0] = 3;
    const struct request request = { .id = id,
                                     .flags = id % 2 ? REQUEST_WANTS_LOGPROBS : 0,
                                     .service = id % N_SERVICES,
                                     .n_prompt = N_PROMPT,
                                     .n_tokens = N_PROMPT,
                                     .n_tokens_max = N_PROMPT + 4 + (int32_t)id,
                                     .arrived_ns = w->clock_ns,
                                     .deadline_ns = TIME_NEVER };
    (void)door.submit(door.self, &request, body);
}

/* A client may read everything that it receives. */
static void hear(struct world *w)
{
    struct service door = cluster_gateway_service(w->gateway);
    struct control control = cluster_gateway_control(w->gateway);
    struct service_event event;
    struct service_change change;
    struct control_answer answer;
    const void *payload;
    static volatile unsigned char sum; /* read bytes are used */
    while (door.next(door.self, &event, &payload))
        for (int32_t i = 0; i < event.n_bytes; i++)
            sum += ((const unsigned char *)payload)[i];
    while (control.next_change(control.self, &change))
        sum += (unsigned char)strlen(change.fault.text);
    while (control.next(control.self, &answer))
        sum += (unsigned char)strlen(answer.fault.text);
}

static void run(struct world *w)
{
    struct service door = cluster_gateway_service(w->gateway);
    struct control control = cluster_gateway_control(w->gateway);
    for (int i = 0; i < N_STEPS; i++) {
        const struct control_ask asked = { .id = (uint64_t)i + 1,
                                           .kind = (uint8_t)(i / 4 % (CONTROL_HEALTH + 1)),
                                           .service = (uint16_t)(i / 2 % N_SERVICES) };
        if (i % 4 == 0 && i / 4 < N_REQUESTS)
            ask(w, (uint64_t)i / 4 + 1);
        if (i == 14)
            door.cancel(door.self, 4, 0);
        if (i % 4 == 3 && i > 12 && (asked.kind != CONTROL_DRAIN || i > 45))
            (void)control.ask(control.self, &asked);
        for (int round = 0; round < 3; round++) {
            cluster_gateway_step(w->gateway, w->clock_ns);
            cluster_node_step(w->node, w->clock_ns);
            cluster_manager_step(w->manager, w->clock_ns);
            hear(w);
        }
        CHECK(cluster_gateway_is_sound(w->gateway));
        w->clock_ns += i < 50 ? TIME_NS_PER_MS : 2 * TIME_NS_PER_S;
    }
    for (int e = 0; e < N_ENGINES; e++)
        CHECK(engine_is_sound(w->hosts[e].engine));
}

static void close_world(struct world *w)
{
    cluster_gateway_close(w->gateway);
    cluster_manager_close(w->manager);
    cluster_node_close(w->node);
    cluster_local_bus_close(w->bus);
    for (int e = 0; e < N_ENGINES; e++) {
        engine_close(w->hosts[e].engine);
        fake_free(&w->hosts[e].fake);
        mem_give(w->hosts[e].events);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const policies[] = { "value", "fcfs", "db-share", "mlfq", "adbs", "rr" };
    static const char *const routers[] = { "least", "p2c", "least-finish", "best-fit", "scls" };
    static const char *const predictors[] = { "conditional", "mean", "none" };
    struct service_spec specs[N_SERVICES] = { 0 };
    static struct world *w;
    log_set(LOG_ERROR, false);
    uint8_t *script = mem_take(size + 3);
    if (size > 0)
        memcpy(script, data, size);
    w = w != NULL ? w : malloc(sizeof(*w));
    memset(w, 0, sizeof(*w));
    w->clock_ns = TIME_NS_PER_S;
    w->script = script + 3;
    w->n_script = size > 3 ? size - 3 : 0;
    w->bus = cluster_local_bus_open(N_PORTS, BUS_BYTES);
    for (int s = 0; s < N_SERVICES; s++) {
        snprintf(specs[s].name, sizeof(specs[s].name), "model-%d", s);
        specs[s].keep_alive_ns = 3 * TIME_NS_PER_S;
        specs[s].hold_ns_max = TIME_NS_PER_S;
    }
    for (int e = 0; e < N_ENGINES; e++)
        open_host(w, e, schedule_find(policies[script[0] % COUNT_OF(policies)]), specs);
    open_actors(w, specs, route_find(routers[script[1] % COUNT_OF(routers)]),
                predictors[script[2] % COUNT_OF(predictors)]);
    run(w);
    close_world(w);
    mem_give(script);
    return 0;
}
