/* Computes work: the time that a request takes on the device when it runs alone. See work.h. */
#include "schedule/work.h"

int64_t schedule_work_usual_ps(const struct schedule_service *service)
{
    int64_t ns = service->solo_ns + service->solo_deviation_ns;
    if (service->solo_ns <= 0) { /* no data yet, so a medium request */
        int64_t n_in = service->n_prompt_mean >= 1 ? (int64_t)service->n_prompt_mean : 256;
        int64_t n_out = service->n_output_mean >= 1 ? (int64_t)service->n_output_mean : 128;
        ns = perf_solo_ps(&service->perf, n_in, n_out) / 1000;
    }
    return max_i64(min_i64(ns, WORK_PS_MAX / 1000), 1) * 1000;
}

int64_t schedule_work_prefill_ps(const struct perf *perf, int64_t n)
{
    struct perf_load load = { .n_new = (int32_t)n, .n_new_squared = n * n };
    return perf_step_ps(perf, &load);
}

struct schedule_price schedule_work_price(const struct schedule_service *service)
{
    int64_t first_ps = perf_decode_span_ps(&service->perf, 1, 0, 1);
    int64_t slope_ps = perf_decode_span_ps(&service->perf, 1, 1, 1) - first_ps;
    return (struct schedule_price){ .usual_ps = schedule_work_usual_ps(service),
                                    .first_ps = first_ps,
                                    .slope_ps = slope_ps,
                                    .is_plain = first_ps > 0 && first_ps < INT64_C(1) << 41 &&
                                                slope_ps >= 0 && slope_ps < 1 << 21 };
}

int64_t schedule_work_rest_ps(const struct schedule_view *view, const struct request *r,
                              int64_t n_left)
{
    const struct perf *perf = &view->services[r->service].perf;
    int64_t n_lacking = schedule_lacking(r);
    int64_t ps = n_lacking > 1 ? perf_solo_ps(perf, n_lacking, n_left)
                               : perf_decode_span_ps(perf, 1, r->n_tokens, n_left);
    return max_i64(min_i64(ps, WORK_PS_MAX), 1);
}
