/* Makes a scenario's services and engines. */
#include "scenario/world.h"

#include "base/mem.h"
#include "config/chosen.h"
#include "config/lanes.h"
#include "predict/device.h"
#include "predict/preset.h"
#include "predict/profile.h"
#include "predict/roofline.h"
#include "scenario/pack.h"
#include "scenario/tables.h"
#include "workload/traffic.h"
#include <stdio.h>
#include <string.h>

#define MODEL_USUAL "llama-2-7b"

static const int32_t buckets[] = { 32, 64, 128, 256, 512, 1024, 2048 };

static const struct scenario_service *settings_of(const struct scenario *scenario, const char *name)
{
    for (int i = 0; i < scenario->n_services; i++)
        if (strcmp(scenario->services[i].name, name) == 0)
            return &scenario->services[i];
    return NULL;
}

/* Sets the times of the scenario, instead of those in perf. */
static void set_numbers(const struct scenario_perf *n, struct perf *perf)
{
    perf->floor_ps = n->has_floor ? (int64_t)(n->floor_ms * 1e9) : perf->floor_ps;
    perf->c1_ps = n->has_c1 ? (int64_t)(n->c1_ms * 1e9) : perf->c1_ps;
    perf->k1_ps = n->has_k1 ? (int64_t)(n->k1_us * 1e6) : perf->k1_ps;
    perf->q1_ps = n->has_q1 ? (int64_t)(n->q1_us * 1e6) : perf->q1_ps;
    for (int i = 0; i < 2; i++) {
        perf->c3_ps[i] = n->has_c3 ? (int64_t)(n->c3_ms * 1e9) : perf->c3_ps[i];
        perf->c2_ps[i] = n->has_c2 ? (int64_t)(n->c2_us * 1e6) : perf->c2_ps[i];
        perf->k2_ps[i] = n->has_k2 ? (int64_t)(n->k2_ns * 1e3) : perf->k2_ps[i];
    }
}

/* Checks a service without a model: unset terms take no time, and at least one must be set. */
static enum status check_numbers(const struct scenario_perf *n, const char *name,
                                 struct fault *fault)
{
    bool has_prefill = n->floor_ms > 0 || n->c1_ms > 0 || n->k1_us > 0 || n->q1_us > 0;
    bool has_decode = n->c3_ms > 0 || n->c2_us > 0 || n->k2_ns > 0;
    if (has_prefill && has_decode)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "service %.60s: without a model its times need one of %s above 0", name,
                     has_prefill ? "decode_ms, decode_us_per_request and decode_ns_per_context"
                                 : "prefill_ms, prefill_us_per_token, prefill_us_per_kilopair and "
                                   "floor_ms");
}

/* Returns the published times of this model on such devices, else the roofline. */
static struct perf perf_of_model(const struct predict_model *model,
                                 const struct predict_device *device, int32_t tp)
{
    const struct preset_row *row = preset_find(model, device, tp);
    struct roofline_efficiency efficiency;
    struct perf perf;
    if (row != NULL)
        return row->perf;
    predict_roofline_fit(&efficiency);
    predict_roofline_perf(model, device, tp, &efficiency, &perf);
    return perf;
}

/* Returns the file with a service's profile, from the options or the scenario; NULL: none. */
static const char *profile_of(const struct scenario *scenario, const char *name)
{
    const struct scenario_service *own = settings_of(scenario, name);
    for (int i = scenario->profiles.n - 1; i >= 0; i--) {
        const char *path = scenario_profile(scenario->profiles.at[i], name);
        if (path != NULL)
            return path;
    }
    return own != NULL ? own->profile : NULL;
}

