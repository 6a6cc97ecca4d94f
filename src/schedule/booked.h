/* Blocks that running requests have booked and not got: those that they lack to hold their known
 * tokens and ahead_blocks more each. Who starts fits beside them.
 *
 * Kept by the events, since with many models counting anew what all that run lack would be most of
 * the cost of a decision. Requests in flight have booked nothing: their batch got it. */
#pragma once
#include "schedule/policy.h"

struct schedule_booked {
    int64_t n_blocks[LIMIT_SERVICES];
    int32_t *by_slot; /* (n_requests_max) */
};
size_t schedule_booked_bytes(const struct schedule_limits *limits); /* of by_slot */
void schedule_booked_open(struct schedule_booked *booked, const struct schedule_limits *limits,
                          void *by_slot);
/* To be called with every event. Where the engine keeps steady requests together nothing is kept:
 * the count is closed. Nor with several lanes: batches are in flight while others are planned. */
void schedule_booked_saw(struct schedule_booked *booked, const struct schedule_view *view,
                         const struct schedule_config *config, const struct schedule_event *event);
/* The same number of one service, counted. */
int64_t schedule_booked_count(const struct schedule_view *view,
                              const struct schedule_config *config, int service);

/* Blocks for n_tokens positions beside the n_blocks that there are. */
static inline int64_t schedule_booked_beyond(int64_t n_tokens, int64_t n_blocks,
                                             int64_t block_tokens)
{
    int64_t n_beyond = n_tokens - n_blocks * block_tokens;
    if (n_beyond <= block_tokens) /* nearly always: no division */
        return n_beyond > 0;
    if (n_beyond <= 2 * block_tokens)
        return 2;
    return kv_blocks_for(n_tokens, (int32_t)block_tokens) - n_blocks;
}
