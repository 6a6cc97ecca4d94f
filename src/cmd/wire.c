/* Wires the house: devices, engines, bus, gateway, manager and node of one process. */
#include "cmd/wire.h"

#include "cmd/wire_house.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cluster/tcp_bus.h"
#include "cmd/gpu.h"
#include "cmd/wire_cluster.h"
#include "cmd/wire_join.h"
#include "config/bus.h"
#include "cpu/cpu.h"
#include "group/group.h"
#include "metrics/trace.h"
#include "place/residency.h"
#include "report/lengths.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { PORT_GATEWAY, PORT_MANAGER, PORT_NODE, PORTS };
enum {
    ENGINE_REQUESTS_MAX = 2048,
    STEP_ROUNDS_MAX = 64,
    PAD_TOKENS = 512,
    GRAMMAR_CACHE_BYTES = 64 << 20
};

/* ---- Models. ---- */

int32_t wire_house_rows_max(const struct config *config)
{
    int64_t n_prompt = config->chunk_tokens > 0 ? config->n_batch_tokens_max : LIMIT_BATCH_TOKENS;
    return (int32_t)(n_prompt + config->n_batch_max);
}

struct serve_offer_options wire_house_offer_options(struct house *house, bool is_by_path)
{
    struct serve_offer_options options = { .config = &house->config,
                                           .n_rows_max = wire_house_rows_max(&house->config),
                                           .is_by_path = is_by_path };
    for (int e = 0; e < house->n_engines; e++)
        options.devices[e] = house->engines[e].device;
    return options;
}

/* Returns the pool bytes of the engine with the least. */
static int64_t pool_bytes(const struct house *house)
{
    int64_t least = INT64_MAX;
    for (int e = 0; e < house->n_engines; e++)
        least = min_i64(least, house->engines[e].device_spec.memory_bytes);
    return least;
}

static enum status open_models(struct house *house, struct fault *fault)
{
    struct kv_shape shapes[LIMIT_MODELS];
    const struct serve_offer_options options = wire_house_offer_options(house, false);
    for (int s = 0; s < house->config.n_models; s++) {
        struct serve_offer *offer = &house->offers[s];
        enum status status = serve_offer_open(offer, s, &house->config.models[s], &options, fault);
        if (status != STATUS_OK)
            return status;
        offer->state = OFFER_THERE;
        shapes[s] = offer->shape;
        house->n_services = s + 1;
        house->n_tokens_max = max_i32(house->n_tokens_max, offer->service.n_context_max);
    }
    if (house->n_engines == 0)
        return STATUS_OK; /* a gateway */
    enum status status = serve_kv_choose(&house->config, house->chosen.kv_kind, pool_bytes(house),
                                         shapes, &house->kv, fault);
    for (int s = 0; s < house->n_services; s++)
        house->offers[s].layout = house->kv.layouts[s];
    return status;
}

enum status wire_house_check_bytes(const struct house *house, const struct serve_offer *offer,
                                   struct fault *fault)
{
    int64_t most = 0, unit_bytes = house->kv.unit_bytes;
    for (int e = 0; e < house->n_engines; e++)
        if (service_spec_allows(&offer->service.engines, e))
            most = max_i64(most, house->engines[e].device_spec.memory_bytes);
    if (!offer->service.is_loaded_at_start || offer->need_bytes <= most - unit_bytes)
        return STATUS_OK;
    enum status status =
        fault_set(fault, STATUS_TOO_LARGE,
                  "model %.80s is to be loaded at start and needs %.1f MiB; its engine has "
                  "%.1f MiB, %.1f of them for KV (partial: true starts without it)",
                  offer->service.name, (double)offer->need_bytes * 0x1p-20, (double)most * 0x1p-20,
                  (double)unit_bytes * 0x1p-20);
    if (!house->config.is_partial)
        return status;
    log_line(LOG_WARN, "serve", "%s", fault->text);
    return STATUS_OK;
}

