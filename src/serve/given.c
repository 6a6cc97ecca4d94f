/* Places models by a file: the `engines:` of a scenario, on the cores of this machine. */
#include "serve/place.h"

#include "base/mem.h"
#include "base/num.h"
#include "scenario/ranks.h"
#include <string.h>

static int find_model(const struct config *config, struct view name)
{
    for (int i = 0; i < config->n_models; i++)
        if (view_equal_text(name, config->models[i].name))
            return i;
    return -1;
}

static enum status add_services(const struct config *config, const struct scenario_group *group,
                                struct serve_engine *engine, struct fault *fault)
{
    for (int i = 0; i < group->services.n; i++) {
        int model = find_model(config, view_text(group->services.at[i]));
        if (model < 0)
            return fault_set(fault, STATUS_NOT_FOUND,
                             "placement: this server has no model \"%.80s\"",
                             group->services.at[i]);
        engine->has[model] = true;
    }
    for (int i = 0; i < config->n_models && group->services.n == 0; i++)
        engine->has[i] = true;
    return STATUS_OK;
}

struct cores { /* of the machine, and those that engines have */
    const struct serve_machine *machine;
    bool is_taken[DEVICE_CORES_MAX];
};

/* Adds "chat=40" of each: shares in percent, or quotas in bytes. */
static enum status add_parts(const struct config *config, const struct flags_texts *texts,
                             bool of_quotas, struct serve_engine *engine, struct fault *fault)
{
    for (int i = 0; i < texts->n; i++) {
        struct view name;
        int64_t value;
        bool is_part = scenario_part(texts->at[i], of_quotas, &name, &value);
        int model = is_part ? find_model(config, name) : -1;
        if (model < 0 || !engine->has[model])
            return fault_set(fault, STATUS_BAD_INPUT,
                             "placement: %s: \"%.80s\" is not a model of the engine and %s",
                             of_quotas ? "quotas" : "shares", texts->at[i],
                             of_quotas ? "bytes, as chat=2GiB" : "1 to 100, as chat=40");
        if (of_quotas)
            engine->kv_bytes[model] = value;
        else
            engine->share_percent[model] = (int32_t)value;
    }
    return STATUS_OK;
}

static int32_t count_free(const struct cores *cores, int32_t socket)
{
    const struct serve_machine *machine = cores->machine;
    int32_t n = 0;
    for (int32_t i = machine->first[machine->node_first[socket]];
         i < machine->first[machine->node_first[socket + 1]]; i++)
        n += !cores->is_taken[i];
    return n;
}

/* Adds a rank of the socket's next n cores. */
static void take_from(struct cores *cores, int32_t socket, int32_t n, struct device_spec *device)
{
    const struct serve_machine *machine = cores->machine;
    int32_t end = device->n_cores + n;
    for (int32_t i = machine->first[machine->node_first[socket]]; device->n_cores < end; i++) {
        if (!cores->is_taken[i])
            device->cores[device->n_cores++] = machine->cores[i];
        cores->is_taken[i] = true;
    }
    device->rank_cores[device->n_ranks++] = n;
}

/* Takes the cores of n_ranks ranks of n_each cores, each rank's in one socket. Returns false when
 * the sockets have too few; then nothing is taken. */
static bool take_ranks(struct cores *cores, int64_t n_ranks, int64_t n_each,
                       struct device_spec *device)
{
    int64_t n_able = 0;
    for (int32_t socket = 0; socket < cores->machine->n_nodes; socket++)
        n_able += count_free(cores, socket) / n_each;
    if (n_able < n_ranks)
        return false;
    for (int32_t socket = 0; device->n_ranks < n_ranks; socket++)
        while (device->n_ranks < n_ranks && count_free(cores, socket) >= n_each)
            take_from(cores, socket, (int32_t)n_each, device);
    device->n_ranks = n_ranks > 1 ? device->n_ranks : 0; /* a device alone */
    return true;
}

/* Takes the next cores for the devices of an engine, which have n_each cores: all in one socket if
 * the file asks for no ranks and a socket has that many left, otherwise as a group of equal ranks.
 */
static enum status take_cores(struct cores *cores, const struct scenario_group *from,
                              int32_t n_each, struct serve_engine *engine, struct fault *fault)
{
    int64_t n = from->tp * n_each, n_free = 0;
    for (int32_t socket = 0; socket < cores->machine->n_nodes; socket++)
        n_free += count_free(cores, socket);
    int64_t low = max_i64(from->n_ranks, 1), high = low > 1 ? low : DEVICE_RANKS_MAX;
    struct device_spec *device = mem_take(sizeof(*device));
    bool is_taken = false;
    for (int64_t k = low; k <= high && !is_taken; k++)
        is_taken = from->tp % k == 0 && take_ranks(cores, k, n / k, device);
    if (is_taken)
        device_print(device, engine->device, sizeof(engine->device));
    mem_give(device);
    return is_taken ? STATUS_OK
                    : fault_set(fault, STATUS_TOO_LARGE,
                                "placement: an engine of %lld cores, and this machine of %d has "
                                "%lld left%s",
                                (long long)n, cores->machine->n_cores, (long long)n_free,
                                n_free >= n ? ", but its sockets can't give equal ranks" : "");
}

