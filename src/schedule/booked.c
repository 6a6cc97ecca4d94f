/* Counts blocks that running requests have booked but not got. See booked.h. */
#include "schedule/booked.h"

enum { FETCH_AHEAD = 12 }; /* running requests lie apart in memory, so their lines are prefetched */

int64_t schedule_booked_count(const struct schedule_view *view,
                              const struct schedule_config *config, int service)
{
    const struct schedule_service *s = &view->services[service];
    int64_t block_tokens = view->kv->services[service].block_tokens, n_blocks = 0;
    int64_t ahead = config->ahead_blocks * block_tokens;
    for (uint32_t i = 0; i < s->n_running; i++) {
        const struct request *r = &view->requests[s->running[i]];
        if (i + FETCH_AHEAD < s->n_running)
            __builtin_prefetch(&view->requests[s->running[i + FETCH_AHEAD]]);
        if (r->batch == 0 || view->n_deep > 1) /* a pipeline always has some in flight */
            n_blocks += schedule_booked_beyond(r->n_tokens + ahead,
                                               view->n_table_blocks[s->running[i]], block_tokens);
    }
    return n_blocks;
}
