/* Opens the exchange and the door. */
#include "fleet/bulk.h"

#include "base/log.h"
#include "base/rng.h"
#include "bulk/door.h"
#include "bulk/files.h"
#include "bulk/pulls.h"
#include "config/bus.h"
#include "config/config.h"
#include "engine/exchange.h"
#include "fetch/fetch.h"
#include <string.h>

enum { OFFERS_MAX = 64 }; /* of each engine */

static enum status open_door(struct fleet_bulk *bulk, const struct config *config,
                             struct fault *fault)
{
    const struct cluster_tcp_tls tls = { .cert = config->bus_cert,
                                         .key = config->bus_key,
                                         .ca = config->bus_ca,
                                         .names = (const char *const *)config->bulk_names,
                                         .n_names = config->n_bulk_names };
    struct config_place at, shown;
    struct bulk_door_options options = { .exchange = bulk->exchange,
                                         .pulls = bulk->pulls,
                                         .files = bulk->files,
                                         .parent_fd = -1,
                                         .tls = config->bus_cert != NULL ? &tls : NULL };
    enum status status = STATUS_OK;
    if (config->bulk_listen != NULL) {
        status = config_bus_read_place("bulk_listen", config->bulk_listen, &at, fault);
        options.listen_host = at.host;
        options.listen_port = at.port;
    }
    if (status == STATUS_OK && config->bulk_advertise != NULL) {
        status = config_bus_read_place("bulk_advertise", config->bulk_advertise, &shown, fault);
        options.advertise_host = shown.host;
        options.advertise_port = shown.port;
    }
    if (status != STATUS_OK)
        return status;
    bulk->door = bulk_door_open(&options, fault);
    if (bulk->door == NULL)
        return STATUS_BAD_INPUT;
    if (config->bulk_listen != NULL)
        log_line(LOG_INFO, "bulk", "nodes may connect to %s port %d", at.host,
                 bulk_door_place(bulk->door).port);
    return STATUS_OK;
}

/* Other nodes may have the fetched files, and those of this machine whose SHA-256 was checked. */
static void open_files(struct fleet_bulk *bulk, const struct config *config)
{
    struct bulk_file files[LIMIT_MODELS];
    struct bulk_files_options options = { .folder = config->model_cache,
                                          .files = files,
                                          .n_bytes_per_s = config->model_rate_bytes };
    for (int i = 0; i < config->n_models; i++) {
        const struct config_model *model = &config->models[i];
        if (model->sha256 != NULL && !fetch_is_url(model->path))
            files[options.n_files++] = (struct bulk_file){ model->path, model->sha256 };
    }
    bulk->files = bulk_files_open(&options);
}

/* Logs of engines do not have the KV that came to them. */
enum status fleet_bulk_open(struct fleet_bulk *bulk, const struct config *config, int n_engines,
                            struct fault *fault)
{
    bool has_kv = n_engines > 0 && config->swap_bytes > 0 && config->log_engine == NULL;
    bool are_threads = strcmp(config->engine_kind, "threads") == 0;
    bool has_network = config->bulk_listen != NULL;
    struct exchange_options options = { .seed = rng_system(),
                                        .n_offers_max = OFFERS_MAX * (uint32_t)n_engines };
    *bulk = (struct fleet_bulk){ .exchange = NULL };
    if (has_kv && are_threads && has_network) {
        bulk->pulls = bulk_pulls_open();
        options.remote = bulk_pulls_remote(bulk->pulls);
    }
    if (has_kv && are_threads)
        bulk->exchange = exchange_open(&options);
    if (has_network)
        open_files(bulk, config);
    if (!has_network && (are_threads || !has_kv))
        return STATUS_OK;
    enum status status = open_door(bulk, config, fault);
    bulk->child_door = has_kv && !are_threads ? bulk->door : NULL;
    return status;
}

void fleet_bulk_close(struct fleet_bulk *bulk)
{
    bulk_door_close(bulk->door);
    bulk_files_close(bulk->files);
    exchange_close(bulk->exchange);
    bulk_pulls_close(bulk->pulls);
    *bulk = (struct fleet_bulk){ .exchange = NULL };
}

struct cluster_place fleet_bulk_place(const struct fleet_bulk *bulk)
{
    return bulk->door != NULL ? bulk_door_place(bulk->door) : (struct cluster_place){ .port = 0 };
}

void fleet_bulk_learn(void *self, uint64_t ticket, const struct cluster_place *place)
{
    const struct fleet_bulk *bulk = self;
    if (bulk->door != NULL)
        bulk_door_learn(bulk->door, ticket, place);
}
