/* Of each service's running requests the few that arrived last, or first: whom first come, first
 * served preempts, or asks, is known without a look at all that run.
 *
 * Kept by the events. A list begins with the very first in its order; how many it holds depends on
 * who left, and only when nobody is left in it are all that run looked at again. */
#pragma once
#include "schedule/fill.h"

struct schedule_newest { /* of a service; the order is schedule_fcfs_is_before's, or the reverse */
    uint32_t n_known;    /* running requests that it has heard of */
    int32_t n;
    bool is_all;       /* nobody else runs */
    bool oldest_first; /* else the newest is first */
    struct schedule_arrival {
        int64_t arrived_ns;
        uint64_t id;
        uint32_t slot;
        int16_t priority;
    } at[FILL_KNOWN_MAX];
};
/* One list per service. */
void schedule_newest_open(struct schedule_newest *lists, int32_t n_services, bool oldest_first);
/* To be called with every event. */
void schedule_newest_saw(struct schedule_newest *lists, const struct schedule_view *view,
                         const struct schedule_event *event);
/* The n-th of the list; SCHEDULE_NONE: not known, or no more run. */
static inline uint32_t schedule_newest_nth(const struct schedule_newest *list, uint32_t n)
{
    return n < (uint32_t)list->n ? list->at[n].slot : SCHEDULE_NONE;
}
/* Is it what a look at all would find, but for `gone`? */
bool schedule_newest_is_sound(const struct schedule_newest *list, const struct schedule_view *view,
                              int service, uint32_t gone);
