/* A manager of many nodes: candidate in the election, and, while it leads, the one that decides
 * which node has which model. It has neither threads nor a clock, so the simulator runs it as well.
 *
 *   FOLLOWING --elected--> LEADING: sessions with all nodes, then plans
 *       ^--------- leads no longer ---------|
 *
 * A leader knows nothing of an earlier one. It waits for the first report of each node that is a
 * member, 3 s at most, before it orders anything. When more than half of the nodes vanish within
 * 10 s, it changes nothing until half of them are back. */
#pragma once
#include "cluster/membership.h"
#include "cluster/peers.h"
#include "cluster/bus.h"
#include "core/service_spec.h"
#include "store/fence.h"
#include "store/leader.h"

struct cluster_manager;
struct message_demand;
struct cluster_elected_options {
    struct bus_port port;                  /* to its nodes */
    struct cluster_peers *peers;           /* lent, as is what follows */
    struct cluster_membership *membership; /* open */
    struct store_fence *memory;            /* of the cluster's life */
    int n_services, n_services_max;
    const struct service_spec *services; /* (n_services_max); n_services at first */
    const int64_t *need_bytes;           /* as in cluster/manager_options.h */
    int64_t kept_bytes;
    const char *name; /* for people, in the leader's key */
    struct store_id id;
    int64_t ttl_s;
    uint64_t seed;
    int64_t (*clock)(void *self); /* time_boot_ns, or virtual time: asked before each order */
    /* Whether the service is there, and was deployed by a definition. NULL: all are there, and none
     * was. */
    bool (*sees)(void *self, int service, bool *is_deployed);
    void (*hears_news)(void *self, const struct store_news *news); /* NULL: it is not told */
    /* A reign begins before the first message of a node is taken, and ends when the manager is
     * still there. NULL: nothing is told. */
    void (*begins)(void *self);
    void (*ends)(void *self);
    void (*hears_demand)(void *self, int service, const struct message_demand *message);
    void *self;
};
struct cluster_elected;
struct cluster_elected *cluster_elected_open(const struct cluster_elected_options *options);
void cluster_elected_close(struct cluster_elected *elected);
/* The service of this number is there now, after another one or none had the number. */
void cluster_elected_add_service(struct cluster_elected *elected, int service);
/* Goes on, the membership included; returns the next wake, of the same clock. */
int64_t cluster_elected_step(struct cluster_elected *elected, int64_t now_ns);

/* Returns NULL while it does not lead. */
struct cluster_manager *cluster_elected_manager(const struct cluster_elected *elected);
/* It leads, but may change nothing now: more than half of the nodes vanished at once, or first
 * reports are missing. */
bool cluster_elected_is_still(const struct cluster_elected *elected);
const struct store_leader *cluster_elected_candidate(const struct cluster_elected *elected);