static enum status check_bytes(const struct house *house, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int s = 0; house->n_engines > 0 && s < house->n_services && status == STATUS_OK; s++)
        status = wire_house_check_bytes(house, &house->offers[s], fault);
    return status;
}

/* ---- Engines. ---- */

/* A GPU has memory of its own, apart from the machine's. */
static bool is_gpu(const struct house *house, int e)
{
    return house->engines[e].device_spec.kind == DEVICE_CUDA;
}

/* Makes lanes of this engine's cores from the shares that a placement gave to services, if the
 * policy uses them and there are enough cores. */
static int shares_of(const struct house *house, int e, char (*texts)[8], const char **shares)
{
    const struct config_engine *engine = &house->config.engines[e];
    int n = 0;
    for (int s = 0; s < house->config.n_models && house->chosen.policy->uses_shares; s++) {
        if (engine->share_percent[s] < 1 || engine->share_percent[s] >= 100 || n == LIMIT_LANES - 1)
            continue;
        snprintf(texts[n], sizeof texts[n], "%d", (int)engine->share_percent[s]);
        shares[n] = texts[n];
        n++;
    }
    bool are_enough = is_gpu(house, e) || n <= house->engines[e].device_spec.n_cores;
    return n >= 2 && are_enough && house->engines[e].device_spec.n_ranks == 0 ? n : 0;
}

/* A GPU says what its lanes have got. */
static void measure_lanes(struct engine_place *place)
{
    int32_t n_members[LIMIT_LANES];
    for (int i = 0; i < place->device->n_lanes; i++)
        n_members[i] = place->device->lanes[i]->n_members;
    config_lanes_measure(&place->lanes, n_members);
}

/* Opens the device of an engine, also again: a GPU, or a group of CPUs, can be lost. */
static enum status open_place(void *self, struct compute_device **out, struct fault *fault)
{
    struct engine_place *place = self;
    if (place->device_spec.kind == DEVICE_CPU)
        return group_open_cpu(&place->device_spec, out, fault);
    return gpu_open(&place->device_spec, place->lanes.devices, place->lanes.n, out, fault);
}

/* A policy that plans for its own lanes gets its usual ones, unless the configuration names
 * others. */
static enum status open_device(struct house *house, int e, int64_t memory_bytes,
                               struct fault *fault)
{
    const struct config *config = &house->config;
    struct engine_place *place = &house->engines[e];
    int n_usual;
    const char *const *usual =
        config_lanes_usual(house->chosen.policy, !is_gpu(house, e), &n_usual);
    bool wants_usual = config->n_lanes == 0 && place->device_spec.n_ranks == 0 &&
                       (is_gpu(house, e) || place->device_spec.n_cores >= n_usual);
    place->device_spec.memory_bytes = memory_bytes;
    place->device_spec.is_strict = strcmp(config->arithmetic, "strict") == 0;
    char texts[LIMIT_LANES][8];
    const char *shares[LIMIT_LANES];
    int n_shares = shares_of(house, e, texts, shares);
    if (n_shares > 0) {
        usual = shares;
        n_usual = n_shares;
        wants_usual = true;
    }
    enum status status =
        config_lanes_make(&place->lanes, &place->device_spec, wants_usual ? usual : config->lanes,
                          wants_usual ? n_usual : config->n_lanes, fault);
    if (status != STATUS_OK)
        return status;
    status = open_place(place, &place->device, fault);
    if (status != STATUS_OK)
        return status;
    for (int32_t i = 1; i < place->lanes.n && !is_gpu(house, e); i++)
        cpu_add_lane(place->device, &place->lanes.devices[i]);
    if (is_gpu(house, e))
        measure_lanes(place);
    device_print(&place->device_spec, house->device_texts[e], sizeof house->device_texts[e]);
    house->device_names[e] = house->device_texts[e];
    house->n_engines = e + 1;
    return STATUS_OK;
}

