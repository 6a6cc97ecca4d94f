/* Blocks that running requests have booked and not got: those that they lack to hold their known
 * tokens and ahead_blocks more each. Who starts fits beside them. Requests in flight have booked
 * nothing: their batch got it. */
#pragma once
#include "schedule/policy.h"

/* Of one service, counted: in closed form where its requests are steady. */
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