/* Sets the times of its lanes from the profile's groups. */
static void set_cores(struct scenario_world *world, int32_t i,
                      const struct predict_profile *profile, const struct scenario_service *own,
                      double factor)
{
    struct sim_cores *cores = mem_take(sizeof(*cores));
    cores->n_cores = profile->groups[profile->n_groups - 1].n_cores;
    if (own != NULL && own->profile_cores > 0)
        cores->n_cores = min_i32(cores->n_cores, (int32_t)own->profile_cores);
    for (int32_t k = 0; k < profile->n_groups && k < SIM_CORES_GROUPS; k++) {
        struct sim_cores_group *group = &cores->groups[cores->n_groups++];
        *group = (struct sim_cores_group){ profile->groups[k].n_cores, profile->groups[k].perf };
        scenario_tables_scale(factor, &group->perf);
        if (own != NULL)
            scenario_tables_add_host(&own->host, &group->perf);
    }
    if (profile->beside.n_rounds > 0)
        memcpy(cores->beside, profile->beside.factors, sizeof(cores->beside));
    world->services[i].cores = world->cores[i] = cores;
}

/* Opens a service as it was measured: its times, and its bytes unless the scenario sets others. */
static enum status open_profile(struct scenario_world *world, const struct scenario *scenario,
                                int32_t i, struct fault *fault)
{
    const struct scenario_service *own = settings_of(scenario, world->services[i].name);
    const char *path = profile_of(scenario, world->services[i].name);
    struct predict_profile profile;
    struct sim_service *s = &world->services[i];
    if (path == NULL)
        return STATUS_OK;
    enum status status = predict_profile_read(&profile, path, fault);
    if (status != STATUS_OK)
        return status;
    int32_t n_cores =
        own != NULL && own->profile_cores > 0 ? (int32_t)own->profile_cores : INT32_MAX;
    world->profiled[i] = predict_profile_perf(&profile, n_cores);
    double factor = own != NULL && own->profile_scale > 0 ? own->profile_scale : 1;
    scenario_tables_scale(factor, &world->profiled[i]);
    world->profile_hashes[i] = predict_profile_hash(&profile);
    s->size.weights_bytes = profile.weights_bytes;
    s->size.activation_bytes = profile.activation_bytes;
    s->size.kv_bytes_per_token = profile.kv_bytes_per_token;
    if (own != NULL && own->profile_points) {
        world->points[i] = mem_take(sizeof(*world->points[i]));
        status = points_open(world->points[i], &profile, n_cores, fault);
        scenario_tables_scale(factor, &world->points[i]->perf);
        scenario_tables_host_points(&own->host, world->points[i]);
        world->truths[i] = points_truth(world->points[i]);
    }
    set_cores(world, i, &profile, own, factor);
    world->ranks[i] = scenario_ranks_open(&profile, factor);
    predict_profile_free(&profile);
    return status;
}

static enum status open_tables(struct scenario_world *world, const struct scenario_service *own,
                               int32_t i, struct fault *fault)
{
    world->costs[i] = mem_take(sizeof(*world->costs[i]));
    enum status status = scenario_tables_open(own, world->costs[i], &world->profiled[i], fault);
    world->truths[i] = costs_truth(world->costs[i]);
    return status;
}

/* Sets the bytes of a token's keys and values in this type. */
static enum status set_kv_type(struct sim_service *s, const struct predict_model *m,
                               const struct scenario_service *own, bool has_profile,
                               struct fault *fault)
{
    enum dtype dtype;
    if (own == NULL || own->kv_type == NULL)
        return STATUS_OK;
    if (!chosen_kv_dtype_find(own->kv_type, &dtype))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "service %.60s: kv_type is \"%.40s\", expected f16, f32 or q8_0", s->name,
                         own->kv_type);
    if (m == NULL || own->kv_bytes_per_token > 0 || has_profile)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "service %.60s: kv_type is for a model of the tables; a profile and "
                         "kv_bytes_per_token give the bytes themselves",
                         s->name);
    int64_t row_bytes = dtype_row_bytes(dtype, m->head_dim);
    if (row_bytes <= 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "service %.60s: its heads of %d values can't be cached as %s", s->name,
                         m->head_dim, own->kv_type);
    s->size.kv_bytes_per_token = 2 * row_bytes * m->n_kv_heads * m->n_layers;
    return STATUS_OK;
}