static int64_t engine_bytes(const struct config *config, int e, int64_t usual)
{
    return config->engines[e].memory_bytes > 0 ? config->engines[e].memory_bytes : usual;
}

/* Divides the memory of a gateway without engines, which holds only data of clients. */
static enum status divide_memory(struct house *house, struct fault *fault)
{
    struct cpu_topology *topology = mem_take(sizeof *topology);
    enum status status = cpu_topology_read(NULL, topology, fault);
    if (status == STATUS_OK)
        status = serve_memory_divide(&house->config, topology->memory_bytes, 1, 0, &house->memory,
                                     fault);
    mem_give(topology);
    return status;
}

static enum status open_devices(struct house *house, struct fault *fault)
{
    struct config *config = &house->config;
    struct cpu_topology *topology = mem_take(sizeof *topology);
    enum status status = cpu_topology_read(NULL, topology, fault);
    if (config->n_devices == 0)
        config->devices[config->n_devices++] = "cpu";
    for (int e = 0; e < config->n_devices && status == STATUS_OK; e++) {
        struct engine_place *place = &house->engines[e];
        if (strcmp(config->devices[e], "cpu") == 0)
            cpu_topology_device(topology, -1, &place->device_spec);
        else
            status = device_parse(config->devices[e], topology->n_processors, &place->device_spec,
                                  fault);
        if (status == STATUS_OK && place->device_spec.kind == DEVICE_CPU)
            status = cpu_topology_check(topology, &place->device_spec, config->devices[e], fault);
    }
    int64_t memory_bytes = topology->memory_bytes;
    mem_give(topology);
    if (status != STATUS_OK)
        return status;
    int64_t usual = config->memory_bytes, all_bytes = 0;
    if (usual == 0)
        usual = serve_memory_usual(config, memory_bytes, config->n_devices) / config->n_devices;
    for (int e = 0; e < config->n_devices; e++)
        all_bytes += is_gpu(house, e) ? 0 : engine_bytes(config, e, usual);
    status = serve_memory_divide(config, memory_bytes, config->n_devices, all_bytes, &house->memory,
                                 fault);
    for (int e = 0; e < config->n_devices && status == STATUS_OK; e++)
        status = open_device(
            house, e, engine_bytes(config, e, is_gpu(house, e) ? config->memory_bytes : usual),
            fault);
    return status;
}

