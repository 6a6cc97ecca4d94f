/* Figures of sent requests for routers: predictions, and lists of requests by engine. */
#pragma once
#include "route/policy.h"

/* Returns the expected output length of a request: its prediction, else its service's mean. If it
 * has outrun that, predict/length.h gives a new one. It is always more than the request has. It
 * never uses n_tokens_max, which in a simulation is the truth. */
int32_t route_sent_predicted(const struct route_view *view, const struct route_request *request);
/* Returns the times of a service's batches on this engine. */
const struct perf *route_sent_perf(const struct route_view *view, int32_t engine, int service);
/* The `fits` of every router: the engine is not draining, and a place is left. */
bool route_sent_fits(const struct engine_report *report, const struct request *request);
/* How many requests an engine takes at most. */
int32_t route_sent_limit(const struct route_config *config, const struct route_engine *engine);
/* Returns whether a is before b in the order (priority, arrival, id). */
bool route_sent_is_before(const struct route_request *a, const struct route_request *b);

/* Lists of slots by engine, the newest first. */
struct route_sent_link {
    uint32_t next, prev;
};
struct route_sent {
    uint32_t *first;               /* (n_engines) */
    struct route_sent_link *links; /* (n_requests) */
};
size_t route_sent_bytes(const struct route_limits *limits);
void route_sent_init(struct route_sent *sent, const struct route_limits *limits, void *memory);
void route_sent_add(struct route_sent *sent, int32_t engine, uint32_t slot);
void route_sent_remove(struct route_sent *sent, int32_t engine, uint32_t slot);
