/* Checks rules over several keys of the configuration: names, devices, policies. */
#include "api/addresses.h"
#include "api/http_listen.h"
#include "base/mem.h"
#include "config/bus.h"
#include "config/chosen.h"
#include "config/config.h"
#include "config/lanes.h"
#include "config/presets.h"
#include "config/registry.h"
#include "core/device.h"
#include "place/planner.h"
#include "predict/length.h"
#include "route/policy.h"
#include "schedule/policy.h"
#include "template/chat.h"
#include "usage/quotas.h"
#include <string.h>

static bool is_known_name(const struct config *config, int n_models, const char *name)
{
    for (int i = 0; i < n_models; i++) {
        if (strcmp(config->models[i].name, name) == 0)
            return true;
        for (int a = 0; a < config->models[i].n_aliases; a++) {
            if (strcmp(config->models[i].aliases[a], name) == 0)
                return true;
        }
    }
    return false;
}

bool config_devices_are_auto(const struct config *config)
{
    return config->n_devices == 1 && strcmp(config->devices[0], "auto") == 0;
}

/* `auto` becomes names of devices at the start, and then they are checked again. */
static bool has_device(const struct config *config, const char *device)
{
    if (config_devices_are_auto(config))
        return true;
    for (int i = 0; i < config->n_devices; i++) {
        if (strcmp(config->devices[i], device) == 0)
            return true;
    }
    return config->n_devices == 0 && strcmp(device, "cpu") == 0;
}

static bool is_kv_type(const char *name)
{
    enum dtype dtype;
    return chosen_kv_dtype_find(name, &dtype);
}

static bool is_speculation(const char *name)
{
    enum service_speculation kind;
    return chosen_speculation_find(name, &kind);
}

static enum status check_model(const struct config *config, int index, struct fault *fault)
{
    const struct config_model *model = &config->models[index];
    if (is_known_name(config, index, model->name))
        return fault_set(fault, STATUS_BAD_INPUT, "two models are named %s", model->name);
    for (int a = 0; a < model->n_aliases; a++) {
        bool is_own = strcmp(model->aliases[a], model->name) == 0;
        for (int b = 0; b < a; b++)
            is_own = is_own || strcmp(model->aliases[a], model->aliases[b]) == 0;
        if (is_own || is_known_name(config, index, model->aliases[a]))
            return fault_set(fault, STATUS_BAD_INPUT, "model %s: the alias %.80s is taken",
                             model->name, model->aliases[a]);
    }
    if (model->kv_type != NULL && !is_kv_type(model->kv_type))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model %s: kv_type is \"%.40s\", expected f16, f32 or q8_0", model->name,
                         model->kv_type);
    if (model->speculation != NULL && !is_speculation(model->speculation))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model %s: speculation is \"%.40s\", expected off or lookup", model->name,
                         model->speculation);
    if (model->kv_bytes_max > 0 && model->kv_bytes_min > model->kv_bytes_max)
        return fault_set(fault, STATUS_BAD_INPUT, "model %s: kv.min is larger than kv.max",
                         model->name);
    for (int i = 0; i < model->n_devices; i++) {
        if (!has_device(config, model->devices[i]))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "model %s: %.60s is not one of the devices of this server",
                             model->name, model->devices[i]);
    }
    return STATUS_OK;
}

static enum status check_devices(const struct config *config, struct fault *fault)
{
    enum status status = STATUS_OK;
    if (config_devices_are_auto(config))
        return STATUS_OK;
    struct device_spec *device = mem_take(sizeof *device);
    for (int i = 0; i < config->n_devices && status == STATUS_OK; i++) {
        if (strcmp(config->devices[i], "auto") == 0)
            status = fault_set(fault, STATUS_BAD_INPUT,
                               "devices: auto stands alone, since it takes all GPUs");
        else
            status = device_parse(config->devices[i], DEVICE_CORES_MAX, device, fault);
        for (int j = 0; j < i && status == STATUS_OK; j++) {
            if (strcmp(config->devices[i], config->devices[j]) == 0)
                status = fault_set(fault, STATUS_BAD_INPUT, "device %.60s is listed twice",
                                   config->devices[i]);
        }
    }
    mem_give(device);
    return status;
}

/* Checks that they are shares. Whether there are enough cores depends on the machine that
 * serves. */
