/* The bus to other machines, as the configuration has it. */
#include "fleet/bus.h"

#include "api/http_watches.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/members.h"
#include "cluster/nodes.h"
#include "cluster/tcp_bus.h"
#include "config/config.h"
#include "config/bus.h"
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

/* Addresses below are the house's own. */
enum { FIRST_ADDRESS = 16, OWN_ADDRESS = 0, NODE_ADDRESS = 2 };

/* Writes HOST:PORT as members have it in the store, with an IPv6 host in brackets. */
static void write_place(char *out, size_t n_max, const char *host, int port)
{
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(out, n_max, "%s%s%s:%d", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

/* ---- The nodes of a gateway or manager. ---- */

static void name_engines(struct fleet_bus *bus, int node, const char *address)
{
    int first = 0;
    for (int i = 0; i < node; i++)
        first += bus->peers.nodes[i].n_engines;
    for (int k = 0; k < bus->peers.nodes[node].n_engines; k++)
        snprintf(bus->names[first + k], sizeof bus->names[first + k], "%.200s engine %d", address,
                 k);
}

static bool is_up(void *self, uint16_t address)
{
    return cluster_tcp_bus_is_up(((struct fleet_bus *)self)->tcp, address);
}

/* Dials the node that has this place now, after its host was resolved again. */
static void aim(void *self, int i)
{
    struct fleet_bus *bus = self;
    const char *address = bus->peers.of[i].address;
    struct config_place place;
    struct fault fault;
    enum status status = config_bus_read_place("members", address, &place, &fault);
    if (status == STATUS_OK)
        status = cluster_tcp_bus_aim(bus->tcp, bus->peers.nodes[i].address, place.host, place.port,
                                     &fault);
    if (status != STATUS_OK)
        log_line(LOG_WARN, "bus", "node %.100s of the store is not used: %s", address, fault.text);
    name_engines(bus, i, address);
}

static void take_places(struct fleet_bus *bus, const struct config *config)
{
    int n_slots = config->n_store > 0 ? (int)config->n_node_slots : 0;
    cluster_peers_open(&bus->peers, config->n_nodes + n_slots);
    bus->peers.is_up = is_up;
    bus->peers.aim = aim;
    bus->peers.self = bus;
    for (int i = 0; i < bus->peers.n; i++)
        bus->peers.nodes[i] = (struct cluster_node_at){ (uint16_t)(FIRST_ADDRESS + i),
                                                        (int32_t)config->n_node_engines };
}

static enum status know_nodes(struct fleet_bus *bus, const struct config *config,
                              struct config_place *places, struct cluster_tcp_peer *peers,
                              struct fault *fault)
{
    for (int i = 0; i < config->n_nodes; i++) {
        enum status status = config_bus_read_place("nodes", config->nodes[i], &places[i], fault);
        if (status != STATUS_OK)
            return status;
        struct cluster_peer *peer = &bus->peers.of[i];
        write_place(peer->address, sizeof peer->address, places[i].host, places[i].port);
        peer->n_engines = bus->peers.nodes[i].n_engines = places[i].n_engines;
        peer->is_static = peer->is_member = true;
    }
    for (int i = 0; i < bus->peers.n; i++) {
        bool is_static = i < config->n_nodes;
        peers[i] = (struct cluster_tcp_peer){ .address = bus->peers.nodes[i].address };
        if (is_static)
            peers[i] = (struct cluster_tcp_peer){ places[i].host, places[i].port, peers[i].address,
                                                  places[i].host };
        bus->n_engines += bus->peers.nodes[i].n_engines;
    }
    bus->names = mem_take(sizeof *bus->names * (size_t)bus->n_engines);
    bus->name_texts = mem_take(sizeof *bus->name_texts * (size_t)bus->n_engines);
    for (int e = 0; e < bus->n_engines; e++)
        bus->name_texts[e] = bus->names[e];
    for (int i = 0; i < bus->peers.n; i++)
        name_engines(bus, i, bus->peers.of[i].address);
    return STATUS_OK;
}

/* ---- Its own address. ---- */

enum status fleet_bus_own_address(const struct fleet_bus *bus, const struct config *config,
                                  char out[FLEET_BUS_NODE_NAMES], struct fault *fault)
{
    struct config_place place;
    enum status status = config_bus_read_place("bus_listen", config->bus_listen, &place, fault);
    if (status != STATUS_OK)
        return status;
    if (config->bus_advertise != NULL) {
        snprintf(out, FLEET_BUS_NODE_NAMES, "%s", config->bus_advertise);
        return STATUS_OK;
    }
    if (strcmp(place.host, "0.0.0.0") == 0 || strcmp(place.host, "::") == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bus_advertise is missing: bus_listen is %s, so say under which HOST:PORT "
                         "gateways reach this node",
                         place.host);
    write_place(out, FLEET_BUS_NODE_NAMES, place.host, cluster_tcp_bus_listen_port(bus->tcp));
    return STATUS_OK;
}

/* ---- Opening. ---- */

static enum status open_tcp(struct fleet_bus *bus, const struct config *config,
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

static enum status open_node(struct fleet_bus *bus, const struct config *config,
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

static enum status open_gateway(struct fleet_bus *bus, const struct config *config,
                                struct fault *fault)
{
    take_places(bus, config);
    struct config_place *places = mem_take(sizeof *places * (size_t)config->n_nodes);
    struct cluster_tcp_peer *peers = mem_take(sizeof *peers * (size_t)bus->peers.n);
    struct cluster_tcp_bus_options options = { .address = OWN_ADDRESS,
                                               .peers = peers,
                                               .n_peers = bus->peers.n };
    enum status status = know_nodes(bus, config, places, peers, fault);
    if (status == STATUS_OK)
        status = open_tcp(bus, config, &options, fault);
    mem_give(places);
    mem_give(peers);
    return status;
}

enum status fleet_bus_open(struct fleet_bus *bus, const struct config *config,
                           const struct bus_port *local, struct fault *fault)
{
    if (local == NULL)
        return open_gateway(bus, config, fault);
    if (config->bus_listen != NULL)
        return open_node(bus, config, local, fault);
    return STATUS_OK;
}

void fleet_bus_close(struct fleet_bus *bus)
{
    if (bus->tcp != NULL)
        cluster_tcp_bus_close(bus->tcp);
    if (bus->base != NULL) {
        (void)event_base_loop(bus->base, EVLOOP_NONBLOCK); /* buffers are freed from the loop */
        event_base_free(bus->base);
    }
    cluster_peers_close(&bus->peers);
    mem_give(bus->names);
    mem_give(bus->name_texts);
}
