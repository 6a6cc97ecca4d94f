/* Renewable leases of KV (SCLS section 7, only sketched there; docs/ALGORITHMS.md 4.4).
 *
 * A request that runs has blocks booked for the next S tokens, its lease; the sum of what is booked
 * never exceeds the pool, so nobody runs out of blocks within a lease and no length must be known.
 * A lease that is over is renewed in place when S more fit; else somebody that is not in a fresh
 * lease yields. */
#pragma once
#include "schedule/fill.h"

struct schedule_lease {
    int32_t n_until; /* it is over when the request has so many tokens; 0 = has none */
};
struct schedule_leases { /* of all requests of an engine */
    int32_t n_over;      /* running requests whose lease is over */
    int64_t n_renewed, n_yielded;
};
/* Tokens of a lease: S, or what is predicted to be left and 16 more when that is less. */
int32_t schedule_lease_tokens(const struct schedule_config *config, const struct request *request);
static inline bool schedule_lease_is_over(const struct schedule_lease *lease,
                                          const struct request *request)
{
    return lease->n_until > 0 && request->n_tokens >= lease->n_until;
}
/* Positions booked: to the lease's end; for those without one or whose lease is over, of a lease
 * that begins now. */
int64_t schedule_lease_books(const struct schedule_config *config,
                             const struct schedule_lease *lease, const struct request *request);
/* Has it used less than half of its lease? */
bool schedule_lease_is_fresh(const struct schedule_config *config,
                             const struct schedule_lease *lease, const struct request *request);
/* When leases are over and not all can be renewed: plans whom may_go lets yield, the last of the
 * order first. False: nobody has to, or can. */
bool schedule_lease_yield(const struct schedule_leases *leases, struct schedule_fill *fill,
                          schedule_may_go may_go);
/* Keeps the leases: (n_requests_max) by slot. */
void schedule_lease_saw(struct schedule_leases *leases, struct schedule_lease *by_slot,
                        const struct schedule_config *config, const struct schedule_view *view,
                        const struct schedule_event *event);
