/* Lists the few running requests of each service that arrived last, or first. So first come, first
 * served knows which to preempt, or to serve, without a search of all running requests.
 *
 * Events keep the lists up to date. A list begins with the very first in its order. Its length
 * depends on which requests left. Only when it is empty are all running requests searched again. */
#pragma once
#include "schedule/fill.h"

struct schedule_newest { /* of a service; the order is schedule_fcfs_is_before's, or its reverse */
    uint32_t n_known;    /* running requests that it has heard of */
    int32_t n;
    bool is_all;       /* no other request runs */
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
/* Returns the n-th of the list; SCHEDULE_NONE: unknown, or no more run. */
static inline uint32_t schedule_newest_nth(const struct schedule_newest *list, uint32_t n)
{
    return n < (uint32_t)list->n ? list->at[n].slot : SCHEDULE_NONE;
}
/* Returns whether it equals the result of a search of all, without `gone`. */
bool schedule_newest_is_sound(const struct schedule_newest *list, const struct schedule_view *view,
                              int service, uint32_t gone);
