/* Plays a workload into a trace of our own format. */
#include "base/time.h"
#include "sim/trace.h"
#include "sim/workload.h"
#include <stdio.h>

static bool source_is_endless(const struct sim_traffic *t)
{
    if (t->n_requests > 0 || t->times_ns != NULL || t->arrivals == SIM_ONCE)
        return false;
    return t->rate_per_s > 0;
}

bool sim_workload_is_endless(const struct sim_workload *w)
{
    if (w->n_requests != UINT64_MAX || w->until_ns > 0)
        return false;
    for (int32_t i = 0; i < w->n_services; i++)
        if (source_is_endless(&w->services[i]))
            return true;
    for (uint32_t i = 0; i < w->n_more; i++)
        if (source_is_endless(&w->more[i]))
            return true;
    return false;
}

/* The trace's models are the services, by number. False: two have one name, or it is no name. */
static bool add_services(const struct sim_workload *w, struct sim_trace *trace)
{
    for (int32_t i = 0; i < w->n_services; i++) {
        char name[32];
        snprintf(name, sizeof(name), "service-%d", i);
        if (sim_trace_model(
                trace, view_text(w->services[i].name != NULL ? w->services[i].name : name)) != i)
            return false;
    }
    trace->has_models = trace->has_times = true;
    return true;
}

static void add_ask(struct sim_trace *trace, const struct sim_ask *ask)
{
    struct sim_trace_row row = {
        .arrived_ns = ask->arrived_ns,
        .deadline_ns =
            ask->deadline_ns == TIME_NEVER ? TIME_NEVER : ask->deadline_ns - ask->arrived_ns,
        .cancel_ns = ask->cancel_ns == TIME_NEVER ? TIME_NEVER : ask->cancel_ns - ask->arrived_ns,
        .prefix_at = trace->n_blocks,
        .n_prefix = ask->n_prefix,
        .n_prompt = ask->n_prompt,
        .n_output = ask->n_output,
        .n_predicted = ask->n_predicted,
        .model = ask->service,
        .tenant = ask->tenant,
        .priority = ask->priority,
    };
    for (uint32_t i = 0; i < ask->n_prefix; i++)
        sim_trace_add_block(trace, ask->prefix[i]);
    if (ask->n_prefix > 0)
        trace->prefix_tokens = ask->prefix_tokens;
    sim_trace_add(trace, &row);
}

enum status sim_workload_write(const struct sim_workload *workload, const char *path,
                               struct fault *fault)
{
    struct sim_trace trace;
    struct sim_stream stream;
    struct sim_ask ask;
    enum status status = STATUS_OK;
    if (sim_workload_is_endless(workload))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "the workload has no end: say how many requests or seconds to write");
    sim_trace_init(&trace);
    if (!add_services(workload, &trace))
        status = fault_set(fault, STATUS_BAD_INPUT, "two services of the workload have one name");
    sim_workload_begin(&stream, workload);
    while (status == STATUS_OK && sim_workload_next(&stream, &ask)) {
        add_ask(&trace, &ask);
        if (trace.n_rows == SIM_TRACE_ROWS_MAX)
            status = fault_set(fault, STATUS_TOO_LARGE, "more than %d requests for one file",
                               SIM_TRACE_ROWS_MAX);
    }
    sim_workload_end(&stream);
    if (status == STATUS_OK)
        status = sim_trace_write(&trace, path, fault);
    sim_trace_free(&trace);
    return status;
}
