/* A process of a simulated cluster: what `shoal` joins with etcd, TCP and threads is joined here
 * with the modelled ones. */
#include "world.h"

#include "base/mem.h"
#include "base/time.h"
#include "route/policy.h"
#include "schedule/policy.h"
#include <string.h>
#include <stdio.h>
#include <time.h>

enum { REQUESTS_MAX = 256, ENGINE_REQUESTS_MAX = 16, TOKENS_MAX = 256 };

static struct world_process *node_at(struct world *w, const char *address)
{
    for (int i = w->options.n_managers + w->options.n_gateways; i < w->n_processes; i++)
        if (strcmp(w->processes[i].address, address) == 0)
            return &w->processes[i];
    return NULL;
}

static bool is_up(void *self, uint16_t address)
{
    const struct world_process *p = self;
    return wires_is_up(p->world->wires, p->index, address);
}

static void aim(void *self, int place)
{
    const struct world_process *p = self;
    const struct world_process *node = node_at(p->world, p->peers.of[place].address);
    CHECK(node != NULL);
    wires_aim(p->world->wires, p->index, place, node->index);
}

static int64_t clock_of(void *self)
{
    const struct world_process *p = self;
    return p->world->now_ns + p->offset_ns;
}

static void join(struct world_process *p)
{
    static const char *const kinds[] = { "manager", "gateway", "node" };
    struct str value;
    char name[32];
    struct fault fault;
    str_init(&value);
    cluster_members_write_node(&value, p->world->options.n_engines, "sim", NULL, 0);
    snprintf(name, sizeof name, "%s%d.%d", kinds[p->kind], p->index, (int)p->n_lives);
    const struct cluster_membership_options options = {
        .store = p->store,
        .prefix = "/shoal/sim/",
        .kind = kinds[p->kind],
        .name = p->kind == WORLD_NODE ? p->address : name,
        .value = value.at,
        .ttl_s = WORLD_TTL_S,
        .seed = rng_u64(&p->world->rng),
    };
    CHECK(cluster_membership_open(&p->membership, &options, &fault) == STATUS_OK);
    str_free(&value);
}

static void open_peers(struct world_process *p)
{
    cluster_peers_open(&p->peers, p->world->options.n_nodes);
    p->peers.is_up = is_up;
    p->peers.aim = aim;
    p->peers.self = p;
    for (int i = 0; i < p->peers.n; i++)
        p->peers.nodes[i] = (struct cluster_node_at){ (uint16_t)(WIRES_FIRST_ADDRESS + i),
                                                      p->world->options.n_engines };
}

static void open_fence(struct world_process *p)
{
    struct fault fault;
    if (store_fence_open(&p->fence, p->folder_file, &fault) != STATUS_OK)
        world_wrong(p->world, "process %d: %s", p->index, fault.text);
    p->obeyed = p->fence.kept;
}

/* ---- A manager, and a gateway. ---- */

static void open_manager(struct world_process *p)
{
    struct world *w = p->world;
    open_fence(p);
    p->id = (struct store_id){ 0x1d, (uint64_t)p->index << 32 | p->n_lives };
    const struct cluster_elected_options options = { .port = wires_port(w->wires, p->index),
                                                     .peers = &p->peers,
                                                     .membership = &p->membership,
                                                     .memory = &p->fence,
                                                     .n_services = WORLD_SERVICES,
                                                     .n_services_max = WORLD_SERVICES,
                                                     .services = w->services,
                                                     .need_bytes = w->need_bytes,
                                                     .kept_bytes = 200000,
                                                     .name = "m",
                                                     .id = p->id,
                                                     .ttl_s = WORLD_TTL_S,
                                                     .seed = rng_u64(&w->rng),
                                                     .clock = clock_of,
                                                     .self = p };
    p->elected = cluster_elected_open(&options);
}

static const struct route_policy *router_of(const struct world *w)
{
    return route_find(w->options.router != NULL ? w->options.router : "least");
}

