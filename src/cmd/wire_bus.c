/* The bus to other machines, as the configuration has it. */
#include "cmd/wire_bus.h"

#include "api/http_watches.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/nodes.h"
#include "cluster/tcp_bus.h"
#include "config/bus.h"
#include "config/config.h"
#include <event2/event.h>
#include <stdio.h>

/* Addresses below are the house's own. */
enum { FIRST_ADDRESS = 16, OWN_ADDRESS = 0, NODE_ADDRESS = 2 };

/* ---- A gateway's nodes. ---- */

static enum status know_nodes(struct wire_bus *bus, const struct config *config,
                              struct config_place *places, struct cluster_tcp_peer *peers,
                              struct fault *fault)
{
    bus->n_nodes = config->n_nodes;
    bus->nodes = mem_take(sizeof *bus->nodes * (size_t)bus->n_nodes);
    for (int i = 0; i < config->n_nodes; i++) {
        enum status status = config_bus_read_place("nodes", config->nodes[i], &places[i], fault);
        if (status != STATUS_OK)
            return status;
        uint16_t address = (uint16_t)(FIRST_ADDRESS + i);
        peers[i] =
            (struct cluster_tcp_peer){ places[i].host, places[i].port, address, places[i].host };
        bus->nodes[i] = (struct cluster_node_at){ address, places[i].n_engines };
        bus->n_engines += places[i].n_engines;
    }
    bus->names = mem_take(sizeof *bus->names * (size_t)bus->n_engines);
    bus->name_texts = mem_take(sizeof *bus->name_texts * (size_t)bus->n_engines);
    for (int i = 0, e = 0; i < config->n_nodes; i++)
        for (int k = 0; k < places[i].n_engines; k++, e++) {
            snprintf(bus->names[e], sizeof bus->names[e], "%s:%d engine %d", places[i].host,
                     (int)places[i].port, k);
            bus->name_texts[e] = bus->names[e];
        }
    return STATUS_OK;
}

/* ---- Opening. ---- */

static enum status open_tcp(struct wire_bus *bus, const struct config *config,
                            struct cluster_tcp_bus_options *options, struct fault *fault)
{
    const struct cluster_tcp_tls tls = { .cert = config->bus_cert,
                                         .key = config->bus_key,
                                         .ca = config->bus_ca,
                                         .names = (const char *const *)config->bus_names,
                                         .n_names = config->n_bus_names };
    options->base = bus->base = api_http_watches_base();
    options->tls = config->bus_cert != NULL ? &tls : NULL;
    bus->tcp = cluster_tcp_bus_open(options, fault);
    return bus->tcp != NULL ? STATUS_OK : STATUS_BAD_INPUT;
}

static enum status open_node(struct wire_bus *bus, const struct config *config,
                             const struct bus_port *local, struct fault *fault)
{
    struct config_place place;
    enum status status = config_bus_read_place("bus_listen", config->bus_listen, &place, fault);
    if (status != STATUS_OK)
        return status;
    bus->local = *local;
    struct cluster_tcp_bus_options options = { .address = NODE_ADDRESS,
                                               .listen_host = place.host,
                                               .listen_port = place.port,
                                               .n_accepted_max = LIMIT_GATEWAYS - 1,
                                               .first_accepted = FIRST_ADDRESS,
                                               .cuts_slow = true,
                                               .local = &bus->local,
                                               .n_local = FIRST_ADDRESS };
    status = open_tcp(bus, config, &options, fault);
    if (status == STATUS_OK)
        log_line(LOG_INFO, "bus", "gateways may connect to %s port %d", place.host,
                 cluster_tcp_bus_listen_port(bus->tcp));
    return status;
}

static enum status open_gateway(struct wire_bus *bus, const struct config *config,
                                struct fault *fault)
{
    struct config_place *places = mem_take(sizeof *places * (size_t)config->n_nodes);
    struct cluster_tcp_peer *peers = mem_take(sizeof *peers * (size_t)config->n_nodes);
    struct cluster_tcp_bus_options options = { .address = OWN_ADDRESS,
                                               .peers = peers,
                                               .n_peers = config->n_nodes };
    enum status status = know_nodes(bus, config, places, peers, fault);
    if (status == STATUS_OK)
        status = open_tcp(bus, config, &options, fault);
    mem_give(places);
    mem_give(peers);
    return status;
}

enum status wire_bus_open(struct wire_bus *bus, const struct config *config,
                          const struct bus_port *local, struct fault *fault)
{
    if (config->n_nodes > 0)
        return open_gateway(bus, config, fault);
    if (config->bus_listen != NULL)
        return open_node(bus, config, local, fault);
    return STATUS_OK;
}

void wire_bus_close(struct wire_bus *bus)
{
    if (bus->tcp != NULL)
        cluster_tcp_bus_close(bus->tcp);
    if (bus->base != NULL) {
        (void)event_base_loop(bus->base, EVLOOP_NONBLOCK); /* buffers are freed from the loop */
        event_base_free(bus->base);
    }
    mem_give(bus->nodes);
    mem_give(bus->names);
    mem_give(bus->name_texts);
}
