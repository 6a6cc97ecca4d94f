/* shoal serve: the house behind the API, until it is told to stop. */
#include "api/addresses.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "base/time.h"
#include "cmd/config_table.h"
#include "cmd/options.h"
#include "cmd/serve_place.h"
#include "cmd/verbs.h"
#include "cmd/wire.h"
#include "metrics/metrics.h"
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

struct server {
    int argc;
    char **argv;
    struct config config; /* what the house was built from, and owns the texts of */
    struct config *fresh; /* what SIGHUP read last: its keys and its log level are in force */
    struct api *api;
    struct mem_account account; /* of what is held for clients */
};

static int64_t tick(void *self, int64_t now_ns)
{
    return wire_step(self, now_ns);
}

static void set_log(const struct config *config)
{
    static const char *const names[] = { "debug", "info", "warn", "error" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(config->log_level, names[i]) == 0)
            log_set((enum log_level)i, config->log_json);
    }
}

/* A pipe has given all that it had, or makes its reader wait: it is not read again. */
static enum status check_again(const char *path, struct fault *fault)
{
    struct file_map map;
    enum status status = path ? file_map_open(&map, path, fault) : STATUS_OK;
    if (path && status == STATUS_OK)
        file_map_close(&map);
    return status;
}

/* The first line of a key file. */
static enum status read_key(struct config *config, const char *path, const char **key,
                            struct fault *fault)
{
    char *content;
    size_t n_bytes;
    if (!path)
        return STATUS_OK;
    enum status status = file_read(path, 4096, &content, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    *key = pile_text(&config->pile, content, strcspn(content, "\r\n"));
    mem_give(content);
    return **key ? STATUS_OK
                 : fault_set(fault, STATUS_BAD_INPUT, "%.120s: the key file is empty", path);
}

/* The file, over it the environment, over that the command line, and the keys from their files. */
static enum status read_settings(struct config *config, const struct server *server, bool is_again,
                                 struct fault *fault)
{
    const char *plain[1];
    int n_plain;
    const struct options_verb verb = {
        .doc = doc, .arguments = "[CONFIG.yaml]", .has_config = true, .n_max = 1, .fault = fault
    };

    /* Twice: the first pass finds the file, the second puts the command line over it. */
    int argc = server->argc;
    char **argv = server->argv;
    config_init(config);
    bool is_ok = options_parse(&verb, argc, argv, config, plain, &n_plain);
    config_free(config);
    config_init(config);
    if (!is_ok)
        return STATUS_BAD_INPUT;
    enum status status = is_again && n_plain > 0 ? check_again(plain[0], fault) : STATUS_OK;
    if (status == STATUS_OK && n_plain > 0)
        status = config_read(config, plain[0], fault);
    if (status == STATUS_OK)
        status = config_read_environment(config, fault);
    if (status == STATUS_OK && !options_parse(&verb, argc, argv, config, plain, &n_plain))
        return STATUS_BAD_INPUT;
    if (status == STATUS_OK && is_again)
        status = check_again(config->api_key_file, fault);
    if (status == STATUS_OK && is_again)
        status = check_again(config->admin_key_file, fault);
    if (status == STATUS_OK)
        status = read_key(config, config->api_key_file, &config->api_key, fault);
    if (status == STATUS_OK)
        status = read_key(config, config->admin_key_file, &config->admin_key, fault);
    return status;
}

/* ---- SIGHUP: all is read again; what can change while we run does, the rest is named. ---- */

static bool is_text_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_value_equal(const struct config_key *key, const void *a, const void *b)
{
    const unsigned char *at_a = (const unsigned char *)a + key->offset;
    const unsigned char *at_b = (const unsigned char *)b + key->offset;
    const char *const *texts_a = (const char *const *)(const void *)at_a;
    const char *const *texts_b = (const char *const *)(const void *)at_b;
    if (key->type == CONFIG_TEXT)
        return is_text_equal(*texts_a, *texts_b);
    if (key->type != CONFIG_TEXTS)
        return memcmp(at_a, at_b, key->type == CONFIG_BOOL ? sizeof(bool) : sizeof(int64_t)) == 0;
    int n_a, n_b;
    memcpy(&n_a, (const unsigned char *)a + key->n_offset, sizeof n_a);
    memcpy(&n_b, (const unsigned char *)b + key->n_offset, sizeof n_b);
    for (int i = 0; i < n_a && n_a == n_b; i++) {
        if (!is_text_equal(texts_a[i], texts_b[i]))
            return false;
    }
    return n_a == n_b;
}

static void name_changes(const struct config_key *keys, int n_keys, const void *old,
                         const void *fresh, const char *of)
{
    static const char *const live[] = { "log_level", "log_json",       "api_key", "api_key_file",
                                        "admin_key", "admin_key_file", "tenants" };
    for (int i = 0; i < n_keys; i++) {
        bool is_live = false;
        for (size_t k = 0; k < COUNT_OF(live); k++)
            is_live = is_live || strcmp(keys[i].name, live[k]) == 0;
        if (!is_live && !is_value_equal(&keys[i], old, fresh))
            log_line(LOG_WARN, "reload", "%s%s changes with a restart only", of, keys[i].name);
    }
}

static void name_model_changes(const struct config *old, const struct config *fresh)
{
    int n_keys;
    const struct config_key *keys = config_table_models(&n_keys);
    if (old->n_models != fresh->n_models)
        log_line(LOG_WARN, "reload", "models come and go from the list with a restart only");
    for (int i = 0; i < old->n_models; i++) {
        char of[LIMIT_NAME_BYTES + 16];
        snprintf(of, sizeof of, "model %s: ", old->models[i].name);
        for (int k = 0; k < fresh->n_models; k++) {
            if (strcmp(old->models[i].name, fresh->models[k].name) == 0)
                name_changes(keys, n_keys, &old->models[i], &fresh->models[k], of);
        }
    }
}

static void reload(void *self)
{
    struct server *server = self;
    struct config *fresh = mem_take(sizeof *fresh);
    struct fault fault;
    int n_keys;
    enum status status = read_settings(fresh, server, true, &fault);
    if (status == STATUS_OK)
        status = config_check(fresh, &fault);
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "reload", "nothing changed: %s", fault.text);
        config_free(fresh);
        mem_give(fresh);
        return;
    }
    const struct config_key *keys = config_table_globals(&n_keys);
    set_log(fresh);
    api_set_keys(server->api, fresh->api_key, fresh->admin_key, fresh->tenants, fresh->n_tenants);
    name_changes(keys, n_keys, &server->config, fresh, "");
    name_model_changes(&server->config, fresh);
    log_line(LOG_INFO, "reload", "log level and keys are as the configuration says now");
    if (server->fresh)
        config_free(server->fresh);
    mem_give(server->fresh);
    server->fresh = fresh;
}

