/* Blocks that running requests have booked and not got. See booked.h. */
#include "schedule/booked.h"
#include <string.h>

enum { FETCH_AHEAD = 12 }; /* requests that run lie apart: their lines are asked for in advance */

size_t schedule_booked_bytes(const struct schedule_limits *limits)
{
    return (size_t)align_up_u64((size_t)limits->n_requests_max * sizeof(int32_t), 64);
}

void schedule_booked_open(struct schedule_booked *booked, const struct schedule_limits *limits,
                          void *by_slot)
{
    *booked = (struct schedule_booked){ .by_slot = by_slot };
    memset(by_slot, 0, schedule_booked_bytes(limits));
}

static void set(struct schedule_booked *booked, int service, uint32_t slot, int64_t n_blocks)
{
    booked->n_blocks[service] += n_blocks - booked->by_slot[slot];
    booked->by_slot[slot] = (int32_t)n_blocks;
}

static void saw_done(struct schedule_booked *booked, const struct schedule_view *view,
                     const struct schedule_config *config, const struct batch *batch)
{
    int64_t block_tokens = view->kv->services[batch->service].block_tokens, n_more = 0;
    int64_t ahead = config->ahead_blocks * block_tokens;
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        int64_t n = schedule_booked_beyond(view->requests[slot].n_tokens + ahead,
                                           view->n_table_blocks[slot], block_tokens);
        n_more += n - booked->by_slot[slot];
        booked->by_slot[slot] = (int32_t)n;
    }
    booked->n_blocks[batch->service] += n_more;
}

void schedule_booked_saw(struct schedule_booked *booked, const struct schedule_view *view,
                         const struct schedule_config *config, const struct schedule_event *event)
{
    if (view->services[0].steady != NULL || view->n_lanes > 1)
        return; /* counted when they are asked for */
    switch (event->what) {
    case SCHEDULE_DONE: /* and not when it starts: nobody plans before it is done */
        saw_done(booked, view, config, event->batch);
        break;
    case SCHEDULE_PREEMPTED:
    case SCHEDULE_GONE:
        set(booked, view->requests[event->slot].service, event->slot, 0);
        break;
    default:
        break;
    }
}

int64_t schedule_booked_count(const struct schedule_view *view,
                              const struct schedule_config *config, int service)
{
    const struct schedule_service *s = &view->services[service];
    int64_t block_tokens = view->kv->services[service].block_tokens, n_blocks = 0;
    int64_t ahead = config->ahead_blocks * block_tokens;
    const struct schedule_steady *steady = schedule_steady_of(view, service);
    if (steady != NULL && (uint32_t)steady->n == s->n_running && steady->n_ahead == 0)
        return schedule_steady_blocks(steady, (int32_t)ahead + 1);
    schedule_settle(view, service);
    for (uint32_t i = 0; i < s->n_running; i++) {
        const struct request *r = &view->requests[s->running[i]];
        if (i + FETCH_AHEAD < s->n_running)
            __builtin_prefetch(&view->requests[s->running[i + FETCH_AHEAD]]);
        if (r->batch == 0)
            n_blocks += schedule_booked_beyond(r->n_tokens + ahead,
                                               view->n_table_blocks[s->running[i]], block_tokens);
    }
    return n_blocks;
}
