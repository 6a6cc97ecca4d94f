/* Lists the few requests of a service that arrived last, or first. See newest.h. */
#include "schedule/newest.h"
#include <string.h>

void schedule_newest_open(struct schedule_newest *lists, int32_t n_services, bool oldest_first)
{
    for (int32_t i = 0; i < n_services; i++)
        lists[i] = (struct schedule_newest){ .is_all = true, .oldest_first = oldest_first };
}

static struct schedule_arrival arrival_of(const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    return (struct schedule_arrival){ r->arrived_ns, r->id, slot, r->priority };
}

/* Does a come before b in the list? */
static bool is_before(const struct schedule_newest *list, const struct schedule_arrival *a,
                      const struct schedule_arrival *b)
{
    const struct schedule_arrival *x = list->oldest_first ? a : b;
    const struct schedule_arrival *y = list->oldest_first ? b : a;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (x->arrived_ns != y->arrived_ns)
        return x->arrived_ns < y->arrived_ns;
    return x->id < y->id;
}

static void add(struct schedule_newest *list, const struct schedule_arrival *arrival)
{
    int32_t i = list->n;
    bool is_in = i > 0 && is_before(list, arrival, &list->at[i - 1]);
    if (!is_in && (!list->is_all || i == FILL_KNOWN_MAX)) {
        list->is_all = false;
        return;
    }
    if (i == FILL_KNOWN_MAX) {
        list->is_all = false; /* the last falls off */
        i--;
    } else {
        list->n++;
    }
    for (; i > 0 && is_before(list, arrival, &list->at[i - 1]); i--)
        list->at[i] = list->at[i - 1];
    list->at[i] = *arrival;
}

static void look_at_all(struct schedule_newest *list, const struct schedule_view *view, int service,
                        uint32_t gone)
{
    const struct schedule_service *s = &view->services[service];
    list->n = 0;
    list->is_all = true;
    for (uint32_t i = 0; i < s->n_running; i++) {
        struct schedule_arrival arrival = arrival_of(view, s->running[i]);
        if (s->running[i] != gone)
            add(list, &arrival);
    }
}

static void leave(struct schedule_newest *list, const struct schedule_view *view, uint32_t slot)
{
    int32_t i = 0;
    list->n_known--;
    while (i < list->n && list->at[i].slot != slot)
        i++;
    if (i == list->n)
        return;
    list->n--;
    memmove(&list->at[i], &list->at[i + 1], (size_t)(list->n - i) * sizeof(list->at[0]));
    if (list->n == 0 && !list->is_all)
        look_at_all(list, view, view->requests[slot].service, slot);
}

/* Starting requests come after those that ran before. */
static void start(struct schedule_newest *list, const struct schedule_view *view, int service)
{
    const struct schedule_service *s = &view->services[service];
    for (; list->n_known < s->n_running; list->n_known++) {
        struct schedule_arrival arrival = arrival_of(view, s->running[list->n_known]);
        add(list, &arrival);
    }
}

void schedule_newest_saw(struct schedule_newest *lists, const struct schedule_view *view,
                         const struct schedule_event *event)
{
    const struct request *r;
    switch (event->what) {
    case SCHEDULE_STARTED:
        start(&lists[event->batch->service], view, event->batch->service);
        VERIFY(schedule_newest_is_sound(&lists[event->batch->service], view, event->batch->service,
                                        SCHEDULE_NONE));
        break;
    case SCHEDULE_PREEMPTED:
    case SCHEDULE_GONE: /* it counts as running until this event */
        r = &view->requests[event->slot];
        if (event->what == SCHEDULE_PREEMPTED || r->state == REQUEST_RUNNING)
            leave(&lists[r->service], view, event->slot);
        VERIFY(schedule_newest_is_sound(&lists[r->service], view, r->service, event->slot));
        break;
    default:
        break;
    }
}

bool schedule_newest_is_sound(const struct schedule_newest *list, const struct schedule_view *view,
                              int service, uint32_t gone)
{
    const struct schedule_service *s = &view->services[service];
    uint32_t n_listed = 0, n = 0;
    for (int32_t i = 1; i < list->n; i++)
        if (!is_before(list, &list->at[i - 1], &list->at[i]))
            return false;
    for (uint32_t i = 0; i < s->n_running; i++) {
        struct schedule_arrival arrival = arrival_of(view, s->running[i]);
        bool is_listed = false;
        if (s->running[i] == gone)
            continue;
        for (int32_t k = 0; k < list->n; k++)
            is_listed |= list->at[k].slot == s->running[i];
        n++;
        n_listed += is_listed;
        if (!is_listed && (list->n == 0 || is_before(list, &arrival, &list->at[list->n - 1])))
            return false;
    }
    return n_listed == (uint32_t)list->n && n == list->n_known && (!list->is_all || n_listed == n);
}