/* ---- Life. ---- */

/* What engines, model files and the first clients need: without it they would end in the middle. */
static enum status check_files(struct fault *fault)
{
    enum { FILES_MIN = 64 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= FILES_MIN)
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

static enum status serve(struct server *server, int *code, struct fault *fault)
{
    struct config *placed = mem_take(sizeof *placed); /* where models lie is not reread */
    struct house *house;
    int n_models;
    *placed = server->config;
    if (memory_limit_addresses() < INT64_MAX)
        mem_share_arena();
    enum status status = check_files(fault);
    if (status == STATUS_OK)
        status = config_check(placed, fault);
    if (status == STATUS_OK)
        status = serve_place(placed, fault);
    server->config.pile = placed->pile; /* which has grown */
    const struct config *config = &server->config;
    if (status == STATUS_OK)
        status = wire_open(&house, placed, fault);
    mem_give(placed);
    if (status != STATUS_OK)
        return status;
    const struct api_model *models = wire_models(house, &n_models);
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
        .cors_origin = config->cors_origin,
        .tls_cert = config->tls_cert,
        .tls_key = config->tls_key,
        .is_strict = config->is_strict,
        .n_requests_max = (int32_t)config->n_requests_max,
        .n_connections_max = (int32_t)config->n_connections_max,
        .account = &server->account,
        .proxies = proxies,
        .n_proxies = config->n_proxies,
        .body_bytes_max = config->body_bytes_max,
        .body_ns_max = config->body_ns_max,
        .drain_ns_max = config->drain_ns,
        .stall_ns = config->stall_ns,
        .hold_ns_max = config->hold_ns,
        .n_models = n_models,
        .models = models,
        .devices = wire_devices(house),
        .service = wire_service(house),
        .control = wire_control(house),
        .tick = tick,
        .tick_self = house,
        .metrics = wire_metrics,
        .metrics_self = house,
        .reload = reload,
        .reload_self = server,
    };
    if (status == STATUS_OK)
        status = api_open(&server->api, &options, fault);
    if (status == STATUS_OK) {
        *code = api_run(server->api);
        api_close(server->api);
    }
    if (!wire_close(house) && *code == 0) {
        fprintf(stderr, "shoal: not all of log_engine or trace could be written\n");
        *code = 1;
    }
    return status;
}

int verbs_serve(int argc, char **argv)
{
    struct server *server = mem_take(sizeof *server);
    struct fault fault;
    int code = 1;
    server->argc = argc;
    server->argv = argv;
    enum status status = read_settings(&server->config, server, false, &fault);
    if (status == STATUS_OK) {
        set_log(&server->config);
        status = serve(server, &code, &fault);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    config_free(&server->config);
    if (server->fresh)
        config_free(server->fresh);
    mem_give(server->fresh);
    mem_give(server);
    return status == STATUS_OK ? code : 2;
}
