/* shoal serve: runs the house behind the API until it is stopped. */
#include "api/addresses.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "base/time.h"
#include "cmd/gpu.h"
#include "cmd/serve_change.h"
#include "cmd/serve_verb.h"
#include "cmd/verbs.h"
#include "cmd/wire.h"
#include "cmd/wire_join.h"
#include "cmd/wire_wishes.h"
#include "config/bus.h"
#include "metrics/metrics.h"
#include "serve/place.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const char doc[] =
    "Serves models from GGUF files or Hugging Face directories through an OpenAI-compatible "
    "endpoint, all of them from one pool "
    "of memory under one scheduler."
    "\vExample: shoal serve --model tale=models/tale.gguf --model cee=models/cee.gguf\n"
    "Settings come from the command line, the environment (SHOAL_LISTEN, ...), the file, in this "
    "order.";

static int64_t tick(void *self, int64_t now_ns)
{
    return wire_step(self, now_ns);
}

static bool leave(void *self, int64_t now_ns)
{
    return wire_leave(self, now_ns);
}

/* ---- Life. ---- */

/* Ensures the descriptors that engines, model files and the first clients need. The API requests
 * more when it knows how many clients there may be. */
static enum status check_files(struct fault *fault)
{
    enum { FILES_MIN = 64, FILES_USUAL = 1024 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return STATUS_OK;
    if (limit.rlim_cur < FILES_USUAL && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < FILES_USUAL ? limit.rlim_max : FILES_USUAL;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_max >= FILES_MIN)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "at most %llu open files are allowed (ulimit -n), and %d are needed at least",
                     (unsigned long long)limit.rlim_max, (int)FILES_MIN);
}

static enum status read_proxies(const struct config *config, struct api_net *proxies,
                                struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < config->n_proxies && status == STATUS_OK; i++)
        status = api_addresses_read_net(config->proxies[i], &proxies[i], fault);
    return status;
}

/* Opens the house, with models placed on its engines. */
static enum status open_house(struct server *server, struct fault *fault)
{
    struct config *placed = mem_take(sizeof *placed); /* where models lie is not reread */
    *placed = server->config;
    enum status status = check_files(fault);
    if (status == STATUS_OK &&
        !config_bus_is_gateway(&server->config)) { /* else its engines are its nodes' */
        gpu_choose(placed);
        status = serve_place(placed, fault);
    }
    server->config.pile = placed->pile; /* which has grown */
    if (status == STATUS_OK)
        status = wire_open(&server->house, placed, fault);
    mem_give(placed);
    return status;
}

/* Runs the API until it is stopped. */
static enum status run_api(struct server *server, const struct api_options *options, int *code,
                           struct fault *fault)
{
    enum status status = api_open(&server->api, options, fault);
    if (status != STATUS_OK)
        return status;
    wire_tell_api(server->house, server->api);
    *code = api_run(server->api);
    if (config_bus_is_gateway(&server->config))
        *code = 0; /* an engine that failed is for its node to tell */
    api_close(server->api);
    return STATUS_OK;
}

static void close_house(struct house *house, int *code)
{
    if (wire_close(house) || *code != 0)
        return;
    fprintf(stderr, "shoal: not all of log_engine or trace could be written\n");
    *code = 1;
}

static enum status serve(struct server *server, int *code, struct fault *fault)
{
    const struct config *config = &server->config;
    if (memory_limit_addresses() < INT64_MAX)
        mem_share_arena();
    enum status status = open_house(server, fault);
    if (status != STATUS_OK)
        return status;
    const struct api_model *models[LIMIT_MODELS];
    struct house *house = server->house;
    struct api_net proxies[CONFIG_PROXIES];
    status = read_proxies(config, proxies, fault);
    server->account.n_bytes_max = wire_http_bytes(house);
    (void)mem_reserve_fill();
    const struct api_options options = {
        .version = SHOAL_VERSION,
        .listen = config->listen,
        .api_key = config->api_key,
        .admin_key = config->admin_key,
        .tenants = config->tenants,
        .n_tenants = config->n_tenants,
        .usage_path = config->usage_file,
        .n_usage_days = (int32_t)config->n_usage_days,
        .quotas = config->quotas,
        .n_quotas = config->n_quotas,
        .n_quota_gateways = (int32_t)config->n_quota_gateways,
        .cors_origin = config->cors_origin,
        .tls_cert = config->tls_cert,
        .tls_key = config->tls_key,
        .is_strict = config->is_strict,
        .jumps_forward = config->jumps_forward,
        .n_requests_max = (int32_t)config->n_requests_max,
        .n_connections_max = (int32_t)config->n_connections_max,
        .account = &server->account,
        .responses = config->responses,
        .responses_bytes_max = config->responses_bytes,
        .responses_peers = config->responses_peers,
        .n_responses_peers = config->n_responses_peers,
        .grammars = wire_grammars(house),
        .proxies = proxies,
        .n_proxies = config->n_proxies,
        .body_bytes_max = config->body_bytes_max,
        .body_ns_max = config->body_ns_max,
        .drain_ns_max = config->drain_ns,
        .stall_ns = config->stall_ns,
        .hold_ns_max = config->hold_ns,
        .n_models = wire_models(house, models),
        .models = models,
        .devices = wire_devices(house),
        .base = wire_base(house),
        .service = wire_service(house),
        .control = wire_control(house),
        .tick = tick,
        .leave = leave,
        .tick_self = house,
        .metrics = wire_metrics,
        .metrics_self = house,
        .describe_engine = wire_describe_engine,
        .describe_self = house,
        .adding = serve_change_adding(server),
        .wishes = wire_wishes(house),
        .reload = serve_change_reload,
        .reload_self = server,
    };
    if (status == STATUS_OK)
        status = run_api(server, &options, code, fault);
    close_house(house, code);
    return status;
}

int serve_verb_run(const struct serve_words *words,
                   enum status (*check)(const struct config *config, struct fault *fault))
{
    struct server *server = mem_take(sizeof *server);
    struct fault fault;
    int code = 1;
    server->words = *words;
    enum status status = serve_settings_open(&server->config, &server->words, false, &fault);
    if (status == STATUS_OK && check != NULL)
        status = check(&server->config, &fault);
    if (status == STATUS_OK) {
        serve_change_set_log(&server->config);
        status = serve(server, &code, &fault);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    serve_change_end(server);
    config_free(&server->config);
    mem_give(server);
    return status == STATUS_OK ? code : 2;
}

static enum status check_alone(const struct config *config, struct fault *fault)
{
    if (config->n_store == 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "store is for a cluster: start `shoal node`, `shoal gateway` and `shoal "
                     "manager` instead of `shoal serve`, or remove it");
}

int verbs_serve(int argc, char **argv)
{
    return serve_verb_run(&(struct serve_words){ doc, argc, argv }, check_alone);
}
