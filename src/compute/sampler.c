/* Draws the next token: filters in a fixed order, ties broken by id, one random number per
 * position. */
#include "compute/sampler.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include <string.h>

void compute_sampler_init(struct compute_sampler *sampler, const struct compute_draw *loops,
                          int32_t n_vocabulary_max)
{
    sampler->n_vocabulary_max = n_vocabulary_max;
    sampler->counts = mem_take(sizeof *sampler->counts * (size_t)n_vocabulary_max);
    sampler->raw = mem_take(sizeof *sampler->raw * (size_t)n_vocabulary_max);
    compute_choice_init(&sampler->choice, loops, n_vocabulary_max);
}

size_t compute_sampler_bytes(int32_t n_vocabulary_max)
{
    return (size_t)n_vocabulary_max * (sizeof(int32_t) + sizeof(float)) +
           compute_choice_bytes(n_vocabulary_max);
}

void compute_sampler_free(struct compute_sampler *sampler)
{
    mem_give(sampler->counts);
    mem_give(sampler->raw);
    compute_choice_free(&sampler->choice);
    *sampler = (struct compute_sampler){ 0 };
}

/* ---- Log probabilities of the unfiltered row. ---- */

static double log_sum_exp(struct compute_choice *choice, const float *logits, int32_t n)
{
    float best = logits[compute_choice_best(choice, logits, n)];
    compute_choice_weigh(choice, logits, n, best, (struct compute_choice_how){ .temperature = 1 });
    double total = (double)choice->total;
    return (double)best + (total > 0 ? num_log(total / COMPUTE_DRAW_ONE) : 0.0);
}

/* Keeps the n_top largest in order, by insertion, since n_top is at most LIMIT_TOP_LOGPROBS. */
static void find_top(const float *logits, int32_t n, int32_t n_top, double base,
                     struct token_logprobs *out)
{
    float values[LIMIT_TOP_LOGPROBS];
    int32_t n_kept = 0;
    for (int32_t i = 0; i < n && n_top > 0; i++) {
        if (n_kept == n_top && !(logits[i] > values[n_kept - 1]))
            continue;
        int32_t at = n_kept < n_top ? n_kept++ : n_kept - 1;
        for (; at > 0 && logits[i] > values[at - 1]; at--) {
            values[at] = values[at - 1];
            out->top_ids[at] = out->top_ids[at - 1];
        }
        values[at] = logits[i];
        out->top_ids[at] = i;
    }
    out->n_top = n_kept;
    for (int32_t k = 0; k < n_kept; k++)
        out->top_logprobs[k] = (float)((double)values[k] - base);
}

/* ---- Filters on logits. ---- */

static void apply_biases(const struct request_body *body, float *logits, int32_t n)
{
    const struct logit_bias *biases = request_body_biases(body);
    for (uint32_t i = 0; i < body->n_biases; i++) {
        if (biases[i].id >= 0 && biases[i].id < n)
            logits[biases[i].id] += biases[i].bias;
    }
}

static void forbid_ends(const struct compute_sampler_row *draw, float *logits, int32_t n)
{
    if (draw->n_tokens - draw->n_prompt >= draw->body->sampling.n_tokens_min)
        return;
    const int32_t *ids = request_body_stop_ids(draw->body);
    for (uint32_t i = 0; i < draw->body->n_stop_ids; i++) {
        if (ids[i] >= 0 && ids[i] < n)
            logits[ids[i]] = -1e30F;
    }
}

/* Sets the logits of ids that may not be drawn to -infinity. */
static void apply_mask(const uint32_t *mask, float *logits, int32_t n)
{
    for (int32_t i = 0; i < n && mask != NULL; i++)
        if ((mask[i / 32] >> (i % 32) & 1) == 0)
            logits[i] = -__builtin_inff();
}

/* Returns token i of the history. */
static int32_t token_at(const struct compute_sampler_row *draw, int32_t i)
{
    return draw->last != NULL && i == draw->n_tokens - 1 ? *draw->last : draw->tokens[i];
}

