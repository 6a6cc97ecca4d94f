/* Draws the next token from a row of logits.
 *
 * The draw at a position depends only on (logits, sampling, tokens so far, seed, position). Ties go
 * to the lower id, and the random number is rng_at(seed, 0, position). Order of the filters, as
 * vLLM: mask, biases, minimum length, repetition, frequency and presence penalties, temperature,
 * min_p, top_k, top_p. Log probabilities are those of the unfiltered logits. */
#pragma once
#include "core/request.h"
#include "core/service.h"
#include "compute/choice.h"

struct compute_sampler { /* scratch for one vocabulary size; memory taken once */
    int32_t n_vocabulary_max;
    /* private below */
    int32_t *counts; /* (n_vocabulary_max) occurrences, zero between calls */
    float *
        raw; /* (n_vocabulary_max) the row before the filters, where log probabilities are wanted */
    struct compute_choice choice;
};
void compute_sampler_init(struct compute_sampler *sampler, const struct compute_draw *loops,
                          int32_t n_vocabulary_max);
/* Returns the bytes that it takes for a vocabulary. */
size_t compute_sampler_bytes(int32_t n_vocabulary_max);
void compute_sampler_free(struct compute_sampler *sampler);

struct compute_sampler_row {
    const struct request_body *body; /* sampling, seed, stop ids, biases */
    const int32_t *tokens;           /* known tokens: prompt and generated */
    int32_t n_prompt, n_tokens;
    const float *next;    /* logits of the probable next draw, prefetched meanwhile; NULL: none */
    const uint32_t *mask; /* a bit per id that may be drawn; NULL: all */
    const int32_t *last;  /* the last of the n_tokens if tokens lacks it, else NULL */
};
/* Draws a token and changes logits in place. Fills logprobs (may be NULL) with the log
 * probabilities of the drawn token and the most likely ones. */
int32_t compute_sampler_draw(struct compute_sampler *sampler, const struct compute_sampler_row *row,
                             float *logits, int32_t n_vocabulary, struct token_logprobs *logprobs);
struct compute_sampler_id {
    int32_t id, n_top;
};
/* Fills logprobs with the id's log probability, and the n_top most likely ones. */
void compute_sampler_score(struct compute_sampler *sampler, const float *logits,
                           int32_t n_vocabulary, struct compute_sampler_id scored,
                           struct token_logprobs *logprobs);