/* KV goes from engine to engine through host memory. */
static enum status read_role(const struct config *config, const struct scenario_group *group,
                             enum engine_role *role, struct fault *fault)
{
    enum status status = scenario_role(group, role, fault);
    if (status != STATUS_OK || *role == ENGINE_MIXED)
        return status;
    if (config->swap_bytes == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "placement: engines of the role %s hand KV over through host memory: set "
                         "swap_bytes",
                         group->role);
    if (config->log_engine != NULL)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "placement: engines of the role %s hand KV over, which log_engine can't "
                         "record: remove log_engine",
                         group->role);
    return STATUS_OK;
}

static enum status add_group(const struct config *config, const struct scenario *scenario,
                             const struct scenario_group *group, struct cores *cores,
                             struct serve_placement *out, struct fault *fault)
{
    const char *kind = group->device != NULL ? group->device : scenario->device;
    int32_t n_each = scenario_ranks_cores(kind);
    if (n_each == 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "placement: an engine runs on %.60s, and this machine has cores", kind);
    if (group->chain.n + group->scale.n + group->lanes.n > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "placement: chain, lanes and scale are for shoal sim alone");
    enum engine_role role;
    enum status status = scenario_ranks_check(group, kind, fault);
    if (status == STATUS_OK)
        status = read_role(config, group, &role, fault);
    if (status != STATUS_OK)
        return status;
    for (int64_t i = 0; i < group->count; i++) {
        if (out->n == LIMIT_DEVICES)
            return fault_set(fault, STATUS_TOO_LARGE, "placement: more than %d engines",
                             LIMIT_DEVICES);
        struct serve_engine *engine = &out->engines[out->n++];
        status = take_cores(cores, group, n_each, engine, fault);
        if (status == STATUS_OK)
            status = add_services(config, group, engine, fault);
        if (status == STATUS_OK)
            status = add_parts(config, &group->shares, false, engine, fault);
        if (status == STATUS_OK)
            status = add_parts(config, &group->quotas, true, engine, fault);
        if (status != STATUS_OK)
            return status;
        engine->role = (uint8_t)role;
        engine->memory_bytes = (int64_t)((double)group->memory_bytes * scenario->memory_part);
    }
    return STATUS_OK;
}

/* Engines whose memory the file leaves open share the rest equally. */
static enum status divide_memory(const struct serve_machine *machine, struct serve_placement *out,
                                 struct fault *fault)
{
    int64_t given = 0;
    int n_open = 0;
    for (int e = 0; e < out->n; e++) {
        given += out->engines[e].memory_bytes;
        n_open += out->engines[e].memory_bytes == 0;
    }
    if (given > machine->memory_bytes || (n_open > 0 && given == machine->memory_bytes))
        return fault_set(fault, STATUS_TOO_LARGE,
                         "placement: its engines want %lld MiB, and this server may have %lld MiB",
                         (long long)(given >> 20), (long long)(machine->memory_bytes >> 20));
    for (int e = 0; e < out->n; e++)
        if (out->engines[e].memory_bytes == 0)
            out->engines[e].memory_bytes = (machine->memory_bytes - given) / n_open;
    return STATUS_OK;
}

enum status serve_place_given(const struct config *config, const struct serve_machine *machine,
                              struct serve_placement *out, struct fault *fault)
{
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct cores *cores = mem_take(sizeof(*cores));
    enum status status = STATUS_OK;
    *out = (struct serve_placement){ 0 };
    cores->machine = machine;
    scenario_init(scenario);
    if (config->n_devices > 0 || config->n_lanes > 0)
        status =
            fault_set(fault, STATUS_BAD_INPUT, "placement: its engines replace devices and lanes");
    if (status == STATUS_OK)
        status = scenario_read(scenario, config->placement, fault);
    if (status == STATUS_OK && scenario->n_groups == 0)
        status =
            fault_set(fault, STATUS_BAD_INPUT,
                      "%.120s has no `engines:`: shoal plan --out writes them", config->placement);
    for (int g = 0; g < scenario->n_groups && status == STATUS_OK; g++)
        status = add_group(config, scenario, &scenario->groups[g], cores, out, fault);
    for (int i = 0; i < config->n_models && status == STATUS_OK; i++) {
        bool is_placed = false;
        for (int e = 0; e < out->n; e++)
            is_placed = is_placed || out->engines[e].has[i];
        if (!is_placed)
            status = fault_set(fault, STATUS_BAD_INPUT,
                               "placement: the model %.80s is on none of its engines",
                               config->models[i].name);
    }
    if (status == STATUS_OK)
        status = divide_memory(machine, out, fault);
    scenario_close(scenario);
    mem_give(cores);
    mem_give(scenario);
    return status;
}
