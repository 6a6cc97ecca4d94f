/* See duress.h. */
#include "duress.h"

#include "base/rng.h"
#include <string.h>

static size_t state_bytes(const struct schedule_limits *limits)
{
    return schedule_find("fcfs")->state_bytes(limits);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    const struct schedule_limits one = { limits->n_services_max, limits->n_requests_max, 1 };
    schedule_find("fcfs")->open(state, &one, config);
}

/* Plans as fcfs would if this service had the pool alone and its lane were all of the device. */
static void plan_service(const void *state, const struct schedule_view *view,
                         struct schedule_plan *plan, int32_t service)
{
    struct schedule_service services[LIMIT_MODELS];
    struct schedule_view alone = *view;
    const struct schedule_lane lane = { 1, 0 };
    for (int32_t s = 0; s < view->n_services; s++) {
        services[s] = view->services[s];
        services[s].is_open &= s == service;
        if (s != service) {
            services[s].first_waiting = SCHEDULE_NONE;
            services[s].n_waiting = services[s].n_running = 0;
        }
    }
    alone.services = services;
    alone.n_lanes = 1;
    alone.lanes = &lane;
    alone.lane_is_busy = &view->lane_is_busy[service + 1];
    schedule_find("fcfs")->plan(state, &alone, plan);
}

static void pad(const struct schedule_view *view, struct batch *batch, uint64_t draw)
{
    int32_t n_long = batch_width(batch);
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &view->requests[batch->items[i].slot];
        n_long = max_i32(n_long, r->n_tokens - schedule_lacking(r) + batch->items[i].n_tokens);
    }
    batch->pads = (struct pads){ n_long, batch->n_items + (int32_t)(draw % 3) };
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *p)
{
    uint64_t draw = rng_at(77, 0, (uint64_t)view->now_ns);
    int32_t n = view->n_services, first = (int32_t)(draw % (uint64_t)n);
    for (int32_t k = 0; k < n; k++) {
        int32_t service = (first + k) % n;
        if (!schedule_lane_is_free(view, service + 1) ||
            view->services[service].n_waiting + view->services[service].n_running == 0)
            continue;
        p->n_batches = p->n_items = p->n_preempts = 0;
        plan_service(state, view, p, service);
        for (int32_t i = 0; i < p->n_batches; i++) {
            p->batches[i].lane = (uint16_t)(service + 1);
            if (draw >> 8 & 1)
                pad(view, &p->batches[i], draw >> 16);
        }
        for (int32_t i = 0; i < p->n_preempts; i++)
            p->swaps[i] = (draw >> (32 + i % 16) & 1) != 0;
        if (p->n_batches + p->n_preempts > 0)
            return;
    }
}

static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    schedule_find("fcfs")->saw(state, view, event);
}

const struct schedule_policy duress_policy = {
    .name = "duress",
    .summary = "lanes, pads and swaps, for tests",
    .pads_batches = true,
    .state_bytes = state_bytes,
    .open = open,
    .plan = plan,
    .saw = saw,
};

static void plan_rounds(const void *state, const struct schedule_view *view,
                        struct schedule_plan *p)
{
    uint64_t draw = rng_at(78, 0, (uint64_t)view->now_ns);
    schedule_find("fcfs")->plan(state, view, p);
    if (p->n_batches != 1)
        return;
    p->n_rounds = 2 + (int32_t)(draw % 5);
    p->until = UNTIL_ARRIVAL | UNTIL_SHORTAGE | ((draw >> 8 & 1) ? UNTIL_FINISH : 0U);
    if (schedule_check(view, p) == NULL)
        return;
    p->n_rounds = 1;
    p->until = 0;
}

static void open_rounds(void *state, const struct schedule_limits *limits,
                        const struct schedule_config *config)
{
    schedule_find("fcfs")->open(state, limits, config);
}

const struct schedule_policy rounds_policy = {
    .name = "rounds",
    .summary = "holds, for tests",
    .state_bytes = state_bytes,
    .open = open_rounds,
    .plan = plan_rounds,
    .saw = saw,
};
