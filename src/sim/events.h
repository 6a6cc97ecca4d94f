/* A heap of events in a total order, (time, kind, sequence). */
#pragma once
#include "base/base.h"

/* Events of one instant come in this order, so that an engine's step sees everything that arrived.
 * HANDOVER: KV has come from a prefill engine. JOINS: a service joins or leaves. ROUTE: the router
 * wants a call. SCALE: pools are adjusted. REPLACE: models move or are planned anew. CHAINS: their
 * devices leave and join. The last four follow all other events of their instant. */
enum sim_kind {
    SIM_ARRIVAL,
    SIM_CANCEL,
    SIM_HANDOVER,
    SIM_JOINS,
    SIM_STEP,
    SIM_ROUTE,
    SIM_SCALE,
    SIM_REPLAN,
    SIM_CHAINS
};

struct sim_event {
    int64_t time_ns;
    uint64_t sequence; /* within its kind: a request's number, an engine's index */
    uint64_t what;     /* for the code that put it there */
    uint8_t kind;
};
struct sim_events {
    struct sim_event *heap;
    uint32_t n, n_max;
};
void sim_events_init(struct sim_events *events, uint32_t n_max); /* at first; it grows */
void sim_events_free(struct sim_events *events);
void sim_events_add(struct sim_events *events, const struct sim_event *event);
/* Returns the first event; NULL when the heap is empty. Valid until the next call. */
const struct sim_event *sim_events_first(const struct sim_events *events);
void sim_events_remove_first(struct sim_events *events);
bool sim_events_is_before(const struct sim_event *a, const struct sim_event *b);
