/* First come, first served across all services, as vLLM does it inside one (docs/ALGORITHMS.md
 * 6.1).
 *
 * The service that owns the earliest prompt goes first. If that prompt does not fit, or no prompt
 * waits, the service that owns the oldest running request does. No request overtakes another,
 * because head-of-line blocking is the point of this baseline. Out of blocks, the last that arrived
 * is preempted by recompute, and the engine puts it back where its arrival belongs.
 *
 * Starvation: prompts are served in order of arrival, so a prompt waits for those before it and for
 * the blocks that it needs. No bound is claimed for decodes, since they wait while prompts that fit
 * keep coming (the paper's rule). None is claimed beside requests of a higher priority either,
 * since these come first and take a request's blocks. */
#include "schedule/fcfs.h"

#include "base/time.h"
#include "schedule/newest.h"
#include "schedule/hold.h"
#include "schedule/policies.h"
#include <string.h>

struct fcfs_service {
    uint32_t n_known;       /* running requests that it knows */
    uint32_t oldest;        /* running request that arrived first */
    uint32_t oldest_prompt; /* among those with more than one token to compute */
};
struct fcfs {
    struct schedule_config config;
    struct schedule_newest *newest; /* (n_services_max), behind the services */
    struct fcfs_service services[]; /* (n_services_max) */
};

bool schedule_fcfs_is_before(const void *state, const struct schedule_view *view, uint32_t a,
                             uint32_t b)
{
    (void)state;
    const struct request *x = &view->requests[a], *y = &view->requests[b];
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (x->arrived_ns != y->arrived_ns)
        return x->arrived_ns < y->arrived_ns;
    return x->id < y->id;
}

uint32_t schedule_fcfs_first(const void *state, const struct schedule_view *view, int service)
{
    (void)state;
    return view->services[service].first_waiting;
}

uint32_t schedule_fcfs_next(const void *state, const struct schedule_view *view, uint32_t slot)
{
    (void)state;
    return view->requests[slot].next;
}

static size_t services_bytes(const struct schedule_limits *limits)
{
    size_t n = (size_t)limits->n_services_max;
    return (size_t)align_up_u64(sizeof(struct fcfs) + n * sizeof(struct fcfs_service), 64);
}

size_t schedule_fcfs_state_bytes(const struct schedule_limits *limits)
{
    size_t n = (size_t)limits->n_services_max;
    return services_bytes(limits) + n * sizeof(struct schedule_newest);
}

void schedule_fcfs_open(void *state, const struct schedule_limits *limits,
                        const struct schedule_config *config)
{
    struct fcfs *fcfs = state;
    fcfs->config = *config;
    fcfs->newest = (void *)((unsigned char *)state + services_bytes(limits));
    schedule_newest_open(fcfs->newest, limits->n_services_max, false);
    for (int32_t i = 0; i < limits->n_services_max; i++)
        fcfs->services[i] = (struct fcfs_service){ 0, SCHEDULE_NONE, SCHEDULE_NONE };
}

static uint32_t older(const struct schedule_view *view, uint32_t a, uint32_t b)
{
    if (a == SCHEDULE_NONE || b == SCHEDULE_NONE)
        return a == SCHEDULE_NONE ? b : a;
    return schedule_fcfs_is_before(NULL, view, a, b) ? a : b;
}

static uint32_t nth_last(const void *state, const struct schedule_view *view, int service,
                         uint32_t n)
{
    const struct fcfs *fcfs = state;
    (void)view;
    return schedule_newest_nth(&fcfs->newest[service], n);
}

void schedule_fcfs_plan(const void *state, const struct schedule_view *view,
                        struct schedule_plan *plan)
{
    const struct fcfs *fcfs = state;
    struct schedule_order order = { .state = fcfs,
                                    .first = schedule_fcfs_first,
                                    .next = schedule_fcfs_next,
                                    .is_before = schedule_fcfs_is_before,
                                    .nth_last = nth_last };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &fcfs->config, &order, plan);
    if (!schedule_lane_is_free(view, 0))
        return;
    uint32_t prompt = SCHEDULE_NONE, running = SCHEDULE_NONE;
    int service = 0; /* of the running requests */
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        if (!view->services[i].is_open)
            continue;
        prompt = older(view, prompt, view->services[i].first_waiting);
        prompt = older(view, prompt, fcfs->services[i].oldest_prompt);
        uint32_t before = running;
        running = older(view, running, fcfs->services[i].oldest);
        service = running != before ? i : service;
    }
    enum schedule_filled filled = FILLED_NOTHING;
    if (prompt != SCHEDULE_NONE) {
        unsigned parts = FILL_WAITING | FILL_CATCHING_UP;
        if (fcfs->config.chunk_tokens > 0)
            parts = FILL_ALL;
        filled = schedule_fill_serve(&fill, view->requests[prompt].service, parts, SCHEDULE_NONE);
    }
    if (filled == FILLED_NOTHING && running != SCHEDULE_NONE)
        filled = schedule_fill_serve(&fill, service, FILL_RUNNING, SCHEDULE_NONE);
    if (filled == FILLED_BATCH)
        schedule_hold(&fill, TIME_NEVER);
}