static enum status open_service(struct scenario_world *world, const struct scenario *scenario,
                                int32_t i, struct fault *fault)
{
    const struct workload_traffic *traffic = &world->workload.services[i];
    const char *name = traffic->name != NULL ? traffic->name : "service";
    const struct scenario_service *own = settings_of(scenario, name);
    const char *model = own != NULL && own->model != NULL ? own->model : traffic->model;
    bool has_profile = profile_of(scenario, name) != NULL;
    bool has_numbers =
        has_profile || (own != NULL && (scenario_has_perf(own) || own->tables.n > 0));
    struct workload_expected expected;
    if (own != NULL && scenario_tables_check(own, has_profile, fault) != STATUS_OK)
        return STATUS_BAD_INPUT;
    if (model == NULL && !has_numbers)
        model = MODEL_USUAL;
    world->models[i] = model != NULL ? predict_model_find(model) : NULL;
    if (world->models[i] == NULL && !has_numbers)
        return fault_set(fault, STATUS_NOT_FOUND,
                         "service %.60s: there is no model \"%.60s\"; give its numbers under "
                         "services: in a scenario, or one that docs/SIMULATOR.md lists",
                         name, model);
    const struct predict_model *m = world->models[i];
    if (m == NULL && !has_profile && own->tables.n == 0 &&
        check_numbers(&own->perf, name, fault) != STATUS_OK)
        return STATUS_BAD_INPUT;
    struct sim_service *s = &world->services[i];
    *s = (struct sim_service){ .name = name, .size.kv_bytes_per_token = 131072 };
    if (m != NULL) {
        s->size.weights_bytes = predict_model_weights_bytes(m);
        s->size.kv_bytes_per_token = predict_model_kv_bytes_per_token(m);
        s->size.n_heads = m->n_layers * m->n_kv_heads;
        s->size.activation_bytes = s->size.weights_bytes / 16;
    }
    if (set_kv_type(s, m, own, has_profile, fault) != STATUS_OK ||
        open_profile(world, scenario, i, fault) != STATUS_OK)
        return STATUS_BAD_INPUT;
    if (own != NULL && own->tables.n > 0 && open_tables(world, own, i, fault) != STATUS_OK)
        return STATUS_BAD_INPUT;
    struct service_slo slo = scenario->slo;
    if (own != NULL) {
        s->size.weights_bytes = own->weights_bytes > 0 ? own->weights_bytes : s->size.weights_bytes;
        s->size.activation_bytes =
            own->activation_bytes > 0 ? own->activation_bytes : s->size.activation_bytes;
        if (own->kv_bytes_per_token > 0) {
            s->size.kv_bytes_per_token = own->kv_bytes_per_token;
            s->size.n_heads = 0;
        }
        s->joins_ns = own->joins_ns;
        s->leaves_ns = own->leaves_ns;
        s->size.kv_bytes_min = own->kv_bytes_min;
        s->size.kv_bytes_max = own->kv_bytes_max;
        slo.ttft_ns = own->slo.ttft_ns > 0 ? own->slo.ttft_ns : slo.ttft_ns;
        slo.tpot_ns = own->slo.tpot_ns > 0 ? own->slo.tpot_ns : slo.tpot_ns;
        slo.e2e_ns = own->slo.e2e_ns > 0 ? own->slo.e2e_ns : slo.e2e_ns;
    }
    workload_expect(&world->workload, i, &expected);
    world->rates_per_s[i] = expected.rate_per_s;
    world->scores[i] = (struct score_service){ .slo = slo };
    return STATUS_OK;
}

