/* Makes requests of choices. The service copies what it needs. */
#include "api/submit.h"
#include "base/mem.h"
#include "base/rng.h"
#include <string.h>

enum { GUIDE_BYTES = 64 << 10 }; /* of an engine for the state of a guided answer: about */

void api_submit_open(struct api_call *call, int32_t index)
{
    struct api *api = call->api;
    const struct api_ask *ask = &call->prompts.ask;
    struct api_choice *choice = &call->choices[index];
    bool is_parsed = call->prompts.is_parsed; /* then marks that are special tokens are needed */
    api_choice_init(choice, call->prompts.model->tokenizer, ask->skips_special && !is_parsed);
    choice->is_parsed = is_parsed;
    choice->parser = call->prompts.parser;
    choice->call = call;
    choice->index = index;
    choice->prompt = index / ask->n;
    choice->n_prompt = call->prompts.of[choice->prompt].n;
    choice->is_open = true;
    int32_t k = index % ask->n; /* equal seeds give each prompt equal draws */
    uint64_t seed = (uint64_t)ask->seed;
    if (!ask->has_seed)
        seed = rng_system();
    choice->seed = ask->has_seed && k > 0 ? rng_at(seed, 1, (uint64_t)k) : seed;
    choice->id = api_next_id(api);
}

/* Returns whether the text's vector is made of other positions than the last one, which a prefix
 * hit would leave out. */
static bool reads_all(const struct api_call *call)
{
    const char *pooling = call->prompts.model->pooling;
    return call->kind == ASK_EMBED && pooling != NULL && strcmp(pooling, "last") != 0;
}

static struct request request_of(const struct api_choice *choice)
{
    const struct api_call *call = choice->call;
    const struct api_ask *ask = &call->prompts.ask;
    return (struct request){
        .id = choice->id,
        .service = call->prompts.model->service,
        .priority = (int16_t)(ask->has_priority ? ask->priority : call->prompts.model->priority),
        .tenant = api_tenants_hash(&call->api->tenants, call->tenant),
        .state = REQUEST_WAITING,
        .kind = call->kind == ASK_EMBED          ? REQUEST_EMBED
                : call->prompts.n_tokens_max > 0 ? REQUEST_GENERATE
                                                 : REQUEST_SCORE,
        .n_prompt = choice->n_prompt,
        .n_tokens = choice->n_prompt,
        .n_tokens_max = choice->n_prompt + max_i32(call->prompts.n_tokens_max, 1),
        .arrived_ns = call->arrived_ns,
        .served_ns = call->arrived_ns,
        .deadline_ns = call->deadline_ns,
        .flags = (ask->ignores_eos ? REQUEST_IGNORE_EOS : 0u) |
                 (ask->wants_logprobs ? REQUEST_WANTS_LOGPROBS : 0u) |
                 (ask->wants_scores ? REQUEST_WANTS_SCORES | REQUEST_NO_PREFIX_HIT : 0u) |
                 (reads_all(call) ? REQUEST_NO_PREFIX_HIT : 0u) |
                 (call->prompts.guide.kind != 0 ? REQUEST_GUIDED : 0u),
    };
}

bool api_submit(struct api_choice *choice)
{
    struct api *api = choice->call->api;
    const struct service *service = &api->options.service;
    const struct request request = request_of(choice);
    struct request_body *body = choice->call->prompts.of[choice->prompt].body;
    choice->slot = slots_take(&api->slots);
    if (choice->slot == 0)
        return false;
    CHECK(map_put(&api->ids, choice->id, slots_index(choice->slot)));
    api->choices[slots_index(choice->slot)] = choice;
    choice->is_submitted = true;
    body->seed = choice->seed;
    api_spend_tokens(api, &choice->call->spend, choice->n_prompt);
    struct mem_account *before = mem_account_use(api->options.account); /* the service's own */
    bool is_taken = service->submit(service->self, &request, body);
    (void)mem_account_use(before);
    api_nudge(api);
    return is_taken;
}

void api_submit_rules(struct api_call *call)
{
    const struct api_ask *ask = &call->prompts.ask;
    call->stops.n = ask->n_stops;
    memcpy(call->stops.texts, ask->stops, sizeof(ask->stops));
    call->rules = (struct api_choice_rules){
        .stops = &call->stops,
        .stop_ids = call->prompts.stop_ids,
        .n_stop_ids = call->prompts.n_stop_ids,
        .n_client_stop_ids = ask->n_stop_ids,
        .n_tokens_min = ask->sampling.n_tokens_min,
        .include_stop = ask->include_stop,
        .keeps_tokens = ask->wants_logprobs || ask->keeps_tokens,
    };
}

bool api_submit_charge(struct api_call *call, const struct api_work *work, struct api_error *error)
{
    const struct api_guided *guided = call->prompts.ask.guided.kind != 0
                                          ? &call->prompts.ask.guided
                                          : &call->prompts.guide.offered;
    int64_t n_bytes = guided->n_bytes + (int64_t)GUIDE_BYTES * call->n_seats;
    if (guided->kind == 0)
        return true;
    if (n_bytes > work->n_bytes_max) {
        api_error_set(error, n_bytes > work->n_bytes_most ? ERROR_TOO_LARGE : ERROR_CROWDED,
                      guided->field,
                      "%s takes %lld MiB while its answers are made, and there is no memory for it "
                      "now (http_memory)",
                      guided->field, (long long)(n_bytes >> 20));
        return false;
    }
    call->guided_bytes = n_bytes;
    mem_account_charge(&call->party->account, n_bytes);
    return true;
}
