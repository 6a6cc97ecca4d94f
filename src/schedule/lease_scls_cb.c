/* scls-cb: SCLS with continuous batching over renewable leases (lease.h).
 *
 * Models take turns, prompts first. The request that yields has received the most tokens. It keeps
 * them, and its place in the order of arrival. Starvation: within a model a request waits for those
 * that arrived before it. Every S tokens a lease ends, so that blocks become free within a lease.
 * No bound is claimed while other models' requests, or those of a higher priority, take these
 * blocks. Moving a request to another worker is the router's task. */
#include "schedule/fcfs.h"
#include "schedule/hold.h"
#include "schedule/lease.h"
#include "schedule/policies.h"

struct scls {
    struct schedule_config config;
    struct schedule_leases leases;
    int32_t last;
    int64_t n_grown;
    struct schedule_lease by_slot[]; /* (n_requests_max) */
};

static size_t state_bytes(const struct schedule_limits *limits)
{
    return sizeof(struct scls) + (size_t)limits->n_requests_max * sizeof(struct schedule_lease);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    (void)limits;
    *(struct scls *)state = (struct scls){ .config = *config, .last = -1 };
}

static int64_t books(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct scls *scls = state;
    return schedule_lease_books(&scls->config, &scls->by_slot[slot], &view->requests[slot]);
}

/* Fewest received tokens first. */
static bool is_before(const void *state, const struct schedule_view *view, uint32_t a, uint32_t b)
{
    const struct request *x = &view->requests[a], *y = &view->requests[b];
    int32_t n_x = x->n_tokens - x->n_prompt, n_y = y->n_tokens - y->n_prompt;
    if (x->priority == y->priority && n_x != n_y)
        return n_x < n_y;
    return schedule_fcfs_is_before(state, view, a, b);
}

static bool is_not_fresh(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct scls *scls = state;
    return !schedule_lease_is_fresh(&scls->config, &scls->by_slot[slot], &view->requests[slot]);
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct scls *scls = state;
    struct schedule_order order = { .state = scls,
                                    .first = schedule_fcfs_first,
                                    .next = schedule_fcfs_next,
                                    .is_before = is_before,
                                    .books = books };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &scls->config, &order, plan);
    if (schedule_lane_is_free(view, 0) && !schedule_lease_yield(&scls->leases, &fill, is_not_fresh))
        schedule_hold_turn(&fill, scls->last);
}

static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    struct scls *scls = state;
    if (event->what == SCHEDULE_STARTED)
        scls->last = event->batch->service;
    scls->n_grown += event->what == SCHEDULE_EXCEEDED;
    schedule_lease_saw(&scls->leases, scls->by_slot, &scls->config, view, event);
}

static void report(const void *state, const struct schedule_view *view,
                   struct schedule_report *report)
{
    const struct scls *scls = state;
    (void)view;
    report->n_renewed = scls->leases.n_renewed;
    report->n_yielded = scls->leases.n_yielded;
    report->n_grown = scls->n_grown;
}

const struct schedule_policy schedule_lease_scls_cb = {
    .name = "scls-cb",
    .summary = "continuous batching with renewable leases of KV (SCLS)",
    .chooses = "models in turn",
    .batches = "prompts first, or prompts in chunks beside decodes",
    .memory = "renewable leases",
    .starvation =
        "a request that has blocks gets a turn in each round. Inside a model, blocks become "
        "free within a lease. A request whose blocks other models take has no bound",
    .thresholds = SCHEDULE_CONFIG_FILL " lease_tokens",
    .state_bytes = state_bytes,
    .open = open,
    .plan = plan,
    .saw = saw,
    .report = report,
};
