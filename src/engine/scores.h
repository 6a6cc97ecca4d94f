/* The scores of a prompt: for each of its tokens but the first, its log probability given the
 * tokens before it, and the most likely tokens there.
 *
 * They lie in the request's body (bodies.h). The executor writes them when a pass has ended. The
 * engine counts them at the commit and sends them in order. They outlive a preemption, so a row
 * that is computed again is not scored again. */
#pragma once
#include "core/service.h"

enum { ENGINE_SCORES_SAID_MAX = 32 }; /* scores of one event */

struct engine_scores {
    int32_t n_top;   /* tokens that are listed beside each */
    int32_t n_known; /* prompt tokens [1, n_known) have one */
    int32_t n_said;  /* prompt tokens [1, n_said) were sent */
    int32_t unused;
};
/* Returns the bytes for a prompt of n_prompt tokens; 0 for none. */
int64_t engine_scores_bytes(int32_t n_prompt, int32_t n_top);
void engine_scores_init(struct engine_scores *scores, int32_t n_top);
/* Writes and reads the score of a prompt token, whose position is at least 1. */
void engine_scores_put(struct engine_scores *scores, int32_t position,
                       const struct token_logprobs *logprobs);
void engine_scores_read(const struct engine_scores *scores, int32_t position,
                        struct token_logprobs *logprobs);
