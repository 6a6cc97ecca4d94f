/* The services that have requests. A plan looks only at these. */
#pragma once
#include "schedule/policy.h"

/* Return how many services a plan has to look at, and the i-th of them. */
static inline int32_t schedule_n_busy(const struct schedule_view *view)
{
    return view->busy != NULL ? view->n_busy : view->n_services;
}
static inline int schedule_busy(const struct schedule_view *view, int32_t i)
{
    return view->busy != NULL ? view->busy[i] : i;
}
/* Returns the place among the busy services of the next one after this service, for
 * schedule_in_turn. */
static inline int32_t schedule_turn_after(const struct schedule_view *view, int32_t last)
{
    int32_t low = 0, high = schedule_n_busy(view);
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (schedule_busy(view, middle) <= last)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
/* Returns the i-th service from then on, i from 0 to schedule_n_busy - 1. */
static inline int schedule_in_turn(const struct schedule_view *view, int32_t turn, int32_t i)
{
    int32_t n = schedule_n_busy(view), at = turn + i;
    return schedule_busy(view, at < n ? at : at - n);
}
