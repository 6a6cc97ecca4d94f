/* The API over the toy house, as a program for the Python tests of tests/e2e.
 *
 * usage: api_serve [KEY VALUE]...: listen, api-key, admin-key, tenant (NAME=KEY, several), proxy
 * (several), strict, requests, connections, memory (MiB), body, body-ms, drain-ms, cors, cert, key,
 * context, device, responses, responses-bytes, models (1: the first alone).
 * Prints "port N" when it listens. */
#include "api/addresses.h"
#include "api/api.h"
#include "template/chat.h"
#include "tests_toy.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const aliases[] = { "gpt-toy" };
static const int32_t eog_ids[] = { TOY_EOS };
static const struct api_model models[] = {
    { .name = "toy",
      .aliases = aliases,
      .n_aliases = 1,
      .service = 0,
      .n_context_max = 4096,
      .chat_template = NULL,
      .bos_id = TOY_BOS,
      .eos_id = TOY_EOS,
      .n_eog = 1,
      .eog_ids = eog_ids,
      .created_unix_s = 1700000000,
      .path = "toy.gguf",
      .format = "gguf" },
    { .name = "org/plain",
      .service = 1,
      .n_context_max = 256,
      .bos_id = -1,
      .eos_id = TOY_EOS,
      .n_eog = 1,
      .eog_ids = eog_ids,
      .path = "plain",
      .format = "safetensors",
      .created_unix_s = 1700000000 },
};

static struct mem_account account = { .n_bytes_max = 1 << 30 };
static const char *tenants[16], *devices[1];
static struct api_net proxies[4];

static void set_option(struct api_options *options, const char *name, const char *value)
{
    struct fault fault;
    if (strcmp(name, "listen") == 0)
        options->listen = value;
    else if (strcmp(name, "api-key") == 0)
        options->api_key = value;
    else if (strcmp(name, "admin-key") == 0)
        options->admin_key = value;
    else if (strcmp(name, "cors") == 0)
        options->cors_origin = value;
    else if (strcmp(name, "cert") == 0)
        options->tls_cert = value;
    else if (strcmp(name, "key") == 0)
        options->tls_key = value;
    else if (strcmp(name, "strict") == 0)
        options->is_strict = true;
    else if (strcmp(name, "requests") == 0)
        options->n_requests_max = atoi(value);
    else if (strcmp(name, "connections") == 0)
        options->n_connections_max = atoi(value);
    else if (strcmp(name, "body") == 0)
        options->body_bytes_max = atoll(value);
    else if (strcmp(name, "body-ms") == 0)
        options->body_ns_max = atoll(value) * TIME_NS_PER_MS;
    else if (strcmp(name, "responses") == 0)
        options->responses = value;
    else if (strcmp(name, "responses-bytes") == 0)
        options->responses_bytes_max = atoll(value);
    else if (strcmp(name, "memory") == 0)
        account.n_bytes_max = atoll(value) << 20;
    else if (strcmp(name, "tenant") == 0)
        tenants[options->n_tenants++] = value;
    else if (strcmp(name, "proxy") == 0)
        CHECK(api_addresses_read_net(value, &proxies[options->n_proxies++], &fault) == STATUS_OK);
    else if (strcmp(name, "device") == 0)
        devices[0] = value, options->devices = devices;
    else if (strcmp(name, "drain-ms") == 0)
        options->drain_ns_max = atoll(value) * TIME_NS_PER_MS;
    else if (strcmp(name, "models") == 0)
        options->n_models = min_i32(atoi(value), (int32_t)COUNT_OF(models));
}

static void on_reload(void *self)
{
    (void)self;
    fputs("reloaded\n", stdout);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct api_model ours[COUNT_OF(models)];
    const struct api_model *listed[COUNT_OF(models)];
    memcpy(ours, models, sizeof(models));
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        listed[i] = &ours[i], ours[i].n_vocabulary = TOY_N_TOKENS,
        ours[i].tokenizer = toy_tokenizer;
    ours[0].chat_template = toy_template;
    ours[0].style = calls_format_style(chat_template_text(toy_template));
    ours[1].style = calls_format_style(NULL);
    struct api_options options = {
        .version = "0.0-toy",
        .listen = "127.0.0.1:0",
        .n_requests_max = 4096,
        .n_connections_max = 4096,
        .account = &account,
        .tenants = tenants,
        .proxies = proxies,
        .responses_bytes_max = 1 << 20,
        .body_bytes_max = 32 << 20,
        .body_ns_max = 60 * TIME_NS_PER_S,
        .drain_ns_max = 5 * TIME_NS_PER_S,
        .door = 7,
        .n_models = COUNT_OF(ours),
        .models = listed,
        .reload = on_reload,
    };
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "context") == 0)
            ours[0].n_context_max = atoi(argv[i + 1]);
        else
            set_option(&options, argv[i], argv[i + 1]);
    struct toy_house *house = toy_open(COUNT_OF(ours), options.n_requests_max);
    options.service = toy_service(house);
    options.control = toy_control(house);
    options.tick = toy_tick;
    options.tick_self = options.metrics_self = house;
    options.metrics = toy_metrics;
    struct api *api;
    struct fault fault = { "" };
    log_set(LOG_WARN, false);
    if (api_open(&api, &options, &fault) != STATUS_OK) {
        fprintf(stderr, "%s\n", fault.text);
        toy_close(house);
        return 2;
    }
    printf("port %d\n", api_port(api));
    fflush(stdout);
    int code = api_run(api);
    api_close(api);
    toy_close(house);
    return code;
}
