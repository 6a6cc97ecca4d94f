/* What a share of the device does to speed, and whether copying beats computing again. */
#include "schedule/policy.h"

struct perf schedule_lane_perf(const struct schedule_service *service,
                               const struct schedule_lane *lane)
{
    struct perf perf;
    if (lane->share >= 1 || lane->share <= 0)
        return service->perf;
    const struct perf_share *table = &perf_share_cores;
    if (lane->n_gpus > 0)
        table = perf_share_of(service->weights_bytes, lane->n_gpus);
    perf_at_share(&service->perf, table, (double)lane->share, &perf);
    return perf;
}

bool schedule_swap_pays(const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    const struct schedule_service *s = &view->services[r->service];
    int64_t n = r->n_computed;
    if (view->swap_bytes_per_s <= 0 || s->kv_bytes_per_token <= 0 || n <= 0 ||
        n * s->kv_bytes_per_token > view->swap_bytes_free)
        return false;
    struct perf_load load = { .n_new = (int32_t)n, .n_new_squared = n * n };
    double bytes = 2.0 * (double)n * (double)s->kv_bytes_per_token;
    double copy_ps = bytes / (double)view->swap_bytes_per_s * 1e12;
    return (double)perf_step_ps(&s->perf, &load) >= copy_ps;
}
