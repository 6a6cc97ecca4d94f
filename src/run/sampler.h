/* Draws the next token from a row of logits.
 *
 * The draw at a position depends on (logits, sampling, tokens so far, seed, position) and nothing
 * else: ties go to the lower id, the die is rng_at(seed, 0, position). Order of the filters, as
 * vLLM: biases, minimum length, repetition, frequency and presence penalties, temperature, min_p,
 * top_k, top_p. Log probabilities are those of the unfiltered logits. */
#pragma once
#include "core/request.h"
#include "core/service.h"
#include "run/choice.h"

struct run_sampler { /* scratch for one vocabulary size; memory taken once */
    int32_t n_vocabulary_max;
    /* private below */
    int32_t *counts; /* (n_vocabulary_max) occurrences, zero between calls */
    float *
        raw; /* (n_vocabulary_max) the row before the filters, where log probabilities are wanted */
    struct run_choice choice;
};
void run_sampler_init(struct run_sampler *sampler, const struct compute_draw *loops,
                      int32_t n_vocabulary_max);
/* What it takes for a vocabulary. */
size_t run_sampler_bytes(int32_t n_vocabulary_max);
void run_sampler_free(struct run_sampler *sampler);

struct run_draw {
    const struct request_body *body; /* sampling, seed, stop ids, biases */
    const int32_t *tokens;           /* known tokens: prompt and generated */
    int32_t n_prompt, n_tokens;
    const float *next; /* logits that are likely drawn from next, fetched meanwhile; NULL: none */
};
/* Changes logits in place. Fills logprobs (may be NULL) with the drawn token's and the most likely
 * ones. */
int32_t run_sampler_draw(struct run_sampler *sampler, const struct run_draw *draw, float *logits,
                         int32_t n_vocabulary, struct token_logprobs *logprobs);