void scenario_world_perf(const struct scenario_world *world, const struct scenario *scenario,
                         int32_t i, const struct predict_device *device, int32_t tp,
                         struct perf *perf)
{
    const struct scenario_service *own = settings_of(scenario, world->services[i].name);
    bool is_measured = world->profile_hashes[i] != 0 || world->costs[i] != NULL;
    if (is_measured)
        *perf = world->profiled[i];
    else if (world->models[i] != NULL)
        *perf = perf_of_model(world->models[i], device, tp);
    else
        *perf = (struct perf){ .b_switch = 64, .prefill_scale = 1, .decode_scale = 1 };
    if (own != NULL && !is_measured)
        set_numbers(&own->perf, perf);
    if (own != NULL && world->costs[i] == NULL) /* tables have it already */
        scenario_tables_add_host(&own->host, perf);
}

void scenario_world_base(const struct perf *perf, struct score_base *base)
{
    int64_t decode_ps = 0;
    base->n = (int32_t)COUNT_OF(buckets);
    for (int32_t b = 0; b < base->n; b++) {
        base->tokens[b] = buckets[b];
        base->prefill_ns[b] = perf_solo_ps(perf, buckets[b], 1) / 1000;
        decode_ps += perf_decode_span_ps(perf, 1, buckets[b], 1) / base->n;
    }
    base->decode_ns = decode_ps / 1000;
}

/* Takes the times from the first kind of engine that has the service. */
static void open_base(struct scenario_world *world, int32_t i, const struct perf *perf)
{
    scenario_world_base(perf, &world->scores[i].base);
    world->services[i].perf = *perf;
}

static enum status find_service(const struct scenario_world *world, const char *name,
                                struct set *services, struct fault *fault)
{
    for (int32_t i = 0; i < world->workload.n_services; i++) {
        if (strcmp(world->services[i].name, name) == 0) {
            set_add(services, i);
            return STATUS_OK;
        }
    }
    return fault_set(fault, STATUS_NOT_FOUND, "engines: the workload has no service \"%.80s\"",
                     name);
}

static void add_engines(struct scenario_world *world, int64_t count, int group,
                        const struct set *services, int64_t memory_bytes,
                        const struct predict_device *device)
{
    int64_t n_devices = world->group_devices[group];
    size_t old = (size_t)world->n_engines * sizeof(*world->engines);
    size_t more = (size_t)count * sizeof(*world->engines);
    world->engines = mem_grow(world->engines, old, old + more);
    for (int64_t i = 0; i < count; i++)
        world->engines[world->n_engines++] = (struct sim_engine_spec){
            .services = *services,
            .memory_bytes = memory_bytes,
            .n_devices = (int32_t)n_devices,
            .bytes_per_s = device->bytes_per_s * (double)n_devices,
            .perfs = world->perfs[group],
            .truths = world->truths,
            .parts = world->parts[group],
            .scale = world->is_scaled[group] ? &world->scales[group] : NULL,
        };
    world->n_devices += count * n_devices;
    world->flops_per_s += device->flops_per_s * (double)(count * n_devices);
    world->bytes_per_s += device->bytes_per_s * (double)(count * n_devices);
}

static const struct predict_device *device_named(const char *name, struct fault *fault)
{
    const struct predict_device *device = predict_device_find(name);
    if (device == NULL)
        (void)fault_set(fault, STATUS_NOT_FOUND, "there is no device \"%.24s\"; there are: %s",
                        name, predict_device_names());
    return device;
}

enum status scenario_role(const struct scenario_group *group, enum engine_role *role,
                          struct fault *fault)
{
    static const char *const names[ENGINE_ROLES] = { "mixed", "prefill", "decode" };
    int i = 0;
    while (group->role != NULL && i < ENGINE_ROLES && strcmp(group->role, names[i]) != 0)
        i++;
    if (i == ENGINE_ROLES)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "engines: a role is mixed, prefill or decode, not \"%.40s\"", group->role);
    *role = (enum engine_role)i;
    return STATUS_OK;
}

