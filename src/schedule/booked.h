/* Blocks that running requests have booked but not got: those that they lack to hold their known
 * tokens and ahead_blocks more each. A request that starts must fit beside them. Requests in flight
 * have booked nothing, because their batch got it. */
#pragma once
#include "schedule/policy.h"

/* Counts the booked blocks of one service. */
int64_t schedule_booked_count(const struct schedule_view *view,
                              const struct schedule_config *config, int service);

/* The same for a service, kept up to date by a policy that gets the events of each batch, since
 * only a request's own batches change what it books. It is valid while no request of the service is
 * in flight. */
struct schedule_booked {
    int64_t n_blocks;
    int32_t n_catching_up; /* running requests that lack more than one token */
};

/* Returns the blocks that n_tokens positions need beyond the present n_blocks. */
static inline int64_t schedule_booked_beyond(int64_t n_tokens, int64_t n_blocks,
                                             int64_t block_tokens)
{
    int64_t n_beyond = n_tokens - n_blocks * block_tokens;
    if (n_beyond <= block_tokens) /* nearly always, without a division */
        return n_beyond > 0;
    if (n_beyond <= 2 * block_tokens)
        return 2;
    return kv_blocks_for(n_tokens, (int32_t)block_tokens) - n_blocks;
}
/* Updates the bookings of a request that has run. *own keeps what it books from now on, and is 0
 * for requests that never ran. ahead_tokens: of the blocks that each books beyond its known
 * tokens. */
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
