/* The world of the engine's tests: an engine on virtual time with the fake executor. The submitter
 * keeps every request, checks every event, and submits again each request that is returned. */
#pragma once
#include "engine/engine.h"
#include "engine/log.h"
#include "fake.h"

enum { WORLD_SERVICES_MAX = 4 };

struct world_options {
    const struct schedule_policy *policy;
    int32_t n_services, n_lanes, n_rounds_max;
    int32_t n_services_max;              /* others may join; 0 = none */
    uint32_t n_requests, n_requests_max; /* of the world's table, of the engine's */
    int32_t n_tokens_max;
    int64_t pool_bytes, body_bytes, swap_bytes;
    int32_t chunk_tokens, n_seqs_max;
    uint8_t speculation;                 /* of its services */
    bool has_prefix_cache, stays_closed; /* stays_closed: no service is opened */
    struct engine_log *log;              /* NULL = none */
    const char *kv_disk;                 /* folder of the disk tier; NULL = none */
    int64_t kv_disk_bytes;
    bool is_disk_slow; /* the clock goes on while the disk works */
    int64_t bytes_per_token[WORLD_SERVICES_MAX];
};
/* A client's request and its answer. */
struct world_request {
    struct request request;
    struct request_body *body;
    int32_t *expected, *got; /* (n_tokens_max) */
    int32_t n_expected, n_got;
    bool is_submitted, is_over, is_cancelled;
    uint8_t what, why; /* of the last event; it is over when that is ENDED */
    char text[256];    /* of FAILED */
    int32_t n_events, n_cached, n_preempted, n_logprobs;
    int32_t n_batches, n_batch_rows; /* as its last event says */
    int64_t ended_ns, served_ns;     /* served: as its last event says */
};
struct world {
    struct world_options options;
    int64_t clock_ns, wake_ns;
    struct fake fake;
    struct engine *engine;
    struct world_request *requests; /* ids are index + 1 */
    bool is_deaf;                   /* emit says that there is no room */
    uint32_t deaf_one;              /* one call in this many is deaf, too; 0 = never */
    uint32_t n_emits, n_returned[16];
    uint64_t hash; /* of all events and their times */
    int64_t n_steps, n_preempted, n_hit_tokens, n_hits;
};
extern bool world_is_in_engine; /* while a call of the engine runs: to see what allocates then */
void world_options_init(struct world_options *options); /* small, one service, greedy */
void world_open(struct world *world, const struct world_options *options);
void world_close(struct world *world); /* checks that nothing is left behind */

struct world_ask {
    uint32_t index;
    uint16_t service;
    int32_t n_prompt, n_new;
    uint64_t prompt_seed; /* the first n_shared tokens depend on it alone */
    int32_t n_shared;
    int32_t n_stops, n_tokens_min;
    uint32_t flags;
    int16_t priority;
    int64_t deadline_ns;
    int32_t n_lease, n_predicted;
};
/* Makes the request and submits it now. False when the engine took nothing. */
bool world_submit(struct world *world, const struct world_ask *ask);
bool world_submit_again(struct world *world, uint32_t index);
void world_cancel(struct world *world, uint32_t index);
void world_step(struct world *world); /* one engine_step now, with the self-check */
void world_run(struct world *world, int64_t until_ns); /* steps whenever the engine wants one */
void world_finish(struct world *world);                /* until all submitted are over */
