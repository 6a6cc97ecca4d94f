/* An engine that only pretends: draws tokens by a hash of (seed, position), returns, fails and
 * forgets requests on purpose. */
#pragma once
#include "base/rng.h"
#include "cluster/node.h"

enum { FAKE_REQUESTS_MAX = 512, FAKE_EVENTS_MAX = 4096 };

struct fake_request {
    bool is_live, is_cancelled;
    struct request request;
    uint64_t seed;
    int32_t tokens[512];
};
struct fake_engine {
    uint16_t id;
    int n_services;
    struct rng rng;
    struct fake_request requests[FAKE_REQUESTS_MAX];
    int32_t n_requests_max; /* lower than what it reports, so that it often says FULL */
    struct {
        struct service_event event;
        int32_t payload[8];
        char text[64];
    } events[FAKE_EVENTS_MAX];
    uint64_t n_put, n_got;
    uint16_t lives[LIMIT_SERVICES];
    struct set gone; /* services that have left */
    uint8_t status[LIMIT_SERVICES];
    int64_t ready_ns[LIMIT_SERVICES]; /* while LOADING */
    bool fails_load[LIMIT_SERVICES];
    int64_t n_arrived[LIMIT_SERVICES];
    struct service_change changes[256];
    int n_changes, next_change;
    struct engine_report report;
    int64_t now_ns;
    uint8_t role;                        /* as it reports */
    int64_t n_fresh, n_begun, n_tickets; /* requests that came without tokens of an answer, with
                                            some, and with a right ticket */
    double p_return;                     /* of a request, each step */
    int32_t n_tokens_beside;    /* longer ones need the space of its other models; 0: none does */
    int64_t kv_bytes_per_token; /* as it reports */
    int64_t hole_every;         /* one part in this many of an answer is lost; 0: none */
    uint64_t n_returned, n_duplicated;
    int64_t n_holes;
};
void fake_engine_init(struct fake_engine *engine, uint16_t id, int n_services, uint64_t seed);
struct cluster_engine fake_engine_face(struct fake_engine *engine);
/* The token that a request of this seed has at this position, on every engine. */
int32_t fake_engine_token(uint64_t seed, int32_t position);