static void open_gateway(struct world_process *p)
{
    struct world *w = p->world;
    struct route_config config;
    struct fault fault;
    route_config_init(&config);
    for (int i = 0; w->options.thresholds[i] != NULL; i++)
        CHECK(route_config_set(&config, w->options.thresholds[i], &fault) == STATUS_OK);
    const struct cluster_gateway_options options = { .port = wires_port(w->wires, p->index),
                                                     .nodes = p->peers.nodes,
                                                     .n_nodes = p->peers.n,
                                                     .manager = CLUSTER_GATEWAY_NO_MANAGER,
                                                     .seed = rng_u64(&w->rng),
                                                     .n_services = WORLD_SERVICES,
                                                     .services = w->services,
                                                     .n_requests_max = REQUESTS_MAX,
                                                     .router = router_of(w),
                                                     .router_config = &config };
    p->gateway = cluster_gateway_open(&options);
    p->door = cluster_gateway_service(p->gateway);
    map_init(&p->open, 2 * REQUESTS_MAX);
    p->next_ask_ns = w->now_ns + TIME_NS_PER_S;
}

/* ---- A node and its engines. ---- */

static uint32_t n_requests_max_of(const struct world *w)
{
    return w->options.n_requests_max > 0 ? w->options.n_requests_max : ENGINE_REQUESTS_MAX;
}

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    const struct service *s = &((struct world_engine *)self)->face.service;
    return s->submit(s->self, request, body);
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    const struct service *s = &((struct world_engine *)self)->face.service;
    s->cancel(s->self, id, epoch);
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    const struct service *s = &((struct world_engine *)self)->face.service;
    return s->next(s->self, event, payload);
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static void load(void *self, int service)
{
    struct world_engine *e = self;
    world_checks_order(e->node, "load");
    if (e->node->world->options.plant == PLANT_NO_LOAD && service == 1) {
        e->node->world->is_planted = true;
        return;
    }
    e->face.load(e->face.self, service);
}

static void unload(void *self, int service, bool even_busy)
{
    struct world_engine *e = self;
    world_checks_order(e->node, "unload");
    e->face.unload(e->face.self, service, even_busy);
}

static void drain(void *self)
{
    struct world_engine *e = self;
    world_checks_order(e->node, "drain");
    e->face.drain(e->face.self);
}

static int64_t step(void *self, int64_t now_ns)
{
    struct world_engine *e = self;
    return e->face.step(e->face.self, now_ns);
}

static bool next_change(void *self, struct service_change *change)
{
    struct world_engine *e = self;
    return e->face.next_change(e->face.self, change);
}

static const struct engine_report *report(void *self)
{
    struct world_engine *e = self;
    return e->face.report(e->face.self);
}

static bool fill(void *self, const struct request *request, const struct request_body *from,
                 int32_t *tokens)
{
    (void)self;
    for (int32_t i = 0; i < request->n_tokens_max; i++)
        tokens[i] = world_token(from->seed, i);
    return memcmp(tokens, request_body_tokens(from), sizeof(int32_t) * (size_t)request->n_tokens) ==
           0;
}

static void taken(void *self, int32_t engine, const struct request *request)
{
    (void)self, (void)engine, (void)request;
}

static void ended(void *self, const struct service_event *event)
{
    (void)self, (void)event;
}

static void open_engines(struct world_process *p)
{
    struct world *w = p->world;
    struct sim_bus_host *host = &p->host;
    const char *policy = w->options.policy;
    p->workload = (struct workload){ .seed = rng_u64(&w->rng), .n_requests = 1 };
    p->sim_faults = (struct sim_faults){ .load_bytes_per_s = 5000000,
                                         .crash_ns = w->is_healed ? 0 : w->options.crash_ns,
                                         .restart_ns = 2 * TIME_NS_PER_S };
    p->sim_options =
        (struct sim_options){ .n_engines = w->options.n_engines,
                              .n_lanes = 1,
                              .n_services = WORLD_SERVICES,
                              .services = w->sim_services,
                              .memory_bytes = 8000000,
                              .n_requests_max = n_requests_max_of(w),
                              .n_live_max = 1,
                              .n_tokens_max = TOKENS_MAX,
                              .block_tokens = 16,
                              .policy = schedule_find(policy != NULL ? policy : "value"),
                              .workload = &p->workload,
                              .faults = &p->sim_faults };
    p->sim_report = (struct sim_report){ 0 };
    *host = (struct sim_bus_host){
        .sim = { .options = &p->sim_options, .report = &p->sim_report, .clock_ns = clock_of(p) },
        .faults = &p->sim_faults,
        .report_ns = w->options.report_ns,
        .is_over = w->is_healed,
        .fill = fill,
        .taken = taken,
        .ended = ended,
        .self = p
    };
    sim_report_open(&host->sim);
    host->sim.body = mem_take(request_body_bytes(TOKENS_MAX, 0, 0));
    sim_engines_open(&host->sim, sim_bus_engine_emit);
    host->engines = mem_take(sizeof *host->engines * (size_t)w->options.n_engines);
    host->own = mem_take(sizeof *host->own);
    for (int e = 0; e < w->options.n_engines; e++)
        sim_bus_engine_open(host, e);
}

