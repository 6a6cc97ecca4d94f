/* The order of virtual time. */
#include "sim/events.h"

#include "base/mem.h"

bool sim_events_is_before(const struct sim_event *a, const struct sim_event *b)
{
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns;
    return a->kind != b->kind ? a->kind < b->kind : a->sequence < b->sequence;
}

void sim_events_init(struct sim_events *events, uint32_t n_max)
{
    *events = (struct sim_events){ .n_max = n_max };
    events->heap = mem_take(n_max * sizeof(*events->heap));
}

void sim_events_free(struct sim_events *events)
{
    mem_give(events->heap);
}

void sim_events_add(struct sim_events *events, const struct sim_event *event)
{
    if (events->n == events->n_max) {
        size_t n_bytes = events->n_max * sizeof(*events->heap);
        events->heap = mem_grow(events->heap, n_bytes, 2 * n_bytes);
        events->n_max *= 2;
    }
    uint32_t at = events->n++;
    while (at > 0 && sim_events_is_before(event, &events->heap[(at - 1) / 2])) {
        events->heap[at] = events->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    events->heap[at] = *event;
}

const struct sim_event *sim_events_first(const struct sim_events *events)
{
    return events->n > 0 ? &events->heap[0] : NULL;
}

void sim_events_remove_first(struct sim_events *events)
{
    CHECK(events->n > 0);
    struct sim_event last = events->heap[--events->n];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= events->n)
            break;
        if (child + 1 < events->n &&
            sim_events_is_before(&events->heap[child + 1], &events->heap[child]))
            child++;
        if (!sim_events_is_before(&events->heap[child], &last))
            break;
        events->heap[at] = events->heap[child];
        at = child;
    }
    if (events->n > 0)
        events->heap[at] = last;
}