static enum status set_role(struct scenario_world *world, const struct scenario_group *group,
                            struct fault *fault)
{
    enum engine_role role;
    enum status status = scenario_role(group, &role, fault);
    if (status != STATUS_OK)
        return status;
    for (int64_t i = 1; i <= group->count; i++)
        world->engines[world->n_engines - i].role = (uint8_t)role;
    return STATUS_OK;
}

/* Sets own lanes of the last n engines. */
static enum status set_lanes(struct scenario_world *world, const struct flags_texts *lanes,
                             int64_t n, struct fault *fault)
{
    for (int64_t i = 1; i <= n && lanes->n > 0; i++) {
        struct sim_engine_spec *engine = &world->engines[world->n_engines - i];
        enum status status =
            config_lanes_of_shares(lanes->at, lanes->n, engine->lanes, &engine->n_lanes, fault);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Checks that some engine takes prompts, and that some engine continues prefilled requests. */
static enum status check_roles(const struct scenario_world *world, const struct set *all,
                               struct fault *fault)
{
    struct set sets[3] = { { { 0 } } }, with_prompts;
    for (int32_t e = 0; e < world->n_engines; e++)
        set_add_all(&sets[world->engines[e].role], &world->engines[e].services);
    with_prompts = sets[SIM_MIXED];
    set_add_all(&with_prompts, &sets[SIM_PREFILL]);
    if (!set_covers(&with_prompts, all))
        return fault_set(fault, STATUS_BAD_INPUT, "engines: some services lie on none of them%s",
                         !set_is_empty(&sets[SIM_DECODE]) ? " that takes prompts" : "");
    if (!set_covers(&sets[SIM_DECODE], &sets[SIM_PREFILL]))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "engines: some services are prefilled and lie on none that decodes");
    return STATUS_OK;
}

/* Reads "chat=40": shares in percent, or quotas in bytes, of the services of a group. */
static enum status set_parts(const struct scenario_world *world, const struct flags_texts *texts,
                             bool of_quotas, const struct set *services,
                             struct sim_engine_part *parts, struct fault *fault)
{
    for (int i = 0; i < texts->n; i++) {
        struct view name;
        int64_t value;
        int32_t service = 0, n = world->workload.n_services;
        bool is_part = scenario_part(texts->at[i], of_quotas, &name, &value);
        while (
            is_part && service < n &&
            (!set_has(services, service) || !view_equal_text(name, world->services[service].name)))
            service++;
        if (!is_part || service == n)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "engines: %s: \"%.80s\" is not a service of the group and %s",
                             of_quotas ? "quotas" : "shares", texts->at[i],
                             of_quotas ? "bytes, as chat=2GiB" : "1 to 100, as chat=40");
        if (of_quotas)
            parts[service].kv_bytes = value;
        else
            parts[service].share_percent = (int32_t)value;
    }
    return STATUS_OK;
}

/* Opens an engine of one service whose layers are spread over a chain of devices. */
static enum status open_chain(struct scenario_world *world, const struct scenario *scenario, int g,
                              const struct set *services, struct fault *fault)
{
    struct scenario_chain_made *made = &world->chains[g];
    struct scenario_chain_ask ask = { .scenario = scenario,
                                      .group = &scenario->groups[g],
                                      .first_device = world->n_chain_devices };
    ask.service = set_next(services, 0, LIMIT_SERVICES);
    const struct sim_service *s = &world->services[ask.service];
    const struct scenario_service *own = settings_of(scenario, s->name);
    bool is_measured = world->profile_hashes[ask.service] != 0 ||
                       world->costs[ask.service] != NULL || (own != NULL && scenario_has_perf(own));
    bool is_alone = set_next(services, ask.service + 1, LIMIT_SERVICES) < 0;
    if (is_alone && !is_measured)
        ask.model = world->models[ask.service];
    ask.size = s->size;
    enum status status = scenario_chain_make(made, &ask, fault);
    if (status != STATUS_OK)
        return status;
    const struct predict_device all = { .flops_per_s = made->flops_per_s / ask.group->chain.n,
                                        .bytes_per_s = made->bytes_per_s / ask.group->chain.n };
    world->perfs[g][ask.service] = made->perf;
    world->group_devices[g] = made->chain.n_devices;
    world->n_chain_devices += made->chain.n_devices;
    add_engines(world, 1, g, services, made->memory_bytes, &all);
    world->engines[world->n_engines - 1].chain = &made->chain;
    open_base(world, ask.service, &made->perf);
    return STATUS_OK;
}

