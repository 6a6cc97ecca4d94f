/* A small host for routers: engines, held requests, a clock. It shows the view, asks, checks every
 * plan and tells what happened, as the gateway and the simulator do. */
#pragma once
#include "route/held.h"
#include "route/policy.h"

enum { WORLD_ENGINES = 64, WORLD_REQUESTS = 16384, WORLD_SERVICES = 4 };

struct world {
    struct route_engine engines[WORLD_ENGINES];
    struct route_service services[WORLD_SERVICES];
    struct route_request requests[WORLD_REQUESTS];
    struct tree_node nodes[WORLD_REQUESTS];
    struct tree trees[WORLD_SERVICES];
    uint16_t engine_of[WORLD_REQUESTS];
    uint8_t is_sent[WORLD_REQUESTS];
    struct route_choice sent[WORLD_REQUESTS]; /* the choice that sent each request */
    struct route_held held;
    struct route_choice choices[WORLD_REQUESTS];
    uint8_t marks[WORLD_REQUESTS];
    struct route_config config;
    struct route_view view;
    struct route_plan plan;
    const struct route_policy *policy;
    struct route_limits limits;
    void *state, *scratch;
    uint32_t n_requests; /* slots taken so far */
};
/* Open engines that serve all services, each with room for n_requests_max. The config is the
 * defaults; change it and the rest before world_open. */
struct world *world_new(int n_engines, int n_services, int32_t n_requests_max);
void world_open(struct world *w, const char *router);
void world_close(struct world *w);
/* Something about an engine changed. */
void world_engine(struct world *w, int engine);
/* A request arrives now: returns its slot. */
uint32_t world_arrive(struct world *w, int service, int32_t n_prompt, int32_t n_predicted);
/* Asks once: checks that the plan is legal and that asking twice gives the same. */
void world_plan(struct world *w);
/* One choice of the plan goes out. */
void world_sent(struct world *w, const struct route_choice *choice);
/* Asks and sends until nothing is chosen. Returns the number of requests that were sent; the engine
 * of a slot is in engine_of. */
int32_t world_send(struct world *w);
void world_end(struct world *w, uint32_t slot);
void world_return(struct world *w, uint32_t slot, uint8_t why);
void world_gone(struct world *w, uint32_t slot); /* a held one ends in the gateway */
