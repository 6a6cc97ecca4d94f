/* Requests that were sent, as routers reckon them. */
#include "route/sent.h"

#include "predict/length.h"

int32_t route_sent_predicted(const struct route_view *view, const struct route_request *request)
{
    int32_t n = request->n_predicted;
    if (n <= 0)
        n = (int32_t)view->services[request->service].n_output_mean;
    return length_again(n, request->n_tokens - request->n_prompt);
}

const struct perf *route_sent_perf(const struct route_view *view, int32_t engine, int service)
{
    const struct perf *perfs = view->engines[engine].perfs;
    return perfs ? &perfs[service] : &view->services[service].perf;
}

bool route_sent_fits(const struct engine_report *report, const struct request *request)
{
    (void)request;
    return !report->is_draining && report->n_requests < report->n_requests_max;
}

int32_t route_sent_limit(const struct route_config *config, const struct route_engine *engine)
{
    if (config->n_inflight_max > 0)
        return min_i32(engine->n_requests_max, config->n_inflight_max);
    return engine->n_requests_max;
}

bool route_sent_is_before(const struct route_request *a, const struct route_request *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->arrived_ns != b->arrived_ns ? a->arrived_ns < b->arrived_ns : a->id < b->id;
}

size_t route_sent_bytes(const struct route_limits *limits)
{
    return align_up_u64(sizeof(uint32_t) * (size_t)limits->n_engines_max, 8) +
           sizeof(struct route_sent_link) * (size_t)limits->n_requests_max;
}

void route_sent_init(struct route_sent *sent, const struct route_limits *limits, void *memory)
{
    size_t n_bytes = align_up_u64(sizeof(uint32_t) * (size_t)limits->n_engines_max, 8);
    sent->first = memory;
    sent->links = (void *)((unsigned char *)memory + n_bytes);
    for (int32_t e = 0; e < limits->n_engines_max; e++)
        sent->first[e] = ROUTE_NONE;
}

void route_sent_add(struct route_sent *sent, int32_t engine, uint32_t slot)
{
    uint32_t next = sent->first[engine];
    sent->links[slot] = (struct route_sent_link){ .next = next, .prev = ROUTE_NONE };
    if (next != ROUTE_NONE)
        sent->links[next].prev = slot;
    sent->first[engine] = slot;
}

void route_sent_remove(struct route_sent *sent, int32_t engine, uint32_t slot)
{
    struct route_sent_link link = sent->links[slot];
    if (link.prev != ROUTE_NONE)
        sent->links[link.prev].next = link.next;
    else
        sent->first[engine] = link.next;
    if (link.next != ROUTE_NONE)
        sent->links[link.next].prev = link.prev;
}
