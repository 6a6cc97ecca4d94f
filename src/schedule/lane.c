/* Computes the effect of a share of the device on speed, and whether copying beats computing
 * again. */
#include "schedule/lanes.h"

int32_t schedule_lanes_of_shares(const int32_t *share_percent, int n_services,
                                 struct schedule_lane *lanes)
{
    int32_t n = 1;
    float least = 1;
    lanes[0] = (struct schedule_lane){ .share = 1 };
    for (int i = 0; i < n_services && n < LIMIT_LANES - 1; i++) {
        if (share_percent[i] < 1 || share_percent[i] >= 100)
            continue;
        lanes[n] = (struct schedule_lane){ .share = (float)share_percent[i] / 100 };
        least = lanes[n].share < least ? lanes[n].share : least;
        n++;
    }
    if (n == 1)
        return 0;
    float left = 1.2F - least;
    lanes[n++] = (struct schedule_lane){ .share = left < 1 ? left : 0.99F, .is_for_prompts = true };
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < n; k++)
            if (i != k &&
                (i == 0 || k == 0 || lanes[i].share + lanes[k].share > SCHEDULE_SHARES_MAX))
                lanes[i].conflicts |= (uint16_t)(1U << k);
    return n;
}

int32_t schedule_lanes_of_parts(const int32_t *parts, int n, struct schedule_lane *lanes)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += parts[i];
    lanes[0] = (struct schedule_lane){ .share = 1 };
    for (int i = 0; i < n; i++) {
        lanes[i + 1] =
            (struct schedule_lane){ .share = (float)parts[i] / (float)sum, .conflicts = 1 };
        lanes[0].conflicts |= (uint16_t)(2U << i);
    }
    return n + 1;
}

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