static void apply_repetition(const struct compute_sampler_row *draw, int32_t *counts, float *logits,
                             int32_t n)
{
    float penalty = draw->body->sampling.repetition_penalty;
    if (!(penalty > 0.0F) || penalty == 1.0F)
        return;
    for (int32_t i = 0; i < draw->n_tokens; i++) {
        int32_t id = token_at(draw, i);
        if (id < 0 || id >= n || counts[id]++ > 0)
            continue;
        logits[id] = logits[id] > 0.0F ? logits[id] / penalty : logits[id] * penalty;
    }
    for (int32_t i = 0; i < draw->n_tokens; i++) {
        int32_t id = token_at(draw, i);
        if (id >= 0 && id < n)
            counts[id] = 0;
    }
}

/* The frequency and presence penalties count only generated tokens. */
static void apply_counts(const struct compute_sampler_row *draw, int32_t *counts, float *logits,
                         int32_t n)
{
    const struct sampling *s = &draw->body->sampling;
    if (s->frequency_penalty == 0.0F && s->presence_penalty == 0.0F)
        return;
    for (int32_t i = draw->n_prompt; i < draw->n_tokens; i++) {
        int32_t id = token_at(draw, i);
        if (id >= 0 && id < n)
            counts[id]++;
    }
    for (int32_t i = draw->n_prompt; i < draw->n_tokens; i++) {
        int32_t id = token_at(draw, i);
        if (id < 0 || id >= n || counts[id] == 0)
            continue;
        logits[id] -= s->frequency_penalty * (float)counts[id] + s->presence_penalty;
        counts[id] = 0;
    }
}

/* ---- The draw. ---- */

static int32_t draw_one(struct compute_sampler *sampler, const struct compute_sampler_row *draw,
                        const float *logits, int32_t n)
{
    const struct sampling *s = &draw->body->sampling;
    struct compute_choice *choice = &sampler->choice;
    int32_t best = compute_choice_best(choice, logits, n);
    if (!(s->temperature > 0.0F))
        return best;
    const struct compute_choice_how how = { s->temperature, s->min_p, s->top_k, draw->next };
    compute_choice_weigh(choice, logits, n, logits[best], how);
    if (choice->list.n == 0)
        return best;
    if (s->top_p < 1.0F)
        compute_choice_keep_share(choice, s->top_p);
    uint64_t bits = rng_at(draw->body->seed, 0, (uint64_t)draw->n_tokens);
    return compute_choice_pick(choice, rng_unit_of(bits));
}

int32_t compute_sampler_draw(struct compute_sampler *sampler,
                             const struct compute_sampler_row *draw, float *logits,
                             int32_t n_vocabulary, struct token_logprobs *logprobs)
{
    CHECK(n_vocabulary <= sampler->n_vocabulary_max);
    double base = 0.0;
    if (logprobs) {
        memset(logprobs, 0, sizeof *logprobs);
        base = log_sum_exp(&sampler->choice, logits, n_vocabulary);
        find_top(logits, n_vocabulary, draw->body->sampling.n_top_logprobs, base, logprobs);
        memcpy(sampler->raw, logits, sizeof(float) * (size_t)n_vocabulary);
    }
    apply_mask(draw->mask, logits, n_vocabulary);
    apply_biases(draw->body, logits, n_vocabulary);
    forbid_ends(draw, logits, n_vocabulary);
    apply_repetition(draw, sampler->counts, logits, n_vocabulary);
    apply_counts(draw, sampler->counts, logits, n_vocabulary);
    int32_t id = draw_one(sampler, draw, logits, n_vocabulary);
    if (logprobs)
        logprobs->logprob = (float)((double)sampler->raw[id] - base);
    return id;
}

void compute_sampler_score(struct compute_sampler *sampler, const float *logits,
                           int32_t n_vocabulary, struct compute_sampler_id scored,
                           struct token_logprobs *logprobs)
{
    CHECK(n_vocabulary <= sampler->n_vocabulary_max);
    CHECK(scored.id >= 0 && scored.id < n_vocabulary && scored.n_top <= LIMIT_TOP_LOGPROBS);
    memset(logprobs, 0, sizeof *logprobs);
    double base = log_sum_exp(&sampler->choice, logits, n_vocabulary);
    find_top(logits, n_vocabulary, scored.n_top, base, logprobs);
    logprobs->logprob = (float)((double)logits[scored.id] - base);
}
