/* Scores come in order. Those that are known come again after a request was submitted again. */
#include "api/scores.h"

#include "base/mem.h"

enum api_scores api_scores_take(struct api_choice *choice, const struct service_event *event,
                                const void *payload)
{
    struct api *api = choice->call->api;
    size_t n_bytes = (size_t)event->n_tokens * sizeof(struct token_logprobs);
    if (!choice->call->prompts.ask.wants_scores || event->position < 1 ||
        event->position > choice->n_scores + 1 || event->n_tokens < 1 ||
        event->n_tokens > choice->n_prompt - event->position || (size_t)event->n_bytes != n_bytes)
        return API_SCORES_LOST;
    bool has_room = mem_reserve_fill() && !api_parties_is_full(api_http_parties(api->http)) &&
                    api_choice_add_scores(choice, event->position, event->n_tokens, payload);
    return has_room ? API_SCORES_TAKEN : API_SCORES_STARVED;
}

bool api_scores_lack(const struct api_choice *choice)
{
    return choice->call->prompts.ask.wants_scores && choice->n_scores < choice->n_prompt - 1;
}
