/* A node: hosts the engines of one machine on the bus. It obeys: submits go to engines, events,
 * changes and reports come back.
 *
 * Any number of gateways may use it, each over its own link (cluster/link.h). A gateway that opens
 * one gets changes and reports from then on. */
#pragma once
#include "cluster/bus.h"
#include "cluster/message.h"
#include "core/report.h"
#include "core/service.h"
#include "core/service_spec.h"
#include "base/status.h"
#include "store/fence.h"

/* An engine with its loader, for its node; cmd/wire.c fills it in. */
struct cluster_engine {
    void *self;
    struct service service;
    void (*load)(void *self, int service);
    /* It is refused (a CHANGE with LOADED, BUSY) while it has requests, unless they are to be
     * returned. */
    void (*unload)(void *self, int service, bool even_busy);
    void (*drain)(void *self);
    int64_t (*step)(void *self, int64_t now_ns); /* next wake */
    bool (*next_change)(void *self, struct service_change *change);
    const struct engine_report *(*report)(void *self);
    /* Unloads, but keeps the packed weights in host memory. It is refused as an unload is, or (a
     * CHANGE with LOADED, TOO_LARGE) when there is no room for them. NULL: it can't. */
    void (*sleep)(void *self, int service);
};

struct cluster_node;
struct cluster_node_options {
    struct bus_port port;
    uint16_t manager; /* its address */
    /* The node's memory of the managers that it obeyed, which makes it a managed one: it obeys the
     * leading manager that opens a session (cluster/lead.h), and the gateways' wishes go there.
     * NULL: its own manager alone decides. */
    struct store_fence *fence;
    int n_engines, n_services;
    const struct service_spec *services; /* those that are there at first */
    uint32_t n_requests_max;             /* of all engines together */
    const struct cluster_engine *engines;
    int64_t report_ns; /* between reports: 100 ms */
    /* Engines change only by their mail and when their step is due, so no others are visited
     * between reports. False: all are visited, always. */
    bool is_passive;
    /* The router's fits, called with the engine's own report before a request is accepted. */
    bool (*fits)(const struct engine_report *report, const struct request *request);
    struct cluster_place place; /* of the node's bulk door */
    /* Called with the place of a submitted request's KV, before the engine gets the request. NULL:
     * engines find it without. */
    void (*learn)(void *self, uint64_t ticket, const struct cluster_place *place);
    void *learn_self;
};
struct cluster_node *cluster_node_open(const struct cluster_node_options *options);
void cluster_node_close(struct cluster_node *node);
/* Adds or removes a service. An added one has an unused number, and engines know it already. A
 * removed one has no model on any engine any more. From here on a message about it counts, or no
 * longer counts. A request of an absent service is RETURNED. */
void cluster_node_add_service(struct cluster_node *node, int service,
                              const struct service_spec *spec);
void cluster_node_remove_service(struct cluster_node *node, int service);
int64_t cluster_node_step(struct cluster_node *node, int64_t now_ns); /* next wake */
/* The process ends. Its requests are returned, with their KV where engines offer that, no new ones
 * are taken, and no model is loaded. Returns whether they are gone and other engines had time to
 * pull the KV; call it again until then. It takes at most 10 s. */
bool cluster_node_leave(struct cluster_node *node, int64_t now_ns);
/* Returns the number of requests that it accepted and that its engines have not ended yet. */
uint32_t cluster_node_n_requests(const struct cluster_node *node);
/* Skips the next reports of this time span. */
void cluster_node_pass(struct cluster_node *node, int64_t span_ns);
