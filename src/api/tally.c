/* Counts requests and tokens. */
#include "api/tally.h"
#include "base/time.h"

void api_tally_tokens(const struct api_choice *choice, int32_t n)
{
    const struct api_call *call = choice->call;
    metrics_add_tokens(call->api->metrics, call->prompts.model->service,
                       choice->n_generated == 0 ? choice->n_prompt : 0, n);
    api_spend_tokens(call->api, &call->spend, n);
}

void api_tally_end(const struct api_choice *choice, uint8_t why)
{
    const struct api_call *call = choice->call;
    bool has_first = choice->first_ns > 0;
    metrics_add_request(call->api->metrics,
                        &(struct metrics_request){
                            .service = call->prompts.model->service,
                            .why = why,
                            .n_prompt = choice->n_prompt,
                            .n_cached = choice->n_cached,
                            .n_generated = choice->n_generated,
                            .n_preempted = choice->n_preempted,
                            .queue_ns = choice->queue_ns,
                            .ttft_ns = has_first ? choice->first_ns - call->arrived_ns : 0,
                            .e2e_ns = time_now_ns() - call->arrived_ns,
                            .decode_ns = has_first ? choice->last_ns - choice->first_ns : 0,
                            .slo = { call->slo.ttft_ns, call->slo.tpot_ns, call->slo.e2e_ns },
                        });
    bool is_served = has_first || why == SERVICE_LENGTH;
    if (call->kind == ASK_EMBED && why == SERVICE_LENGTH)
        metrics_add_tokens(call->api->metrics, call->prompts.model->service, choice->n_prompt, 0);
    api_spend_end(call->api, &call->spend,
                  &(struct usage_counts){
                      .n_requests = choice->index == 0,
                      .n_in = is_served ? choice->n_prompt : 0,
                      .n_out = choice->n_generated,
                      .n_cached = is_served ? choice->n_cached : 0,
                      .device_ns = choice->device_ns,
                  });
}

void api_tally_call(const struct api_call *call, uint8_t why)
{
    const struct api_model *model = call->prompts.model;
    metrics_add_request(call->api->metrics,
                        &(struct metrics_request){
                            .service = model != NULL ? model->service : METRICS_NO_SERVICE,
                            .why = why,
                        });
    api_spend_end(call->api, &call->spend, &(struct usage_counts){ .n_requests = 1 });
}

void api_tally_refused(struct api *api, const struct api_error *error)
{
    const char *reason = api_error_reason(error);
    metrics_add_request(api->metrics,
                        &(struct metrics_request){ .service = METRICS_NO_SERVICE,
                                                   .why = api_tally_why(error->kind) });
    if (reason != NULL)
        metrics_add_refusal(api->metrics, METRICS_NO_SERVICE, reason);
}

uint8_t api_tally_why(enum api_error_kind kind)
{
    static const uint8_t whys[ERROR_N] = {
        [ERROR_TOO_LARGE] = SERVICE_TOO_LARGE,
        [ERROR_QUEUE_FULL] = SERVICE_FULL,
        [ERROR_QUOTA] = SERVICE_FULL,
        [ERROR_EVICTED] = SERVICE_FULL,
        [ERROR_CROWDED] = SERVICE_FULL,
        [ERROR_STARVED] = SERVICE_FULL,
        [ERROR_HOUSE] = SERVICE_FAILED,
        [ERROR_DRAINING] = SERVICE_DRAINING,
        [ERROR_LOADING] = SERVICE_NOT_READY,
        [ERROR_LATE] = SERVICE_DEADLINE,
        [ERROR_LATE_AT_WORK] = SERVICE_DEADLINE,
        [ERROR_STOPPED] = SERVICE_CANCELLED,
        [ERROR_LOAD_FAILED] = SERVICE_LOAD_FAILED,
        [ERROR_PAUSED] = SERVICE_NOT_READY,
    };
    return whys[kind];
}