/* Finds the service's oldest again, `gone` left out. */
static void look(struct fcfs *fcfs, const struct schedule_view *view, int service, uint32_t gone)
{
    const struct schedule_service *s = &view->services[service];
    struct fcfs_service *f = &fcfs->services[service];
    f->oldest = f->oldest_prompt = SCHEDULE_NONE;
    for (uint32_t i = 0; i < s->n_running; i++) {
        uint32_t slot = s->running[i];
        const struct request *r = &view->requests[slot];
        if (slot == gone)
            continue;
        f->oldest = older(view, f->oldest, slot);
        if (r->n_tokens - r->n_computed > 1)
            f->oldest_prompt = older(view, f->oldest_prompt, slot);
    }
}

/* Only requests of a batch that starts can be new. With a single service its oldest request decides
 * nothing, so any running one will do. */
static void saw_started(struct fcfs *fcfs, const struct schedule_view *view,
                        const struct batch *batch)
{
    const struct schedule_service *s = &view->services[batch->service];
    struct fcfs_service *f = &fcfs->services[batch->service];
    for (int32_t i = 0; i < batch->n_items && f->n_known != s->n_running; i++) {
        uint32_t slot = batch->items[i].slot;
        if (view->n_services > 1 || f->oldest == SCHEDULE_NONE)
            f->oldest = older(view, f->oldest, slot);
        if (schedule_lacking(&view->requests[slot]) > 1)
            f->oldest_prompt = older(view, f->oldest_prompt, slot);
    }
    f->n_known = s->n_running;
}

static void saw_left(struct fcfs *fcfs, const struct schedule_view *view, uint32_t slot)
{
    int service = view->requests[slot].service;
    struct fcfs_service *f = &fcfs->services[service];
    if (f->oldest == slot || f->oldest_prompt == slot)
        look(fcfs, view, service, slot);
}

void schedule_fcfs_saw(void *state, const struct schedule_view *view,
                       const struct schedule_event *event)
{
    struct fcfs *fcfs = state;
    const struct batch *batch = event->batch;
    schedule_newest_saw(fcfs->newest, view, event);
    switch (event->what) {
    case SCHEDULE_STARTED:
        saw_started(fcfs, view, batch);
        break;
    case SCHEDULE_DONE: /* a request that catches up may have finished that */
        if (fcfs->services[batch->service].oldest_prompt != SCHEDULE_NONE)
            look(fcfs, view, batch->service, SCHEDULE_NONE);
        break;
    case SCHEDULE_PREEMPTED:
        saw_left(fcfs, view, event->slot);
        fcfs->services[view->requests[event->slot].service].n_known--;
        break;
    case SCHEDULE_GONE: /* it counts as running until this event */
        saw_left(fcfs, view, event->slot);
        fcfs->services[view->requests[event->slot].service].n_known -=
            view->requests[event->slot].state == REQUEST_RUNNING;
        break;
    default:
        break;
    }
}

const struct schedule_policy schedule_fcfs = {
    .name = "fcfs",
    .summary = "first come, first served across all models; prompts before decodes",
    .chooses = "the model with the earliest prompt, else the one with the oldest running request",
    .batches = "prompts first, or prompts in chunks beside decodes",
    .memory = "on demand",
    .starvation = "prompts wait in order of arrival; decodes have no bound",
    .thresholds = SCHEDULE_CONFIG_FILL,
    .state_bytes = schedule_fcfs_state_bytes,
    .open = schedule_fcfs_open,
    .plan = schedule_fcfs_plan,
    .saw = schedule_fcfs_saw,
};
