/* shoal serve: the house behind the API, until it is told to stop. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/options.h"
#include "cmd/verbs.h"
#include "cmd/wire.h"
#include "metrics/metrics.h"
#include <stdio.h>
#include <string.h>

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

static void set_log(const struct config *config)
{
    static const char *const names[] = { "debug", "info", "warn", "error" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(config->log_level, names[i]) == 0)
            log_set((enum log_level)i, config->log_json);
    }
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

static enum status serve(struct config *config, int *code, struct fault *fault)
{
    struct house *house;
    struct api *api;
    int n_models;
    enum status status = read_key(config, config->api_key_file, &config->api_key, fault);
    if (status == STATUS_OK)
        status = read_key(config, config->admin_key_file, &config->admin_key, fault);
    if (status == STATUS_OK)
        status = wire_open(&house, config, fault);
    if (status != STATUS_OK)
        return status;
    const struct api_model *models = wire_models(house, &n_models);
    const struct api_options options = {
        .listen = config->listen,
        .api_key = config->api_key,
        .admin_key = config->admin_key,
        .cors_origin = config->cors_origin,
        .tls_cert = config->tls_cert,
        .tls_key = config->tls_key,
        .is_strict = config->is_strict,
        .n_requests_max = (int32_t)config->n_requests_max,
        .n_connections_max = (int32_t)config->n_connections_max,
        .body_bytes_max = config->body_bytes_max,
        .drain_ns_max = config->drain_ns,
        .hold_ns_max = config->hold_ns,
        .n_models = n_models,
        .models = models,
        .service = wire_service(house),
        .control = wire_control(house),
        .tick = tick,
        .tick_self = house,
    };
    status = api_open(&api, &options, fault);
    if (status == STATUS_OK) {
        *code = api_run(api);
        api_close(api);
    }
    wire_close(house);
    return status;
}

int verbs_serve(int argc, char **argv)
{
    struct config config;
    struct fault fault;
    const char *plain[1];
    int n_plain, code = 1;
    const struct options_verb verb = { doc, "[CONFIG.yaml]", true, NULL, 0, 1, NULL, 0 };

    /* Twice: the first pass finds the file, the second puts the command line over it. */
    config_init(&config);
    if (!options_parse(&verb, argc, argv, &config, plain, &n_plain))
        return 2;
    config_free(&config);
    config_init(&config);
    enum status status = n_plain > 0 ? config_read(&config, plain[0], &fault) : STATUS_OK;
    if (status == STATUS_OK)
        status = config_read_environment(&config, &fault);
    if (status == STATUS_OK && options_parse(&verb, argc, argv, &config, plain, &n_plain)) {
        set_log(&config);
        status = serve(&config, &code, &fault);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    config_free(&config);
    return status == STATUS_OK ? code : 2;
}
