/* Quotas of the KV pool, in its units (merged blocks), and how they adapt (MuxServe section 3.3,
 * docs/ALGORITHMS.md 2.7 with decision D-12).
 *
 * A service's entitlement is its part of sum(rate * mean length * bytes per token). Quotas always
 * sum to the pool. Usage is sampled on a grid of sixteenths of a period, so that one long hold and
 * many single steps see the same. */
#pragma once
#include "base/set.h"
#include "schedule/policy.h"

struct schedule_quota {
    int64_t n_units_pool; /* what the quotas sum to; 0 = none are set yet */
    int64_t *n_units;     /* (n_services) */
    int64_t next_ns, next_sample_ns;
    int64_t n_samples, *sampled; /* (n_services) units in use, summed over this period */
    bool is_by_rates;            /* were rates known when they were set? */
    int64_t n_changes;
};
/* memory: (2, n_services_max), kept as long as the quotas. */
void schedule_quota_init(struct schedule_quota *quota, int64_t *memory, int32_t n_services_max);
/* Parts of the pool by what a placement gave, else by D-12, summing to 1 over the open services;
 * equal rates when none is known. */
void schedule_quota_shares(const struct schedule_view *view, double *shares);
/* The same where all that are open are among these: only theirs are written. */
void schedule_quota_shares_among(const struct schedule_view *view, const struct set *services,
                                 double *shares);
/* Looks at the clock: sets, samples, adapts. Called with every event; after DONE it may sample. */
void schedule_quota_saw(struct schedule_quota *quota, const struct schedule_view *view,
                        const struct schedule_config *config, const struct schedule_event *event);
/* One adaptation by the usage given (units, averaged): low users give, high users receive. */
void schedule_quota_adapt(struct schedule_quota *quota, const struct schedule_view *view,
                          const struct schedule_config *config, const int64_t *used);
/* The most units that starting requests may bring the service to; *n_kept: free units that they
 * must leave when they bring it beyond, INT64_MAX when they must not. */
int64_t schedule_quota_most(const struct schedule_quota *quota, const struct schedule_view *view,
                            const struct schedule_config *config, int service, int64_t *n_kept);
void schedule_quota_report(const struct schedule_quota *quota, const struct schedule_view *view,
                           struct schedule_report *report);
