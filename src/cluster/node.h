/* A node: hosts the engines of one machine on the bus. It obeys: submits go to engines, events,
 * changes and reports come back.
 *
 * Any number of gateways may use it, each over a link of its own (cluster/link.h): a gateway that
 * opens one is told of changes and reports from then on. */
#pragma once
#include "cluster/bus.h"
#include "core/report.h"
#include "core/service.h"
#include "core/service_spec.h"
#include "base/status.h"

/* An engine with its loader as its node sees it; cmd/wire.c fills it in. */
struct cluster_engine {
    void *self;
    struct service service;
    void (*load)(void *self, int service);
    /* Refused (a CHANGE says LOADED, BUSY) while it has requests, unless they are to go home. */
    void (*unload)(void *self, int service, bool even_busy);
    void (*drain)(void *self);
    int64_t (*step)(void *self, int64_t now_ns); /* next wake */
    bool (*next_change)(void *self, struct service_change *change);
    const struct engine_report *(*report)(void *self);
};

struct cluster_node;
struct cluster_node_options {
    struct bus_port port;
    uint16_t manager; /* its address */
    int n_engines, n_services;
    const struct service_spec *services; /* those that are there at first */
    uint32_t n_requests_max;             /* of all engines together */
    const struct cluster_engine *engines;
    int64_t report_ns; /* between reports: 100 ms */
    /* Nothing happens at an engine but by its mail and when its step is due: between reports no
     * others are looked at. False: at all of them, always. */
    bool is_passive;
    /* The router's fits, asked of the engine's own report before a request is let in. */
    bool (*fits)(const struct engine_report *report, const struct request *request);
};
struct cluster_node *cluster_node_open(const struct cluster_node_options *options);
void cluster_node_close(struct cluster_node *node);
/* A service joins (its number is none's, and engines know it already), or leaves: no engine has its
 * model any more. From here on a message about it counts, or counts no more. A request of a service
 * that is not there is RETURNED. */
void cluster_node_add_service(struct cluster_node *node, int service,
                              const struct service_spec *spec);
void cluster_node_remove_service(struct cluster_node *node, int service);
int64_t cluster_node_step(struct cluster_node *node, int64_t now_ns); /* next wake */
/* The next reports, of so long a time, are passed over. */
void cluster_node_pass(struct cluster_node *node, int64_t span_ns);
