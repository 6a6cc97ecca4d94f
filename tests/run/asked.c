/* Compares answers, token by token and score by score. */
#include "asked.h"
#include "test.h"

#include "base/mem.h"
#include <math.h>
#include <string.h>

void asked_take_scores(struct asked *asked, const struct service_event *event,
                       const struct token_logprobs *scores)
{
    assert_int_equal(event->n_bytes, (int32_t)sizeof *scores * event->n_tokens);
    assert_true(event->position >= 1 && event->position <= max_i32(asked->n_scores, 1));
    assert_true(event->position + event->n_tokens <= asked->request.n_prompt);
    assert_int_equal(asked->n_tokens, asked->request.n_prompt);
    for (int32_t i = 0; i < event->n_tokens; i++) {
        if (event->position + i < asked->n_scores)
            assert_memory_equal(&asked->scores[event->position + i], &scores[i], sizeof *scores);
        asked->scores[event->position + i] = scores[i];
    }
    asked->n_scores = max_i32(asked->n_scores, event->position + event->n_tokens);
}

/* Returns whether the token at position n is the one that follows from the logits. */
static bool is_next(const struct asked *asked, struct compute_sampler *sampler, float *logits,
                    int32_t n, int32_t n_vocabulary)
{
    const struct compute_sampler_row draw = { asked->body, asked->tokens, asked->request.n_prompt,
                                              n };
    int32_t token = compute_sampler_draw(sampler, &draw, logits, n_vocabulary, NULL);
    bool is_stop = n - asked->request.n_prompt >= asked->body->sampling.n_tokens_min &&
                   request_body_stops(asked->body, token);
    return token == asked->tokens[n] &&
           (asked->is_cancelled || is_stop == (asked->is_stopped && n == asked->n_tokens - 1));
}

/* Compares a score with an independent softmax of the row's logits, in double. */
static void check_score(const float *logits, int32_t n, int32_t id,
                        const struct token_logprobs *score)
{
    double best = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n; i++)
        best = (double)logits[i] > best ? (double)logits[i] : best;
    for (int32_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - best);
    double base = best + log(sum);
    assert_true(fabs((double)score->logprob - ((double)logits[id] - base)) < 1e-5);
    for (int32_t k = 0; k < score->n_top; k++) {
        int32_t n_better = 0, top = score->top_ids[k];
        for (int32_t i = 0; i < n; i++)
            n_better += logits[i] > logits[top] || (logits[i] == logits[top] && i < top);
        assert_int_equal(n_better, k);
        assert_true(fabs((double)score->top_logprobs[k] - ((double)logits[top] - base)) < 1e-5);
    }
}

void asked_check_scores(const struct asked *asked, struct passes *alone,
                        struct compute_sampler *sampler)
{
    int32_t n_vocabulary = passes_n_vocabulary(alone), n = asked->request.n_prompt;
    int32_t n_top = asked->body->sampling.n_top_scores;
    float *logits = mem_take(sizeof(float) * (size_t)n_vocabulary * (size_t)n);
    passes_run(alone, asked->tokens, 0, n, n, logits);
    if (!asked->is_cancelled)
        assert_int_equal(max_i32(asked->n_scores, 1), n);
    for (int32_t i = 1; i < asked->n_scores; i++) {
        const float *row = logits + (int64_t)(i - 1) * n_vocabulary;
        struct token_logprobs want;
        compute_sampler_score(sampler, row, n_vocabulary,
                              (struct compute_sampler_id){ asked->tokens[i], n_top }, &want);
        assert_int_equal(want.n_top, n_top);
        assert_memory_equal(&asked->scores[i], &want, sizeof want);
        check_score(row, n_vocabulary, asked->tokens[i], &want);
    }
    mem_give(logits);
}

int32_t asked_differs(const struct asked *asked, struct passes *alone,
                      struct compute_sampler *sampler, bool is_replayed)
{
    int32_t n_vocabulary = passes_n_vocabulary(alone), n_prompt = asked->request.n_prompt;
    float *logits = mem_take(sizeof(float) * (size_t)n_vocabulary * ASKED_TOKENS_MAX);
    const int32_t *prompt = request_body_tokens(asked->body);
    assert_memory_equal(prompt, asked->tokens, sizeof(int32_t) * (size_t)n_prompt);
    passes_run(alone, prompt, 0, n_prompt, 1, logits);
    if (is_replayed && asked->n_tokens > n_prompt)
        passes_replay(alone, asked->tokens + n_prompt, n_prompt, asked->n_tokens - n_prompt,
                      logits + n_vocabulary);
    int32_t differs = -1;
    for (int32_t n = n_prompt; n < asked->n_tokens && differs < 0; n++) {
        float *row = is_replayed ? logits + (n - n_prompt) * n_vocabulary : logits;
        if (!is_next(asked, sampler, row, n, n_vocabulary))
            differs = n;
        if (!is_replayed)
            passes_run(alone, &asked->tokens[n], n, 1, 1, logits);
    }
    mem_give(logits);
    return differs;
}

struct request_body *asked_body(const struct asked *asked, const struct request_body *like)
{
    size_t n_bytes = request_body_bytes((uint32_t)asked->n_tokens, like->n_stop_ids, 0);
    struct request_body *body = mem_take(n_bytes);
    *body = *like;
    body->n_bytes = (uint32_t)n_bytes;
    body->n_tokens = (uint32_t)asked->n_tokens;
    memcpy(request_body_tokens(body), asked->tokens, sizeof(int32_t) * (size_t)asked->n_tokens);
    return body;
}