static enum status check_lanes(const struct config *config, struct fault *fault)
{
    struct schedule_lane lanes[LIMIT_LANES];
    int32_t n;
    return config_lanes_of_shares(config->lanes, config->n_lanes, lanes, &n, fault);
}

static enum status check_tenants(const struct config *config, struct fault *fault)
{
    for (int i = 0; i < config->n_tenants; i++) {
        const char *key = strchr(config->tenants[i], '=');
        for (int j = 0; j < i; j++) {
            if (strcmp(strchr(config->tenants[j], '='), key) == 0)
                return fault_set(fault, STATUS_BAD_INPUT, "tenants %d and %d have the same key",
                                 j + 1, i + 1);
        }
    }
    return STATUS_OK;
}

static enum status check_quotas(const struct config *config, struct fault *fault)
{
    struct usage_quota quota;
    for (int i = 0; i < config->n_quotas; i++)
        if (!usage_quotas_read(&quota, config->quotas[i], fault))
            return STATUS_BAD_INPUT;
    return STATUS_OK;
}

static enum status check_policies(const struct config *config, struct fault *fault)
{
    char names[CONFIG_REGISTRY_BYTES];
    if (!presets_find(config->preset))
        return fault_set(fault, STATUS_BAD_INPUT, "there is no preset \"%.60s\"; there are: %s",
                         config->preset, config_registry_names(CONFIG_REGISTRY_PRESETS, names));
    if (config->policy && !schedule_find(config->policy))
        return fault_set(fault, STATUS_BAD_INPUT, "there is no policy \"%.60s\"; there are: %s",
                         config->policy, config_registry_names(CONFIG_REGISTRY_SCHEDULERS, names));
    if (config->router && !route_find(config->router))
        return fault_set(fault, STATUS_BAD_INPUT, "there is no router \"%.60s\"; there are: %s",
                         config->router, config_registry_names(CONFIG_REGISTRY_ROUTERS, names));
    enum kv_kind kind;
    if (config->kv && !kv_kind_find(config->kv, &kind))
        return fault_set(fault, STATUS_BAD_INPUT, "there is no KV pool \"%.60s\"; there are: %s",
                         config->kv, config_registry_names(CONFIG_REGISTRY_POOLS, names));
    struct schedule_config thresholds;
    schedule_config_init(&thresholds);
    for (int i = 0; i < config->n_thresholds; i++)
        if (schedule_config_set(&thresholds, config->thresholds[i], fault) != STATUS_OK)
            return STATUS_BAD_INPUT;
    struct route_config route;
    route_config_init(&route);
    for (int i = 0; i < config->n_router_thresholds; i++) {
        if (route_config_set(&route, config->router_thresholds[i], fault) != STATUS_OK)
            return STATUS_BAD_INPUT;
    }
    if (route.phase != ROUTE_PHASE_BOTH)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "router_thresholds: a server's phases follow from the roles of the "
                         "placement's engines; remove \"phase\" and give roles");
    struct length_config lengths;
    length_config_init(&lengths);
    const struct length_predictor *predictor =
        config->predictor ? length_parse(config->predictor, &lengths) : length_find("none");
    if (!predictor)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "there is no predictor \"%.60s\", or none with that number; there are: %s",
                         config->predictor,
                         config_registry_names(CONFIG_REGISTRY_PREDICTORS, names));
    if (predictor->hint != LENGTH_HINT_NONE)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "predictor \"%.60s\" needs lengths that only a simulation knows",
                         config->predictor);
    return STATUS_OK;
}

static enum status check_planner(const struct config *config, struct fault *fault)
{
    char names[CONFIG_REGISTRY_BYTES];
    const char *name = config->planner;
    if (name != NULL && strcmp(name, "none") != 0 && place_planner_find(name) == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "there is no planner \"%.60s\"; there are: none, %s", name,
                         config_registry_names(CONFIG_REGISTRY_PLANNERS, names));
    return STATUS_OK;
}

static enum status check_http(const struct config *config, struct fault *fault)
{
    struct api_net net;
    enum status status = STATUS_OK;
    if (config->http_bytes > 0 && config->http_bytes < CONFIG_HTTP_BYTES_MIN)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "http_memory is %lld bytes, expected at least %d MiB, or 0 for the usual",
                         (long long)config->http_bytes, CONFIG_HTTP_BYTES_MIN >> 20);
    for (int i = 0; i < config->n_responses_peers && status == STATUS_OK; i++) {
        const char *url = config->responses_peers[i];
        const char *host = strstr(url, "://");
        bool is_http = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
        if (!is_http || strpbrk(host + 3, "/?#@ ") != NULL || host[3] == '\0')
            status = fault_set(fault, STATUS_BAD_INPUT,
                               "responses_peers: \"%.100s\" is not http(s)://HOST:PORT", url);
    }
    for (int i = 0; i < config->n_proxies && status == STATUS_OK; i++)
        status = api_addresses_read_net(config->proxies[i], &net, fault);
    return status;
}