/* Sets the times of service i on the engines of group g. */
static enum status set_times(struct scenario_world *world, const struct scenario *scenario, int g,
                             int32_t i, struct fault *fault)
{
    const struct scenario_group *group = &scenario->groups[g];
    const char *device = group->device != NULL ? group->device : scenario->device;
    const struct scenario_service *own = settings_of(scenario, world->services[i].name);
    struct perf *perf = &world->perfs[g][i];
    if (group->n_ranks <= 1) {
        scenario_world_perf(world, scenario, i, predict_device_find(device), (int32_t)group->tp,
                            perf);
        return STATUS_OK;
    }
    if (own != NULL && (own->profile_points || own->profile_cores > 0))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "service %.60s: profile_points and profile_cores are not for an engine "
                         "with ranks",
                         own->name);
    enum status status =
        scenario_ranks_perf(world->ranks[i], group, device, world->services[i].name, perf, fault);
    if (status == STATUS_OK && own != NULL)
        scenario_tables_add_host(&own->host, perf);
    return status;
}

/* Engines as the scenario lists them. */
static enum status open_groups(struct scenario_world *world, const struct scenario *scenario,
                               struct fault *fault)
{
    const struct set all = set_of_first(world->workload.n_services);
    const struct flags_texts one_lane = { .n = 1, .at = { "1" } };
    struct set seen = { { 0 } };
    for (int g = 0; g < scenario->n_groups; g++) {
        const struct scenario_group *group = &scenario->groups[g];
        const char *name = group->device != NULL ? group->device : scenario->device;
        const struct predict_device *device = device_named(name, fault);
        struct set services = { { 0 } };
        enum status status = device != NULL ? STATUS_OK : STATUS_NOT_FOUND;
        for (int i = 0; i < group->services.n && status == STATUS_OK; i++)
            status = find_service(world, group->services.at[i], &services, fault);
        if (status == STATUS_OK)
            status = scenario_ranks_check(group, name, fault);
        if (status != STATUS_OK)
            return status;
        services = group->services.n > 0 ? services : all;
        if (group->chain.n > 0) {
            status = open_chain(world, scenario, g, &services, fault);
            if (status == STATUS_OK)
                status = set_lanes(world, &group->lanes, 1, fault);
            if (status != STATUS_OK)
                return status;
            set_add_all(&seen, &services);
            continue;
        }
        status = set_parts(world, &group->shares, false, &services, world->parts[g], fault);
        if (status == STATUS_OK)
            status = set_parts(world, &group->quotas, true, &services, world->parts[g], fault);
        scale_config_init(&world->scales[g]);
        world->is_scaled[g] = group->scale.n > 0;
        for (int i = 0; i < group->scale.n && status == STATUS_OK; i++)
            status = scale_config_set(&world->scales[g], group->scale.at[i], fault);
        if (status != STATUS_OK)
            return status;
        int64_t memory =
            group->memory_bytes > 0 ? group->memory_bytes : device->memory_bytes * group->tp;
        memory = (int64_t)((double)memory * scenario->memory_part);
        world->group_devices[g] = group->tp;
        int64_t needed = 0;
        for (int32_t i = 0; i < world->workload.n_services; i++) {
            if (!set_has(&services, i))
                continue;
            status = set_times(world, scenario, g, i, fault);
            if (status != STATUS_OK)
                return status;
            if (!set_has(&seen, i))
                open_base(world, i, &world->perfs[g][i]);
            needed +=
                world->services[i].size.weights_bytes + world->services[i].size.activation_bytes;
        }
        needed += needed / 64; /* a pool of some units is left */
        if (needed > memory)
            return fault_set(fault, STATUS_TOO_LARGE,
                             "engines: group %d: its services take %.1f GiB of %.1f without KV",
                             g + 1, (double)needed * 0x1p-30, (double)memory * 0x1p-30);
        set_add_all(&seen, &services);
        add_engines(world, group->count, g, &services, memory, device);
        if (set_role(world, group, fault) != STATUS_OK ||
            set_lanes(world, group->n_ranks > 1 ? &one_lane : &group->lanes, group->count, fault) !=
                STATUS_OK)
            return STATUS_BAD_INPUT;
    }
    enum status status = scenario_chain_check(scenario, world->n_chain_devices, fault);
    return status == STATUS_OK ? check_roles(world, &all, fault) : status;
}

