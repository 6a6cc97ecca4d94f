/* Blocks that running requests have booked and not got: those that they lack to hold their known
 * tokens and ahead_blocks more each. Who starts fits beside them. Requests in flight have booked
 * nothing: their batch got it. */
#pragma once
#include "schedule/policy.h"

/* Of one service, counted. */
int64_t schedule_booked_count(const struct schedule_view *view,
                              const struct schedule_config *config, int service);

/* The same of a service, kept by a policy that hears of each batch: what a request books changes
 * with its own batches alone. True while none of the service is in flight. */
struct schedule_booked {
    int64_t n_blocks;
    int32_t n_catching_up; /* running requests that lack more than one token */
};

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
/* A request has run: what it books from now on is noted in *own, which is 0 of those that never
 * ran. ahead_tokens: of the blocks that each books beyond its known tokens. */
static inline void schedule_booked_note(struct schedule_booked *booked, uint32_t *own,
                                        const struct request *r, int64_t n_table_blocks,
                                        int64_t block_tokens, int64_t ahead_tokens)
{
    int64_t n = schedule_booked_beyond(r->n_tokens + ahead_tokens, n_table_blocks, block_tokens);
    uint32_t now = (uint32_t)n << 1 | (schedule_lacking(r) > 1);
    if (now == *own)
        return;
    booked->n_blocks += n - (int64_t)(*own >> 1);
    booked->n_catching_up += (int32_t)(now & 1) - (int32_t)(*own & 1);
    *own = now;
}
/* It ended or gave way. */
static inline void schedule_booked_forget(struct schedule_booked *booked, uint32_t *own)
{
    booked->n_blocks -= *own >> 1;
    booked->n_catching_up -= (int32_t)(*own & 1);
    *own = 0;
}
