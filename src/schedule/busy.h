/* The services that have requests: a plan looks at no others. */
#pragma once
#include "schedule/policy.h"

/* How many services a plan has to look at, and the i-th of them. */
static inline int32_t schedule_n_busy(const struct schedule_view *view)
{
    return view->busy != NULL ? view->n_busy : view->n_services;
}
static inline int schedule_busy(const struct schedule_view *view, int32_t i)
{
    return view->busy != NULL ? view->busy[i] : i;
}
/* The i-th in turn after this service, i from 0 to schedule_n_busy - 1. */
static inline int schedule_in_turn(const struct schedule_view *view, int32_t last, int32_t i)
{
    int32_t n = schedule_n_busy(view), first = 0;
    while (first < n && schedule_busy(view, first) <= last)
        first++;
    return schedule_busy(view, (first + i) % n);
}