/* Returns the seconds of engine time that a service needs per second, in batches of 32. */
static double load_of(const struct scenario_world *world, int32_t i, const struct perf *perf)
{
    struct workload_expected expected;
    workload_expect(&world->workload, i, &expected);
    int64_t context = (int64_t)(expected.n_prompt + expected.n_output / 2);
    double prefill_s =
        (double)perf_solo_ps(perf, max_i64((int64_t)expected.n_prompt, 1), 1) * 1e-12;
    double decode_s = (double)perf_decode_span_ps(perf, 32, 32 * context, 1) * 1e-12 / 32;
    return expected.rate_per_s * (prefill_s + expected.n_output * decode_s);
}

/* Equal engines, with services packed onto them. */
static enum status open_packed(struct scenario_world *world, const struct scenario *scenario,
                               const struct scenario_world_ask *ask, struct fault *fault)
{
    double load_scale = ask->packed_rate_scale > 0 ? ask->packed_rate_scale / ask->rate_scale : 1;
    const struct predict_device *device = device_named(scenario->device, fault);
    struct scenario_pack pack = {
        .n_services = world->workload.n_services,
        .n_engines = (int32_t)(ask->n_engines > 0 ? ask->n_engines : scenario->n_engines)
    };
    int64_t tp = scenario->tp > 0 ? scenario->tp : 1;
    if (device == NULL)
        return STATUS_NOT_FOUND;
    for (int32_t i = 0; i < pack.n_services && scenario->tp == 0; i++) {
        int32_t tp_min =
            world->models[i] != NULL ? predict_model_tp_min(world->models[i], device, 0.3) : 1;
        if (tp_min == 0)
            return fault_set(fault, STATUS_TOO_LARGE, "service %.60s fits no node of %s",
                             world->services[i].name, device->name);
        tp = max_i64(tp, tp_min);
    }
    world->group_devices[0] = tp;
    int64_t memory =
        scenario->memory_bytes > 0 ? scenario->memory_bytes : device->memory_bytes * tp;
    pack.memory_bytes = (int64_t)((double)memory * scenario->memory_part);
    for (int32_t i = 0; i < pack.n_services; i++) {
        scenario_world_perf(world, scenario, i, device, (int32_t)tp, &world->perfs[0][i]);
        open_base(world, i, &world->perfs[0][i]);
        pack.weights_bytes[i] =
            world->services[i].size.weights_bytes + world->services[i].size.activation_bytes;
        pack.loads[i] = load_scale * load_of(world, i, &world->perfs[0][i]);
    }
    int32_t stuck = scenario_pack_solve(&pack);
    if (stuck >= 0) {
        enum status status = fault_set(
            fault, STATUS_TOO_LARGE,
            "service %.60s (%.1f GiB) finds no room: more --engines, --tp or another --device",
            world->services[stuck].name, (double)pack.weights_bytes[stuck] * 0x1p-30);
        scenario_pack_free(&pack);
        return status;
    }
    for (int32_t e = 0; e < pack.n_engines; e++)
        add_engines(world, 1, 0, &pack.sets[e], pack.memory_bytes, device);
    scenario_pack_free(&pack);
    return STATUS_OK;
}

