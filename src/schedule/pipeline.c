/* Batches of a pipeline. See pipeline.h. */
#include "schedule/pipeline.h"

enum { CHUNK_STEPS = 2 };

/* Returns the number of batches in which n decodes of n_tokens come round soonest. Each passes all
 * stages, and all pass the slowest. If a step hardly depends on its requests, that is one. */
static RARE int32_t n_batches_of(const struct schedule_view *view, const struct perf *perf,
                                 int32_t n_deep, int32_t n, int64_t n_tokens)
{
    int64_t least_ps = INT64_MAX;
    int32_t best = 1;
    for (int32_t k = 1; k <= n_deep; k++) {
        struct perf_load load = { .n_decodes = (int32_t)div_up_i64(n, k),
                                  .n_decode_context = n_tokens / k };
        int64_t ps = perf_step_ps(perf, &load);
        ps = max_i64(ps, (int64_t)((double)ps * k * view->deep_part));
        best = ps < least_ps ? k : best;
        least_ps = min_i64(least_ps, ps);
    }
    return best;
}

/* All batches are alike, and a request that would be alone in one more batch waits for those in
 * flight. */
static RARE int32_t decodes_of(const struct schedule_view *view, int32_t n_deep, int service,
                               int32_t lane)
{
    const struct schedule_service *s = &view->services[service];
    int64_t n_tokens = 0;
    int32_t n = 0, n_free = 0;
    for (uint32_t i = 0; i < s->n_running; i++) {
        const struct request *r = &view->requests[s->running[i]];
        if (schedule_lacking(r) > 1)
            continue;
        n_tokens += r->n_tokens;
        n++;
        n_free += r->batch == 0;
    }
    if (lane == 0 && (s->n_waiting > 0 || (uint32_t)n < s->n_running))
        return (int32_t)div_up_i64(n, n_deep);
    int32_t most = (int32_t)div_up_i64(n, n_batches_of(view, &s->perf, n_deep, n, n_tokens));
    return n_free < n && 2 * n_free < most ? 0 : most;
}

int32_t schedule_pipeline_decodes(const struct schedule_view *view, int32_t n_deep, int service,
                                  int32_t lane)
{
    return n_deep > 1 ? decodes_of(view, n_deep, service, lane) : INT32_MAX;
}

int32_t schedule_pipeline_starts(int32_t n_deep, const struct schedule_service *service)
{
    return n_deep > 1 ? (int32_t)div_up_i64(service->n_waiting, n_deep) : INT32_MAX;
}

/* Cuts a chunk until its step takes no longer than CHUNK_STEPS of the decodes that share the
 * pipeline. Half of that is work on the prompt. */
int32_t schedule_pipeline_chunk(const struct schedule_view *view,
                                const struct schedule_config *config, int service)
{
    const struct perf *perf = &view->services[service].perf;
    struct perf_load decode = { .n_decodes = 1, .n_decode_context = 1 };
    int64_t most_ps = CHUNK_STEPS * perf_step_ps(perf, &decode);
    int32_t n = config->chunk_tokens;
    for (; n > SCHEDULE_PIPELINE_CHUNK_MIN; n /= 2) {
        struct perf_load load = { .n_new = n, .n_new_squared = (int64_t)n * n };
        if (perf_step_ps(perf, &load) <= most_ps)
            break;
    }
    return n;
}
