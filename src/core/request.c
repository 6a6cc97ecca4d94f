/* The lists of a body, and the checks of one that came over a wire. */
#include "core/request.h"

static bool ids_are_valid(const int32_t *ids, uint32_t n, int32_t n_vocabulary)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocabulary)
            return false;
    return true;
}

/* Also false for NaN. */
static bool is_between(float value, float low, float high)
{
    return value >= low && value <= high;
}

static bool sampling_is_valid(const struct sampling *s)
{
    return is_between(s->temperature, 0, 100) && is_between(s->top_p, 0, 1) &&
           is_between(s->min_p, 0, 1) && is_between(s->frequency_penalty, -100, 100) &&
           is_between(s->presence_penalty, -100, 100) &&
           is_between(s->repetition_penalty, 1e-6f, 1e6f) && s->top_k >= 0 &&
           s->n_tokens_min >= 0 && s->n_top_logprobs >= -1 &&
           s->n_top_logprobs <= LIMIT_TOP_LOGPROBS && s->n_top_scores >= 0 &&
           s->n_top_scores <= LIMIT_TOP_LOGPROBS;
}

bool request_body_stops(const struct request_body *body, int32_t token)
{
    const int32_t *ids = request_body_stop_ids(body);
    for (uint32_t i = 0; i < body->n_stop_ids; i++)
        if (ids[i] == token)
            return true;
    return false;
}

bool request_body_is_valid(const struct request_body *body, size_t n_bytes, int32_t n_vocabulary)
{
    if (n_bytes < sizeof(*body) || body->n_bytes != n_bytes)
        return false;
    if (body->n_tokens == 0 || body->n_tokens > LIMIT_CONTEXT ||
        body->n_stop_ids > LIMIT_STOP_IDS || body->n_biases > LIMIT_BIASES ||
        body->n_grammar > LIMIT_GRAMMAR_BYTES || body->n_first > body->n_tokens)
        return false;
    if (request_body_whole_bytes(body) != n_bytes)
        return false;
    if (!sampling_is_valid(&body->sampling) ||
        !ids_are_valid(request_body_tokens(body), body->n_tokens, n_vocabulary) ||
        !ids_are_valid(request_body_stop_ids(body), body->n_stop_ids, n_vocabulary))
        return false;
    const struct logit_bias *biases = request_body_biases(body);
    for (uint32_t i = 0; i < body->n_biases; i++)
        if (!ids_are_valid(&biases[i].id, 1, n_vocabulary) ||
            !is_between(biases[i].bias, -1e6f, 1e6f))
            return false;
    return true;
}
