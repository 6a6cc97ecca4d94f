/* Work: the time that a request takes on the device when it runs alone, in picoseconds.
 *
 * Policies charge and compare work instead of wall time, because wall time would charge a request
 * for the size of its batch (docs/ALGORITHMS.md D-4). */
#pragma once
#include "base/time.h"
#include "schedule/policy.h"

#define WORK_PS_MAX (INT64_C(1) << 61)

/* The price of a service's work: a decode step of one request with c known tokens costs
 * first_ps + slope_ps * c. */
struct schedule_price {
    int64_t usual_ps, first_ps, slope_ps; /* usual_ps: schedule_work_usual_ps */
    bool is_plain;                        /* the short form below cannot overflow */
};
struct schedule_price schedule_work_price(const struct schedule_service *service);
/* The work of a usual request of the service, L-hat + sigma: a fresh budget B. */
int64_t schedule_work_usual_ps(const struct schedule_service *service);
/* The work of the first n tokens of a prompt. Differences of it are the work of chunks. */
int64_t schedule_work_prefill_ps(const struct perf *perf, int64_t n);
/* schedule_work_remaining_ps for n_left tokens to draw, where the short form does not hold. */
int64_t schedule_work_rest_ps(const struct schedule_view *view, const struct request *r,
                              int64_t n_left);
/* The work that is left of the request, by its predicted length or else its model's mean. */
static inline int64_t schedule_work_remaining_ps(const struct schedule_price *price,
                                                 const struct schedule_view *view,
                                                 const struct request *r)
{
    int64_t n_all = r->n_predicted > 0
                        ? r->n_predicted
                        : max_i64((int64_t)view->services[r->service].n_output_mean, 1);
    int64_t n_left = max_i64(n_all - (r->n_tokens - r->n_prompt), 1);
    if (schedule_lacking(r) != 1 || !price->is_plain || n_left > LIMIT_CONTEXT ||
        r->n_tokens > LIMIT_CONTEXT)
        return schedule_work_rest_ps(view, r, n_left);
    /* The closed form of a span of decodes, see predict/perf.c. */
    int64_t first_ps = price->first_ps + price->slope_ps * r->n_tokens;
    int64_t ps = n_left * first_ps + price->slope_ps * (n_left * (n_left - 1) / 2);
    return max_i64(min_i64(ps, WORK_PS_MAX), 1);
}
/* The time at which the request must begin, or go on, to meet its deadline if it runs alone;
 * INT64_MAX without a deadline. It is not before the arrival, so that a hopeless deadline does not
 * put the request before those that starved earlier. */
static inline int64_t schedule_work_begin_by_ns(const struct schedule_price *price,
                                                const struct schedule_view *view,
                                                const struct request *r)
{
    if (r->deadline_ns <= 0 || r->deadline_ns == TIME_NEVER)
        return INT64_MAX;
    return max_i64(r->deadline_ns - schedule_work_remaining_ps(price, view, r) / 1000,
                   r->arrived_ns);
}
