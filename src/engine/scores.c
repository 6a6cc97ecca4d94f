/* A score is a float and n_top pairs of id and log probability, one behind the other. */
#include "engine/scores.h"

#include <string.h>

struct pair {
    int32_t id;
    float logprob;
};

static size_t row_bytes(int32_t n_top)
{
    return sizeof(float) + sizeof(int32_t) + sizeof(struct pair) * (size_t)n_top;
}

int64_t engine_scores_bytes(int32_t n_prompt, int32_t n_top)
{
    if (n_prompt == 0)
        return 0;
    return (int64_t)(sizeof(struct engine_scores) + row_bytes(n_top) * ((size_t)n_prompt - 1));
}

void engine_scores_init(struct engine_scores *scores, int32_t n_top)
{
    *scores = (struct engine_scores){ .n_top = n_top, .n_known = 1, .n_said = 1 };
}

static unsigned char *row_of(const struct engine_scores *scores, int32_t position)
{
    CHECK(position >= 1);
    return (unsigned char *)(uintptr_t)(scores + 1) +
           row_bytes(scores->n_top) * (size_t)(position - 1);
}

void engine_scores_put(struct engine_scores *scores, int32_t position,
                       const struct token_logprobs *logprobs)
{
    unsigned char *row = row_of(scores, position);
    int32_t n = min_i32(logprobs->n_top, scores->n_top);
    memcpy(row, &logprobs->logprob, sizeof(float));
    memcpy(row + sizeof(float), &n, sizeof n);
    for (int32_t i = 0; i < n; i++) {
        struct pair pair = { logprobs->top_ids[i], logprobs->top_logprobs[i] };
        memcpy(row + row_bytes(i), &pair, sizeof pair);
    }
}

void engine_scores_read(const struct engine_scores *scores, int32_t position,
                        struct token_logprobs *logprobs)
{
    const unsigned char *row = row_of(scores, position);
    memset(logprobs, 0, sizeof *logprobs);
    memcpy(&logprobs->logprob, row, sizeof(float));
    memcpy(&logprobs->n_top, row + sizeof(float), sizeof logprobs->n_top);
    CHECK(logprobs->n_top <= scores->n_top);
    for (int32_t i = 0; i < logprobs->n_top; i++) {
        struct pair pair;
        memcpy(&pair, row + row_bytes(i), sizeof pair);
        logprobs->top_ids[i] = pair.id;
        logprobs->top_logprobs[i] = pair.logprob;
    }
}