enum status scenario_world_open_services(struct scenario_world *world,
                                         const struct scenario *scenario,
                                         const struct scenario_world_ask *ask, struct fault *fault)
{
    const struct traffic_options traffic = { .seed = ask->seed,
                                             .n_requests = (uint64_t)scenario->n_requests,
                                             .duration_ns = scenario->duration_ns,
                                             .rate_scale = ask->rate_scale,
                                             .run_length = scenario->run_length,
                                             .length_noise = scenario->length_noise };
    memset(world, 0, sizeof(*world));
    enum status status = traffic_parse(&world->workload, &scenario->workload, &traffic, fault);
    for (int32_t i = 0; i < world->workload.n_services && status == STATUS_OK; i++)
        status = open_service(world, scenario, i, fault);
    return status;
}

static bool is_name(const char *text, const char *service)
{
    return strcmp(text, service) == 0;
}

static bool is_profile(const char *text, const char *service)
{
    return scenario_profile(text, service) != NULL;
}

static bool is_of_any(struct scenario_world *const *worlds, int n_worlds, const char *text,
                      bool (*is_of)(const char *text, const char *service))
{
    for (int w = 0; w < n_worlds; w++)
        for (int32_t i = 0; i < worlds[w]->workload.n_services; i++)
            if (is_of(text, worlds[w]->services[i].name))
                return true;
    return false;
}

enum status scenario_world_check(struct scenario_world *const *worlds, int n_worlds,
                                 const struct scenario *scenario, struct fault *fault)
{
    for (int i = 0; i < scenario->n_services; i++)
        if (!is_of_any(worlds, n_worlds, scenario->services[i].name, is_name))
            return fault_set(fault, STATUS_NOT_FOUND,
                             "services: the workload has no service \"%.80s\"",
                             scenario->services[i].name);
    for (int i = 0; i < scenario->profiles.n; i++)
        if (!is_of_any(worlds, n_worlds, scenario->profiles.at[i], is_profile))
            return fault_set(fault, STATUS_NOT_FOUND,
                             "--profile is SERVICE=FILE of a service of the workload, not "
                             "\"%.80s\"",
                             scenario->profiles.at[i]);
    return STATUS_OK;
}

enum status scenario_world_open(struct scenario_world *world, const struct scenario *scenario,
                                const struct scenario_world_ask *ask, struct fault *fault)
{
    enum status status = scenario_world_open_services(world, scenario, ask, fault);
    world->n_made = max_i32(scenario->n_groups, 1);
    world->perfs = mem_take((size_t)world->n_made * sizeof(*world->perfs));
    world->parts = mem_take((size_t)world->n_made * sizeof(*world->parts));
    world->chains = mem_take((size_t)world->n_made * sizeof(*world->chains));
    if (status != STATUS_OK)
        return status;
    if (scenario_world_check(&world, 1, scenario, fault) != STATUS_OK)
        return STATUS_NOT_FOUND;
    if (scenario->n_groups > 0)
        return open_groups(world, scenario, fault);
    status = scenario_chain_check(scenario, 0, fault);
    return status == STATUS_OK ? open_packed(world, scenario, ask, fault) : status;
}

void scenario_world_close(struct scenario_world *world)
{
    workload_free(&world->workload);
    for (int i = 0; i < LIMIT_SERVICES; i++) {
        if (world->costs[i] != NULL)
            costs_free(world->costs[i]);
        if (world->points[i] != NULL)
            points_free(world->points[i]);
        mem_give(world->costs[i]);
        mem_give(world->points[i]);
        mem_give(world->cores[i]);
        scenario_ranks_close(world->ranks[i]);
    }
    mem_give(world->engines);
    mem_give(world->perfs);
    mem_give(world->parts);
    for (int g = 0; g < world->n_made && world->chains != NULL; g++)
        scenario_chain_free(&world->chains[g]);
    mem_give(world->chains);
}