static void close_engines(struct world_process *p)
{
    struct sim_bus_host *host = &p->host;
    for (int e = 0; e < p->world->options.n_engines; e++)
        sim_bus_engine_close(&host->engines[e]);
    sim_engines_close(&host->sim);
    sim_report_free(&p->sim_report);
    mem_give(host->sim.body);
    mem_give(host->engines);
    mem_give(host->own);
}

static bool fits(const struct engine_report *engine, const struct request *request)
{
    return route_find("least")->fits(engine, request);
}

static void open_node(struct world_process *p)
{
    struct world *w = p->world;
    struct cluster_engine faces[LIMIT_DEVICES];
    open_fence(p);
    open_engines(p);
    p->engines = mem_take(sizeof *p->engines * (size_t)w->options.n_engines);
    for (int e = 0; e < w->options.n_engines; e++) {
        struct world_engine *own = &p->engines[e];
        *own = (struct world_engine){ sim_bus_engine_face(&p->host.engines[e]), p };
        faces[e] = (struct cluster_engine){ .self = own,
                                            .service = { own, submit, cancel, next, wait_fd },
                                            .load = load,
                                            .unload = unload,
                                            .drain = drain,
                                            .step = step,
                                            .next_change = next_change,
                                            .report = report };
    }
    p->node = cluster_node_open(
        &(struct cluster_node_options){ .port = wires_port(w->wires, p->index),
                                        .manager = 1,
                                        .fence = &p->fence,
                                        .n_engines = w->options.n_engines,
                                        .n_services = WORLD_SERVICES,
                                        .services = w->services,
                                        .n_requests_max = n_requests_max_of(w) * LIMIT_DEVICES,
                                        .engines = faces,
                                        .report_ns = w->options.report_ns,
                                        .is_passive = true,
                                        .fits = fits });
}

/* ---- Its life. ---- */

void world_process_start(struct world_process *p)
{
    join(p);
    if (p->kind != WORLD_NODE)
        open_peers(p);
    if (p->kind == WORLD_MANAGER)
        open_manager(p);
    else if (p->kind == WORLD_GATEWAY)
        open_gateway(p);
    else
        open_node(p);
}

void world_process_stop(struct world_process *p)
{
    if (p->elected != NULL)
        cluster_elected_close(p->elected);
    if (p->gateway != NULL) {
        cluster_gateway_close(p->gateway);
        map_free(&p->open);
    }
    if (p->node != NULL) {
        cluster_node_close(p->node);
        close_engines(p);
        mem_give(p->engines);
    }
    p->elected = NULL;
    p->gateway = NULL;
    p->node = NULL;
    cluster_membership_close(&p->membership);
    cluster_peers_close(&p->peers);
}

static int64_t step_gateway(struct world_process *p, int64_t now_ns)
{
    cluster_gateway_hears_at(p->gateway, now_ns);
    world_clients_hear(p);
    int64_t wake_ns = cluster_gateway_step(p->gateway, now_ns);
    return cluster_gateway_is_dirty(p->gateway) ? now_ns : wake_ns;
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    (void)!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

int64_t world_process_step(struct world_process *p)
{
    int64_t now_ns = clock_of(p), wake_ns = TIME_NEVER;
    uint64_t begun_ns = p->world->options.is_still ? cpu_ns() : 0;
    if (p->kind != WORLD_MANAGER) /* a manager does this itself */
        wake_ns = cluster_membership_step(&p->membership, now_ns, NULL, NULL);
    if (p->kind == WORLD_MANAGER) {
        wake_ns = cluster_elected_step(p->elected, now_ns);
    } else if (p->kind == WORLD_GATEWAY) {
        cluster_peers_follow(&p->peers, &p->membership.members);
        wake_ns = min_i64(wake_ns, step_gateway(p, now_ns));
    } else {
        p->host.sim.clock_ns = now_ns;
        wake_ns = min_i64(wake_ns, cluster_node_step(p->node, now_ns));
        world_checks_node(p);
    }
    if (p->world->options.is_still)
        p->cpu_ns += cpu_ns() - begun_ns;
    p->n_steps++;
    return wake_ns == TIME_NEVER ? TIME_NEVER : wake_ns - p->offset_ns;
}
