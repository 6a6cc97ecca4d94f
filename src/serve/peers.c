/* Joins what is fetched with the readers of doors. */
#include "serve/peers.h"

#include "bulk/reader.h"
#include "config/bus.h"
#include <stdio.h>
#include <string.h>

static enum status open_peer(void *self, int peer, void **client, struct fault *fault)
{
    const struct config *config = self;
    const struct cluster_tcp_tls tls = { .cert = config->bus_cert,
                                         .key = config->bus_key,
                                         .ca = config->bus_ca,
                                         .names = (const char *const *)config->bulk_names,
                                         .n_names = config->n_bulk_names };
    struct config_place at;
    struct bulk_reader *out = NULL;
    enum status status =
        config_bus_read_place("model_peers", config->model_peers[peer], &at, fault);
    if (status == STATUS_OK)
        status = bulk_reader_open(
            &out,
            &(struct bulk_reader_options){ .host = at.host,
                                           .port = at.port,
                                           .tls = config->bus_cert != NULL ? &tls : NULL,
                                           .stall_ns = config->model_stall_ns },
            fault);
    *client = out;
    return status;
}

/* The text has been checked: 64 hexadecimal digits. */
static void read_sha256(const char *text, uint8_t out[32])
{
    for (int i = 0; i < 32; i++) {
        unsigned byte = 0;
        (void)sscanf(text + 2 * i, "%2x", &byte);
        out[i] = (uint8_t)byte;
    }
}

static enum status read_piece(void *client, struct fetch_piece *piece, struct fault *fault)
{
    struct bulk_reader_piece part = { .offset = piece->offset,
                                      .to = piece->to,
                                      .n_max = piece->n_max };
    read_sha256(piece->sha256, part.sha256);
    enum status status = bulk_reader_read(client, &part, fault);
    piece->n = part.n;
    piece->n_whole = part.n_whole;
    return status;
}

static void close_peer(void *client)
{
    bulk_reader_close(client);
}

struct fetch_peers serve_peers(const struct config *config)
{
    return (struct fetch_peers){ .self = (void *)(uintptr_t)config,
                                 .n = config->n_model_peers,
                                 .names = (const char *const *)config->model_peers,
                                 .open = open_peer,
                                 .read = read_piece,
                                 .close = close_peer };
}
