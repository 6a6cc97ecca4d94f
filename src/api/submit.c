/* From a choice to a request and its body, with whatever was generated in an earlier life. */
#include "api/submit.h"
#include "base/mem.h"
#include "base/rng.h"
#include <string.h>

bool api_submit_again(struct api_choice *choice)
{
    struct api_call *call = choice->call;
    struct api *api = call->api;
    const struct api_ask *ask = &call->prompts.ask;
    uint32_t n_prompt = (uint32_t)choice->n_prompt, n = n_prompt + (uint32_t)choice->n_generated;
    size_t n_bytes =
        request_body_bytes(n, (uint32_t)call->rules.n_stop_ids, (uint32_t)ask->n_biases);
    struct request_body *body = mem_try(n_bytes);
    if (body == NULL)
        return false;
    *body = (struct request_body){
        .n_bytes = (uint32_t)n_bytes,
        .n_tokens = n,
        .n_stop_ids = (uint32_t)call->rules.n_stop_ids,
        .n_biases = (uint32_t)ask->n_biases,
        .seed = choice->seed,
        .sampling = ask->sampling,
    };
    memcpy(request_body_tokens(body), call->prompts.of[choice->prompt].ids, 4 * (size_t)n_prompt);
    if (choice->n_generated > 0)
        memcpy(request_body_tokens(body) + n_prompt, choice->ids, 4 * (size_t)choice->n_generated);
    if (body->n_stop_ids > 0)
        memcpy(request_body_stop_ids(body), call->rules.stop_ids, 4 * (size_t)body->n_stop_ids);
    if (body->n_biases > 0)
        memcpy(request_body_biases(body), ask->biases, sizeof(*ask->biases) * body->n_biases);
    struct request request = {
        .id = choice->id,
        .service = call->prompts.model->service,
        .priority = (int16_t)(ask->has_priority ? ask->priority : call->prompts.model->priority),
        .tenant = api_tenants_hash(&api->tenants, call->tenant),
        .state = REQUEST_WAITING,
        .kind = REQUEST_GENERATE,
        .n_prompt = choice->n_prompt,
        .n_tokens = (int32_t)n,
        .n_tokens_max = choice->n_prompt + call->prompts.n_tokens_max,
        .arrived_ns = call->arrived_ns,
        .served_ns = call->arrived_ns,
        .deadline_ns = call->deadline_ns,
        .epoch = choice->epoch,
        .flags = (ask->ignores_eos ? REQUEST_IGNORE_EOS : 0u) |
                 (ask->wants_logprobs ? REQUEST_WANTS_LOGPROBS : 0u),
    };
    struct mem_account *before = mem_account_use(api->options.account); /* the service's own */
    bool is_taken = api->options.service.submit(api->options.service.self, &request, body);
    (void)mem_account_use(before);
    mem_give(body);
    api_nudge(api);
    return is_taken;
}

void api_submit_open(struct api_call *call, int32_t index)
{
    struct api *api = call->api;
    const struct api_ask *ask = &call->prompts.ask;
    struct api_choice *choice = &call->choices[index];
    api_choice_init(choice, call->prompts.model->tokenizer, ask->skips_special);
    choice->call = call;
    choice->index = index;
    choice->prompt = index / ask->n;
    choice->n_prompt = call->prompts.of[choice->prompt].n;
    choice->is_open = true;
    int32_t k = index % ask->n; /* the same seed gives each prompt the same draws */
    uint64_t seed = (uint64_t)ask->seed;
    if (!ask->has_seed)
        seed = rng_system();
    choice->seed = ask->has_seed && k > 0 ? rng_at(seed, 1, (uint64_t)k) : seed;
    choice->id = api_next_id(api);
}

bool api_submit_first(struct api_choice *choice)
{
    struct api *api = choice->call->api;
    choice->slot = slots_take(&api->slots);
    if (choice->slot == 0)
        return false;
    CHECK(map_put(&api->ids, choice->id, slots_index(choice->slot)));
    api->choices[slots_index(choice->slot)] = choice;
    choice->is_submitted = true;
    return api_submit_again(choice);
}

void api_submit_rules(struct api_call *call)
{
    const struct api_ask *ask = &call->prompts.ask;
    const struct api_model *model = call->prompts.model;
    int32_t n = 0;
    for (int32_t i = 0; i < ask->n_stop_ids; i++)
        call->stop_ids[n++] = ask->stop_ids[i];
    for (int32_t i = 0; i < model->n_eog && !ask->ignores_eos && n < LIMIT_STOP_IDS; i++)
        call->stop_ids[n++] = model->eog_ids[i];
    call->stops.n = ask->n_stops;
    memcpy(call->stops.texts, ask->stops, sizeof(ask->stops));
    call->rules = (struct api_choice_rules){
        .stops = &call->stops,
        .stop_ids = call->stop_ids,
        .n_stop_ids = n,
        .n_client_stop_ids = ask->n_stop_ids,
        .n_tokens_min = ask->sampling.n_tokens_min,
        .include_stop = ask->include_stop,
        .wants_logprobs = ask->wants_logprobs,
    };
}
