/* A world for tests: gateway, manager and node with engines that only pretend, and clients that
 * check each token. */
#pragma once
#include "fake_engine.h"
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/gateway.h"
#include "cluster/manager.h"
#include "cluster/message.h"

enum {
    N_ENGINES = 2,
    N_SERVICES = 4,
    N_REQUESTS = 2000,
    PROMPT = 5,
    PORT_GATEWAY = 0,
    PORT_MANAGER = 1,
    PORT_NODE = 2
};

struct world {
    struct fake_engine engines[N_ENGINES];
    struct service_spec services[N_SERVICES];
    struct cluster_local_bus *bus;
    struct { /* what happens to messages between gateway and node, if can_lose */
        bool can_lose;
        double lost, twice;
        int64_t cut_until_ns;
        struct rng rng;
        int64_t n_lost, n_twice;
    } faults;
    struct cluster_node *node;
    struct cluster_manager *manager;
    struct cluster_gateway *gateway;
    struct route_config route;
    int64_t now_ns;
    /* per request */
    struct {
        int32_t n_tokens, n_tokens_max;
        uint64_t seed;
        bool is_over, is_cancelled;
        uint8_t why;
        char sentence[64];
    } requests[N_REQUESTS];
};

/* Settings of the worlds that are opened from now on. */
extern int64_t world_report_ns, world_keep_alive_ns;
extern const struct route_policy *world_router; /* NULL = least */

void open_world(struct world *w, uint64_t seed, uint32_t bus_bytes);
void close_world(struct world *w);
/* Submits request `index`; false when the gateway is full. */
bool submit(struct world *w, int index, int service, int32_t n_generate, int64_t deadline_ns);
void take_events(struct world *w);
/* Some rounds of all actors, then a millisecond passes. */
void step(struct world *w);