/* Checks where weights and KV go beside the engines' memory. Blocks go to the disk through host
 * memory, and are found by the names of the prefix cache. */
static enum status check_tiers(const struct config *config, struct fault *fault)
{
    if (config->sleep_bytes > 0 && strcmp(config->engine_kind, "processes") == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "sleep_bytes needs engines that are threads (engines: threads), since "
                         "weights of processes lie in memory that they share");
    if (config->kv_disk == NULL)
        return STATUS_OK;
    if (config->swap_bytes == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "kv_disk needs host memory on the way to the disk: set swap_bytes");
    if (!config->has_prefix_cache)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "kv_disk needs prefix_cache, which finds blocks again: leave out one of "
                         "the two settings");
    if (config->log_engine != NULL)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "log_engine can't record what comes from kv_disk: leave out one of the "
                         "two");
    return STATUS_OK;
}

enum status config_check(const struct config *config, struct fault *fault)
{
    static const char *const levels[] = { "debug", "info", "warn", "error" };
    bool is_level = false;
    for (size_t i = 0; i < COUNT_OF(levels); i++)
        is_level = is_level || strcmp(config->log_level, levels[i]) == 0;
    if (!is_level)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "log_level is \"%.40s\", expected debug, info, warn or error",
                         config->log_level);
    if (strcmp(config->arithmetic, "default") != 0 && strcmp(config->arithmetic, "strict") != 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "arithmetic: \"%.64s\" is neither default nor strict", config->arithmetic);
    if (strcmp(config->replacement, "off") != 0 && strcmp(config->replacement, "advise") != 0 &&
        strcmp(config->replacement, "on") != 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "replacement is \"%.40s\", expected off, advise or on",
                         config->replacement);
    if (strcmp(config->engine_kind, "threads") != 0 &&
        strcmp(config->engine_kind, "processes") != 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "engines is \"%.40s\", expected processes or threads",
                         config->engine_kind);
    if (strcmp(config->engine_kind, "processes") == 0 && (config->log_engine || config->trace))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "engines is processes, and %s records only engines that are threads: "
                         "leave out one of the two",
                         config->log_engine ? "log_engine" : "trace");
    if (!is_kv_type(config->kv_type))
        return fault_set(fault, STATUS_BAD_INPUT, "kv_type is \"%.40s\", expected f16, f32 or q8_0",
                         config->kv_type);
    if (!is_speculation(config->speculation))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "speculation is \"%.40s\", expected off or lookup", config->speculation);
    if (config->template_time != NULL && !chat_time_is_valid(config->template_time))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "template_time is \"%.40s\", expected a date such as 2026-01-31 or "
                         "2026-01-31T12:30:00",
                         config->template_time);
    if (!config->tls_cert != !config->tls_key)
        return fault_set(fault, STATUS_BAD_INPUT, "tls_cert and tls_key come together");
    if (config->log_engine && config->trace && strcmp(config->log_engine, config->trace) == 0)
        return fault_set(fault, STATUS_BAD_INPUT, "log_engine and trace name the same file");
    enum status status = config_bus_check(config, fault);
    if (status == STATUS_OK)
        status = check_policies(config, fault);
    if (status == STATUS_OK)
        status = check_planner(config, fault);
    if (status == STATUS_OK)
        status = check_devices(config, fault);
    if (status == STATUS_OK)
        status = check_tiers(config, fault);
    if (status == STATUS_OK)
        status = check_lanes(config, fault);
    if (status == STATUS_OK)
        status = api_http_listen_check(config->listen, fault);
    if (status == STATUS_OK)
        status = check_tenants(config, fault);
    if (status == STATUS_OK)
        status = check_quotas(config, fault);
    if (status == STATUS_OK)
        status = check_http(config, fault);
    for (int i = 0; i < config->n_models && status == STATUS_OK; i++)
        status = check_model(config, i, fault);
    return status;
}