/* One descriptor that is readable when any engine or loader has news. */
static void watch(struct house *house, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    if (epoll_ctl(house->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        base_refuse("the system watches no more descriptors: %s", strerror(errno));
}

static void open_threads(struct house *house, int e, const struct run_unit_options *options)
{
    struct run_unit *unit = house->engines[e].unit.threads = run_unit_open(options);
    const struct service service = run_unit_service(unit);
    watch(house, service.wait_fd(service.self));
    watch(house, run_unit_load_fd(unit));
}

/* Engines on CPUs share packed weights if they pack alike. One on a GPU packs by itself, for its
 * own memory. */
static void open_process(struct house *house, int e, const struct run_unit_options *options)
{
    const struct engine_place *place = &house->engines[e];
    bool is_cpu = place->device_spec.kind == DEVICE_CPU;
    int first = 0;
    while (first < e && !process_weights_are_shared(&house->engines[first].device_spec,
                                                    &place->device_spec))
        first++;
    struct process_device device = { .spec = place->device_spec, .n_lanes = place->lanes.n };
    memcpy(device.lanes, place->lanes.devices, sizeof device.lanes);
    struct process_weights **weights = &house->weights[first];
    if (is_cpu && *weights == NULL)
        *weights = process_weights_open(&device, house->epoll_fd);
    house->engines[e].unit.process =
        process_unit_open(&(struct process_unit_options){ .unit = options,
                                                          .device = device,
                                                          .weights = is_cpu ? *weights : NULL,
                                                          .epoll_fd = house->epoll_fd,
                                                          .stall_ns = house->config.stall_ns,
                                                          .door = house->bulk.child_door });
}

static void open_kind(struct house *house, int e, const struct run_unit_options *options)
{
    if (strcmp(house->config.engine_kind, "processes") == 0)
        open_process(house, e, options);
    else
        open_threads(house, e, options);
}

static void open_unit(struct house *house, int e)
{
    const struct config *config = &house->config;
    struct engine_place *place = &house->engines[e];
    const char *paths[LIMIT_MODELS];
    const struct model_spec *specs[LIMIT_MODELS];
    const struct tokenizer *tokenizers[LIMIT_MODELS];
    enum dtype kv_dtypes[LIMIT_MODELS];
    const struct run_adapter_files *adapters[LIMIT_MODELS];
    struct perf perfs[LIMIT_MODELS] = { 0 };
    struct kv_layout layouts[LIMIT_MODELS];
    for (int s = 0; s < house->n_services; s++) {
        const struct serve_offer *offer = &house->offers[s];
        layouts[s] = offer->layout;
        place->services[s] = serve_offer_placed(offer, &config->engines[e], s);
        paths[s] = offer->model.path;
        specs[s] = &offer->card.spec;
        tokenizers[s] = offer->card.tokenizer;
        kv_dtypes[s] = offer->kv_dtype;
        adapters[s] = serve_offer_adapters(offer);
        perfs[s] = serve_offer_perf(offer, &place->device_spec);
    }
    const struct run_unit_options options = {
        .host = { .engine = { .id = (uint16_t)e,
                              .memory_bytes = place->device_spec.memory_bytes,
                              .body_bytes = house->memory.body_bytes,
                              .n_requests_max =
                                  (uint32_t)min_i64(config->n_requests_max, ENGINE_REQUESTS_MAX),
                              .n_tokens_max = house->n_tokens_max,
                              .n_lanes = place->lanes.n,
                              .lanes = place->lanes.shares,
                              .swap_bytes = config->swap_bytes,
                              .exchange = house->bulk.exchange,
                              .kv_disk = config->kv_disk,
                              .kv_disk_bytes = config->kv_disk_bytes,
                              .role = config->engines[e].role,
                              .pad_tokens = house->chosen.policy->pads_batches ? PAD_TOKENS : 0,
                              .n_services = house->n_services,
                              .services = place->services,
                              .layouts = layouts,
                              .n_services_max = LIMIT_MODELS,
                              .kv_bounds = house->kv.bounds,
                              .kv_kind = house->chosen.kv_kind,
                              .kv_unit_bytes = house->kv.unit_bytes,
                              .kv_bytes_max = config->kv_bytes,
                              .has_prefix_cache = config->has_prefix_cache,
                              .prefix_salt = rng_system(),
                              .policy = house->chosen.policy,
                              .config = &house->chosen.schedule,
                              .log = house->recorders.logs[e],
                              .trace = house->recorders.trace },
                  .report_ns = config->report_ns },
        .device = place->device,
        .reopen = is_gpu(house, e) || place->device_spec.n_ranks > 0 ? open_place : NULL,
        .reopen_self = place,
        .paths = paths,
        .specs = specs,
        .tokenizers = tokenizers,
        .grammars = house->grammars,
        .perfs = perfs,
        .n_rows_max = wire_house_rows_max(config),
        .n_logit_rows_max = (int32_t)config->n_batch_max,
        .kv_dtypes = kv_dtypes,
        .adapters = adapters,
        .profile_ns = config->profile_ns,
        .sleep_bytes = config->sleep_bytes,
        .steady = (double)config->steady / 100,
    };
    open_kind(house, e, &options);
}

static void take_services(const struct house *house, struct service_spec *services,
                          int64_t *need_bytes)
{
    for (int s = 0; s < house->n_services; s++) {
        services[s] = house->offers[s].service;
        need_bytes[s] = house->offers[s].need_bytes;
    }
}

static bool has_no_mixed(const struct house *house)
{
    bool has_none = house->n_engines > 0;
    for (int e = 0; e < house->n_engines; e++)
        has_none = has_none && house->config.engines[e].role != ENGINE_MIXED;
    return has_none;
}

static void open_gateway(struct house *house, struct bus_port port,
                         const struct cluster_node_at *nodes, int n_nodes, uint16_t manager)
{
    struct service_spec services[LIMIT_MODELS];
    int64_t need_bytes[LIMIT_MODELS];
    take_services(house, services, need_bytes);
    house->gateway = cluster_gateway_open(&(struct cluster_gateway_options){
        .port = port,
        .nodes = nodes,
        .n_nodes = n_nodes,
        .manager = manager,
        .seed = rng_system(),
        .n_services = house->n_services,
        .n_services_max = LIMIT_MODELS,
        .services = services,
        .n_requests_max = (uint32_t)house->config.n_requests_max,
        .kv_unit_bytes = house->kv.unit_bytes,
        .router = house->chosen.router,
        .router_config = &house->chosen.route,
        .has_no_mixed = has_no_mixed(house),
        .predictor = house->chosen.predictor,
        .predictor_config = &house->chosen.lengths,
    });
}

/* A gateway's nodes are on other machines. */
static enum status open_among_others(struct house *house, struct fault *fault)
{
    struct fleet_bus *bus = &house->others;
    enum status status = fleet_bus_open(bus, &house->config, NULL, fault);
    if (status != STATUS_OK)
        return status;
    for (int s = 0; s < house->n_services; s++) /* where a model lies is for the nodes to say */
        house->offers[s].service.engines = (struct set){ { 0 } };
    open_gateway(house, cluster_tcp_bus_port(bus->tcp), bus->peers.nodes, bus->peers.n,
                 CLUSTER_GATEWAY_NO_MANAGER);
    return STATUS_OK;
}

static enum status open_cluster(struct house *house, struct fault *fault)
{
    struct cluster_engine engines[LIMIT_DEVICES];
    struct service_spec services[LIMIT_MODELS];
    int64_t need_bytes[LIMIT_MODELS];
    take_services(house, services, need_bytes);
    for (int e = 0; e < house->n_engines; e++) {
        struct wire_unit *unit = &house->engines[e].unit;
        engines[e] = (struct cluster_engine){ unit,
                                              wire_unit_service(unit),
                                              wire_unit_load,
                                              wire_unit_unload,
                                              wire_unit_drain,
                                              wire_unit_step,
                                              wire_unit_next_change,
                                              wire_unit_report,
                                              wire_unit_sleep };
    }
    const struct cluster_node_at own = { PORT_NODE, house->n_engines };
    house->bus = cluster_local_bus_open(PORTS, (uint32_t)house->memory.bus_bytes);
    const struct bus_port local = cluster_local_bus_port(house->bus, PORT_NODE);
    bool is_managed = house->config.n_store > 0;
    enum status status = fleet_bus_open(&house->others, &house->config, &local, fault);
    if (status == STATUS_OK && is_managed)
        status = wire_cluster_open_fence(house, fault);
    if (status != STATUS_OK)
        return status;
    const struct cluster_node_options node = {
        .port = house->others.tcp != NULL ? cluster_tcp_bus_port(house->others.tcp) : local,
        .manager = PORT_MANAGER,
        .fence = is_managed ? &house->fence : NULL,
        .n_engines = house->n_engines,
        .n_services = house->n_services,
        .services = services,
        .n_requests_max = (uint32_t)house->config.n_requests_max,
        .engines = engines,
        .report_ns = house->config.report_ns,
        .fits = house->chosen.router->fits,
        .place = fleet_bulk_place(&house->bulk),
        .learn = fleet_bulk_learn,
        .learn_self = &house->bulk,
    };
    const struct cluster_manager_options manager = {
        .port = cluster_local_bus_port(house->bus, PORT_MANAGER),
        .gateway = PORT_GATEWAY,
        .nodes = &own,
        .n_nodes = 1,
        .n_services = house->n_services,
        .n_services_max = LIMIT_MODELS,
        .services = services,
        .need_bytes = need_bytes,
        .is_silent = is_managed,
        .kept_bytes = house->kv.unit_bytes,
        .may_sleep = house->config.sleep_bytes > 0,
    };
    house->node = cluster_node_open(&node);
    house->manager = cluster_manager_open(&manager);
    open_gateway(house, cluster_local_bus_port(house->bus, PORT_GATEWAY), &own, 1,
                 is_managed ? CLUSTER_GATEWAY_NO_MANAGER : PORT_MANAGER);
    return STATUS_OK;
}

/* Sets the names of the rows in the trace's viewer. */
static void name_lanes(const struct house *house)
{
    for (int e = 0; e < house->n_engines && house->recorders.trace != NULL; e++) {
        const struct lanes *lanes = &house->engines[e].lanes;
        for (int32_t l = 0; l < lanes->n; l++) {
            char cores[64], name[96];
            device_print(&lanes->devices[l], cores, sizeof cores);
            snprintf(name, sizeof name, "lane %d on %s", (int)l, cores);
            metrics_trace_lane(house->recorders.trace, (uint16_t)e, (uint16_t)l, name);
        }
    }
}

/* ---- The face. ---- */

enum status wire_open(struct house **out, const struct config *config, struct fault *fault)
{
    struct house *house = mem_take(sizeof *house);
    *out = NULL;
    house->config = *config;
    house->epoll_fd = -1;
    house->grammars = grammar_cache_open(GRAMMAR_CACHE_BYTES);
    enum status status = config_check(config, fault);
    if (status == STATUS_OK && config->n_models == 0)
        status = fault_set(fault, STATUS_BAD_INPUT,
                           "no models: give --model NAME=PATH or a configuration");
    if (status == STATUS_OK) {
        chosen_of(config, &house->chosen);
        status = config_bus_is_gateway(config) ? divide_memory(house, fault)
                                               : open_devices(house, fault);
    }
    if (status == STATUS_OK)
        status = open_models(house, fault);
    if (status == STATUS_OK)
        status = check_bytes(house, fault);
    if (status == STATUS_OK)
        status = recorders_open(&house->recorders, config, house->n_engines, fault);
    if (status == STATUS_OK)
        status = serve_disk_check(config, house->n_engines, fault);
    if (status == STATUS_OK)
        status = fleet_bulk_open(&house->bulk, config, house->n_engines, fault);
    if (status != STATUS_OK) {
        (void)wire_close(house);
        return status;
    }
    wire_devices_open(house);
    house->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (house->epoll_fd < 0)
        base_refuse("the system gives no descriptor to wait for engines with: %s (ulimit -n)",
                    strerror(errno));
    wake_open(&house->kick);
    watch(house, house->kick.fd);
    for (int e = 0; e < house->n_engines; e++)
        open_unit(house, e);
    status = config_bus_is_gateway(config) ? open_among_others(house, fault)
                                           : open_cluster(house, fault);
    if (status == STATUS_OK)
        status = wire_cluster_join(house, fault);
    if (status != STATUS_OK) {
        (void)wire_close(house);
        return status;
    }
    if (house->others.tcp != NULL) {
        const struct bus_port port = cluster_tcp_bus_port(house->others.tcp);
        watch(house, port.wait_fd(port.self, port.address));
    }
    if (house->store.store != NULL)
        watch(house, house->store.store->wait_fd(house->store.store->self));
    name_lanes(house);
    *out = house;
    return STATUS_OK;
}

/* How well output lengths were predicted, per model. */
static void log_lengths(const struct house *house)
{
    const struct length_book *book = cluster_gateway_lengths(house->gateway);
    for (int s = 0; s < house->n_services; s++) {
        struct str line;
        if (book->calibrations[s].n == 0 || house->offers[s].state == OFFER_VACANT)
            continue;
        str_init(&line);
        length_calibration_print(&book->calibrations[s], house->offers[s].service.name, &line);
        log_line(LOG_INFO, "lengths", "%s predicted %.*s", book->predictor->name, (int)line.n - 1,
                 line.at);
        str_free(&line);
    }
}

struct grammar_cache *wire_grammars(const struct house *house)
{
    return house->grammars;
}

bool wire_close(struct house *house)
{
    wire_join_end(house);
    if (house->gateway) {
        log_lengths(house);
        cluster_gateway_close(house->gateway);
    }
    if (house->node) {
        cluster_manager_close(house->manager);
        cluster_node_close(house->node);
    }
    if (house->bus)
        cluster_local_bus_close(house->bus);
    fleet_store_close(&house->store);
    fleet_follow_close(&house->follow);
    fleet_bus_close(&house->others);
    for (int e = 0; e < house->n_engines; e++) {
        wire_unit_close(&house->engines[e].unit, &house->engines[e].device);
        if (house->engines[e].device != NULL) /* else it was lost */
            house->engines[e].device->close(house->engines[e].device->self);
    }
    fleet_bulk_close(&house->bulk);
    for (int e = 0; e < LIMIT_DEVICES; e++)
        process_weights_close(house->weights[e]);
    wire_devices_close(house);
    bool is_recorded = recorders_close(&house->recorders);
    grammar_cache_close(house->grammars);
    for (int s = 0; s < LIMIT_MODELS; s++)
        serve_offer_close(&house->offers[s]);
    if (house->epoll_fd >= 0) {
        wake_close(&house->kick);
        close(house->epoll_fd);
    }
    mem_give(house);
    return is_recorded;
}

int64_t wire_step(void *self, int64_t now_ns)
{
    struct house *house = self;
    int64_t wake = TIME_NEVER;
    wake_clear(&house->kick);
    int64_t store_wake = wire_cluster_step(house, now_ns);
    for (int i = 0; i < STEP_ROUNDS_MAX; i++) {
        wake = min_i64(store_wake, cluster_gateway_step(house->gateway, now_ns));
        if (!house->node)
            break; /* a gateway alone */
        wake = min_i64(wake, cluster_node_step(house->node, now_ns));
        wake = min_i64(wake, cluster_manager_step(house->manager, now_ns));
        if (!cluster_local_bus_has_mail(house->bus, PORT_NODE) &&
            !cluster_local_bus_has_mail(house->bus, PORT_MANAGER))
            break;
    }
    return min_i64(wake, wire_join_step(house, now_ns));
}

/* ---- The gateway's service, with a wakeup whenever it leaves work for wire_step. ---- */

static void kick(struct house *house)
{
    if (cluster_gateway_is_dirty(house->gateway))
        wake_up(&house->kick);
}

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct house *house = self;
    struct service service = cluster_gateway_service(house->gateway);
    bool is_taken = service.submit(service.self, request, body);
    kick(house);
    return is_taken;
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct house *house = self;
    struct service service = cluster_gateway_service(house->gateway);
    service.cancel(service.self, id, epoch);
    kick(house);
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct house *house = self;
    struct service service = cluster_gateway_service(house->gateway);
    if (service.next(service.self, event, payload))
        return true;
    kick(house);
    return false;
}

static int wait_fd(void *self)
{
    return ((struct house *)self)->epoll_fd;
}

struct service wire_service(struct house *house)
{
    return (struct service){ house, submit, cancel, next, wait_fd };
}

struct control wire_control(struct house *house)
{
    return cluster_gateway_control(house->gateway);
}

const char *const *wire_devices(const struct house *house)
{
    return house->n_engines > 0 ? house->device_names : house->others.name_texts;
}

struct event_base *wire_base(const struct house *house)
{
    return house->others.base;
}

int64_t wire_http_bytes(const struct house *house)
{
    return house->memory.http_bytes;
}
