/* A request of a test on real models, with its answer so far, and comparisons of that answer with
 * the one that the model gives alone. */
#pragma once
#include "compute/sampler.h"
#include "core/request.h"
#include "core/service.h"
#include "passes.h"

enum { ASKED_TOKENS_MAX = 160 };

struct asked {
    struct request request;
    struct request_body *body;
    int32_t tokens[ASKED_TOKENS_MAX];
    int32_t n_tokens, n_preempted, n_cached;
    struct token_logprobs scores[ASKED_TOKENS_MAX]; /* of the prompt's tokens [1, n_scores) */
    int32_t n_scores;
    bool is_over, is_cancelled, is_stopped;
    bool is_home; /* it was returned, since one of its passes failed */
};
/* Makes a body of the tokens so far, with the sampling and room for the stop ids of another. */
struct request_body *asked_body(const struct asked *asked, const struct request_body *like);
/* Takes the scores of an event. They come in order and ahead of the answer. A request that is
 * submitted again gets them again. */
void asked_take_scores(struct asked *asked, const struct service_event *event,
                       const struct token_logprobs *scores);
/* Compares the scores of its prompt with those of the prompt alone, in one pass, bit for bit. */
void asked_check_scores(const struct asked *asked, struct passes *alone,
                        struct compute_sampler *sampler);
/* Returns the first position at which the answer differs from the model's answer alone; -1: it is
 * equal. The model computes one prompt pass, then token by token, or (is_replayed) one pass of all
 * tokens of the answer. By induction that shows the same, if a row's bits do not depend on the
 * number of rows, which tests/cuda/pass_test.c checks. */
int32_t asked_differs(const struct asked *asked, struct passes *alone,
                      struct compute_sampler *sampler, bool is_replayed);
