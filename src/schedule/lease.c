/* Renewable leases (lease.h): when they begin, are renewed and end, and which request yields. */
#include "schedule/lease.h"

enum { SPARE_TOKENS = 16 }; /* beyond what is predicted */

int32_t schedule_lease_tokens(const struct schedule_config *config, const struct request *request)
{
    int32_t n = max_i32(config->lease_tokens, 1);
    int32_t n_left = request->n_predicted - (request->n_tokens - request->n_prompt);
    if (request->n_predicted > 0 && n_left > 0)
        n = min_i32(n, n_left + SPARE_TOKENS);
    return n;
}

int64_t schedule_lease_books(const struct schedule_config *config,
                             const struct schedule_lease *lease, const struct request *request)
{
    if (lease->n_until > request->n_tokens)
        return lease->n_until;
    return (int64_t)request->n_tokens + schedule_lease_tokens(config, request);
}

bool schedule_lease_is_fresh(const struct schedule_config *config,
                             const struct schedule_lease *lease, const struct request *request)
{
    return lease->n_until - request->n_tokens > config->lease_tokens / 2;
}

bool schedule_lease_yield(const struct schedule_leases *leases, struct schedule_fill *fill,
                          schedule_may_go may_go)
{
    const struct schedule_view *view = fill->view;
    if (leases->n_over == 0 || view->n_in_flight > 0 || schedule_fill_has_room(fill))
        return false;
    int service = -1;
    int64_t n_running = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        n_running += view->services[i].n_running;
        if (service < 0 && view->services[i].is_open && view->services[i].n_running > 0)
            service = i;
    }
    return service >= 0 && n_running > 1 &&
           schedule_fill_preempt(fill, service, 1, SCHEDULE_NONE, may_go);
}

static void forget(struct schedule_leases *leases, struct schedule_lease *lease,
                   const struct request *request)
{
    leases->n_over -= schedule_lease_is_over(lease, request);
    lease->n_until = 0;
}

static void begin_lease(struct schedule_leases *leases, struct schedule_lease *lease,
                        const struct schedule_config *config, const struct request *request)
{
    bool is_over = schedule_lease_is_over(lease, request);
    if (lease->n_until > 0 && !is_over)
        return;
    leases->n_over -= is_over;
    leases->n_renewed += is_over;
    lease->n_until = request->n_tokens + schedule_lease_tokens(config, request);
}

void schedule_lease_saw(struct schedule_leases *leases, struct schedule_lease *by_slot,
                        const struct schedule_config *config, const struct schedule_view *view,
                        const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    switch (event->what) {
    case SCHEDULE_ARRIVED:
        by_slot[event->slot].n_until = 0;
        break;
    case SCHEDULE_PREEMPTED:
        leases->n_yielded++;
        forget(leases, &by_slot[event->slot], &view->requests[event->slot]);
        break;
    case SCHEDULE_GONE:
        forget(leases, &by_slot[event->slot], &view->requests[event->slot]);
        break;
    case SCHEDULE_STARTED:
        for (int32_t i = 0; i < batch->n_items; i++)
            begin_lease(leases, &by_slot[batch->items[i].slot], config,
                        &view->requests[batch->items[i].slot]);
        break;
    case SCHEDULE_DONE:
        for (int32_t i = 0; i < batch->n_items; i++) {
            const struct schedule_lease *lease = &by_slot[batch->items[i].slot];
            const struct request *r = &view->requests[batch->items[i].slot];
            leases->n_over +=
                schedule_lease_is_over(lease, r) && r->n_tokens - event->n_new[i] < lease->n_until;
        }
        break;
    case SCHEDULE_REFUSED:
    case SCHEDULE_EXCEEDED:
        break;
    }
}
