/* Round robin over services: one batch per turn, prompts first (MuxServe's RR,
 * docs/ALGORITHMS.md 6.4).
 *
 * The turn moves past the service whose batch was started, not past the planned one, so a refused
 * batch keeps its turn.
 *
 * Starvation: a service whose requests have blocks gets a batch a round. No bound is claimed for a
 * request that lacks blocks, since other services' prompts may take them as they become free. None
 * is claimed beside requests of a higher priority either. */
#include "schedule/newest.h"
#include "schedule/fcfs.h"
#include "schedule/hold.h"
#include "schedule/policies.h"

struct rr {
    struct schedule_config config;
    int32_t last;                    /* the service that had the last turn */
    struct schedule_newest newest[]; /* (n_services_max) */
};

static size_t state_bytes(const struct schedule_limits *limits)
{
    return sizeof(struct rr) + (size_t)limits->n_services_max * sizeof(struct schedule_newest);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    struct rr *rr = state;
    rr->config = *config;
    rr->last = -1;
    schedule_newest_open(rr->newest, limits->n_services_max, false);
}

static uint32_t nth_last(const void *state, const struct schedule_view *view, int service,
                         uint32_t n)
{
    const struct rr *rr = state;
    (void)view;
    return schedule_newest_nth(&rr->newest[service], n);
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct rr *rr = state;
    struct schedule_order order = { .state = rr,
                                    .first = schedule_fcfs_first,
                                    .next = schedule_fcfs_next,
                                    .is_before = schedule_fcfs_is_before,
                                    .nth_last = nth_last };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &rr->config, &order, plan);
    if (schedule_lane_is_free(view, 0))
        schedule_hold_turn(&fill, rr->last);
}

static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    struct rr *rr = state;
    if (event->what == SCHEDULE_STARTED)
        rr->last = event->batch->service;
    schedule_newest_saw(rr->newest, view, event);
}

const struct schedule_policy schedule_rr = {
    .name = "rr",
    .summary = "a batch of each model in turn; prompts before decodes",
    .chooses = "models in turn",
    .batches = "prompts first, or prompts in chunks beside decodes",
    .memory = "on demand",
    .starvation =
        "a model whose requests have blocks gets a turn in each round; a model that lacks "
        "blocks has no bound, since others may take them",
    .thresholds = SCHEDULE_CONFIG_FILL,
    .state_bytes = state_bytes,
    .open = open,
    .plan = plan,
    .saw = saw,
};
