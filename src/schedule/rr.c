/* Round robin over services: each turn one batch, prompts first (MuxServe's RR, ALGORITHMS 6.4).
 *
 * The turn moves past the service whose batch was started, not past the one that was planned, so a
 * refused batch keeps its turn. */
#include "base/time.h"
#include "schedule/fill.h"
#include "schedule/policies.h"

struct rr {
    struct schedule_config config;
    int32_t last; /* the service that had the last turn */
};

static size_t state_bytes(const struct schedule_limits *limits)
{
    (void)limits;
    return sizeof(struct rr);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    struct rr *rr = state;
    (void)limits;
    *rr = (struct rr){ .config = *config, .last = -1 };
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct rr *rr = state;
    struct schedule_order order = { .state = NULL,
                                    .first = schedule_fcfs_first,
                                    .next = schedule_fcfs_next,
                                    .is_before = schedule_fcfs_is_before };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &rr->config, &order, plan);
    if (!schedule_lane_is_free(view, 0))
        return;
    enum schedule_filled filled = FILLED_NOTHING;
    for (int32_t i = 0; i < schedule_n_busy(view) && filled == FILLED_NOTHING; i++) {
        int service = schedule_in_turn(view, rr->last, i);
        const struct schedule_service *s = &view->services[service];
        if (s->n_waiting + s->n_running > 0)
            filled = schedule_fill_serve(&fill, service, FILL_ALL, SCHEDULE_NONE);
    }
    if (filled == FILLED_BATCH)
        schedule_fill_hold(&fill, TIME_NEVER);
}

static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    struct rr *rr = state;
    (void)view;
    if (event->what == SCHEDULE_STARTED)
        rr->last = event->batch->service;
}

const struct schedule_policy schedule_rr = {
    .name = "rr",
    .summary = "a batch of each model in turn; prompts before decodes",
    .state_bytes = state_bytes,
    .open = open,
    .plan = plan,
    .saw = saw,
    .reads_late = true,
};
