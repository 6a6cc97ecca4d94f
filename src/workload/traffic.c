/* Reads workload texts: all of a command line together make one workload. */
#include "workload/traffic.h"

#include "base/file.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REQUESTS_USUAL = 10000 };

static bool has_no_end(const struct workload *w)
{
    if (w->n_requests != UINT64_MAX || w->until_ns > 0)
        return false;
    for (int32_t i = 0; i < w->n_services; i++)
        if (w->services[i].rate_per_s > 0 && w->services[i].n_requests == 0 &&
            w->services[i].n_times == 0)
            return true;
    for (uint32_t i = 0; i < w->n_more; i++)
        if (w->more[i].n_requests == 0 && w->more[i].n_times == 0)
            return true;
    return false;
}

/* Refuses requests that would take longer than there is time: a part's own, or the stream's. */
static enum status check_time(const struct workload *w, struct fault *fault)
{
    double rate = 0, s = 0;
    for (int64_t i = 0; i < w->n_services + (int64_t)w->n_more; i++) {
        const struct workload_traffic *t =
            i < w->n_services ? &w->services[i] : &w->more[i - w->n_services];
        rate += t->n_times > 0 ? 0 : t->rate_per_s;
        if (t->rate_per_s > 0 && t->n_requests > 0)
            s = fmax(s, (double)t->n_requests / t->rate_per_s);
    }
    if (rate > 0 && w->n_requests != UINT64_MAX)
        s = (double)w->n_requests / rate;
    if (s < WORKLOAD_S_MAX || w->until_ns > 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_TOO_LARGE,
                     "workload: its requests take %.3g s at their rate, and time ends after "
                     "%.0e s (285 years): --duration, fewer --requests or a higher rate",
                     s, WORKLOAD_S_MAX);
}

/* Refuses a workload without any request, since its figures would be meaningless. */
static enum status check_any(const struct workload *w, struct fault *fault)
{
    struct workload_stream stream;
    struct workload_ask ask;
    workload_begin(&stream, w);
    bool has_any = workload_next(&stream, &ask);
    workload_end(&stream);
    if (has_any)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "workload: no request comes before its end: give a longer --duration "
                     "(seconds=), or a higher rate");
}

enum status traffic_parse(struct workload *workload, const struct flags_texts *texts,
                          const struct traffic_options *options, struct fault *fault)
{
    enum status status = STATUS_OK;
    workload_init(workload);
    if (options->seed > 0)
        workload->seed = options->seed;
    for (int i = 0; i < texts->n && status == STATUS_OK; i++)
        status = workload_parse(workload, texts->at[i], fault);
    if (status == STATUS_OK && texts->n == 0)
        status = fault_set(fault, STATUS_BAD_INPUT,
                           "no workload: give one, as poisson:rate=1,in=100,out=100");
    if (status != STATUS_OK)
        return status;
    if (options->seed > 0)
        workload->seed = options->seed;
    if (options->n_requests > 0)
        workload->n_requests = options->n_requests;
    if (options->duration_ns > 0)
        workload->until_ns = options->duration_ns;
    if (options->run_length > 0)
        workload->run_length = (uint32_t)options->run_length;
    if (options->length_noise > 0)
        workload->output_noise = options->length_noise;
    if (workload->run_length > 1 && workload->n_replays > 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "--run-length does not go with a trace that is replayed");
    if (has_no_end(workload))
        workload->n_requests = REQUESTS_USUAL;
    if (options->rate_scale > 0)
        workload_scale(workload, options->rate_scale);
    status = check_time(workload, fault);
    return status == STATUS_OK ? check_any(workload, fault) : status;
}

enum status traffic_keep_pipes(const struct flags_texts *texts, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < texts->n; i++) {
        const char *at = strpbrk(texts->at[i], ":=");
        for (; at != NULL && status == STATUS_OK; at = strpbrk(at + 1, ":=")) {
            char path[32]; /* as /dev/fd/63 or /proc/self/fd/63 */
            snprintf(path, sizeof(path), "%.*s",
                     (int)strspn(at + 1, "/abcdefghijklmnopqrstuvwxyz0123456789"), at + 1);
            status = file_keep(path, TRAFFIC_PIPE_BYTES_MAX, fault);
        }
    }
    return status;
}
