/* Draws the next token: filters in a fixed order, ties by id, one die per position. */
#include "run/sampler.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include <string.h>

/* A candidate whose logit lies this far under the best has less than 1e-13 of its weight and is
 * left out of every sum. */
static const double NEGLIGIBLE = 30.0;

struct sampler_candidate {
    double weight; /* exp((logit - best) / temperature) */
    float logit;
    int32_t id;
};

void run_sampler_init(struct run_sampler *sampler, int32_t n_vocabulary_max)
{
    sampler->n_vocabulary_max = n_vocabulary_max;
    sampler->counts = mem_take(sizeof *sampler->counts * (size_t)n_vocabulary_max);
    sampler->raw = mem_take(sizeof *sampler->raw * (size_t)n_vocabulary_max);
    sampler->candidates = mem_take(sizeof *sampler->candidates * (size_t)n_vocabulary_max);
}

void run_sampler_free(struct run_sampler *sampler)
{
    mem_give(sampler->counts);
    mem_give(sampler->raw);
    mem_give(sampler->candidates);
    *sampler = (struct run_sampler){ 0 };
}

enum { BEST_BLOCK = 256, BEST_LANES = 8 };

/* The largest of n logits, -infinity when all are NaN: a few chains side by side, since a row is
 * read once a token. */
static float largest(const float *logits, int32_t n)
{
    float tops[BEST_LANES];
    for (int j = 0; j < BEST_LANES; j++)
        tops[j] = -__builtin_inff();
    int32_t i = 0;
    for (; i + BEST_LANES <= n; i += BEST_LANES)
        for (int j = 0; j < BEST_LANES; j++)
            tops[j] = logits[i + j] > tops[j] ? logits[i + j] : tops[j];
    for (int j = 0; i + j < n; j++)
        tops[j] = logits[i + j] > tops[j] ? logits[i + j] : tops[j];
    for (int j = 1; j < BEST_LANES; j++)
        tops[0] = tops[j] > tops[0] ? tops[j] : tops[0];
    return tops[0];
}

/* The first of the best. NaN loses against everything, so a broken row still yields a token. */
static int32_t best_id(const float *logits, int32_t n)
{
    float top = -__builtin_inff();
    int32_t first = 0; /* of the block that has it */
    for (int32_t i = 0; i < n; i += BEST_BLOCK) {
        float block = largest(logits + i, min_i32(BEST_BLOCK, n - i));
        first = block > top ? i : first;
        top = block > top ? block : top;
    }
    for (int32_t i = first; i < n; i++)
        if (logits[i] == top)
            return i;
    return n - 1;
}

/* ---- Log probabilities of the row as it came. ---- */

static double log_sum_exp(const float *logits, int32_t n, double best)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) {
        double x = (double)logits[i] - best;
        if (x > -NEGLIGIBLE)
            sum += num_exp(x);
    }
    return best + num_log(sum);
}

/* Keeps the n_top largest, ordered, by insertion: n_top is at most LIMIT_TOP_LOGPROBS. */
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

static void forbid_ends(const struct run_draw *draw, float *logits, int32_t n)
{
    if (draw->n_tokens - draw->n_prompt >= draw->body->sampling.n_tokens_min)
        return;
    const int32_t *ids = request_body_stop_ids(draw->body);
    for (uint32_t i = 0; i < draw->body->n_stop_ids; i++) {
        if (ids[i] >= 0 && ids[i] < n)
            logits[ids[i]] = -1e30F;
    }
}

static void apply_repetition(const struct run_draw *draw, int32_t *counts, float *logits, int32_t n)
{
    float penalty = draw->body->sampling.repetition_penalty;
    if (!(penalty > 0.0F) || penalty == 1.0F)
        return;
    for (int32_t i = 0; i < draw->n_tokens; i++) {
        int32_t id = draw->tokens[i];
        if (id < 0 || id >= n || counts[id]++ > 0)
            continue;
        logits[id] = logits[id] > 0.0F ? logits[id] / penalty : logits[id] * penalty;
    }
    for (int32_t i = 0; i < draw->n_tokens; i++) {
        if (draw->tokens[i] >= 0 && draw->tokens[i] < n)
            counts[draw->tokens[i]] = 0;
    }
}

/* Frequency and presence count generated tokens alone. */
static void apply_counts(const struct run_draw *draw, int32_t *counts, float *logits, int32_t n)
{
    const struct sampling *s = &draw->body->sampling;
    if (s->frequency_penalty == 0.0F && s->presence_penalty == 0.0F)
        return;
    for (int32_t i = draw->n_prompt; i < draw->n_tokens; i++) {
        if (draw->tokens[i] >= 0 && draw->tokens[i] < n)
            counts[draw->tokens[i]]++;
    }
    for (int32_t i = draw->n_prompt; i < draw->n_tokens; i++) {
        int32_t id = draw->tokens[i];
        if (id < 0 || id >= n || counts[id] == 0)
            continue;
        logits[id] -= s->frequency_penalty * (float)counts[id] + s->presence_penalty;
        counts[id] = 0;
    }
}

/* ---- The draw. ---- */

static bool is_before(const struct sampler_candidate *a, const struct sampler_candidate *b)
{
    return a->logit != b->logit ? a->logit > b->logit : a->id < b->id;
}

/* Restores the heap (best on top) below place i. */
static void sift_down(struct sampler_candidate *heap, int32_t n, int32_t i)
{
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= n)
            return;
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &heap[i]))
            return;
        struct sampler_candidate swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

/* Candidates in order of id, with their weights under the temperature and min_p. */
static int32_t collect(struct run_sampler *sampler, const struct sampling *s, const float *logits,
                       int32_t n, float best)
{
    double limit = NEGLIGIBLE;
    if (s->min_p > 0.0F)
        limit = limit < -num_log((double)s->min_p) ? limit : -num_log((double)s->min_p);
    /* Most are far below: a float that is surely too low needs no division. */
    float low = (float)((double)best - limit * (double)s->temperature * 1.001 - 1e-3);
    low -= (low < 0 ? -low : low) * 1e-6F;
    int32_t n_kept = 0;
    for (int32_t i = 0; i < n; i++) {
        if (logits[i] < low)
            continue;
        double x = ((double)logits[i] - (double)best) / (double)s->temperature;
        if (!(x >= -limit))
            continue;
        sampler->candidates[n_kept++] = (struct sampler_candidate){ num_exp(x), logits[i], i };
    }
    return n_kept;
}

/* Keeps the best top_k, and of those the fewest that hold top_p of their weight, by popping a heap:
 * the kept ones end, worst first, at the array's end. Returns how many. */
static int32_t select_best(struct sampler_candidate *candidates, int32_t n,
                           const struct sampling *s)
{
    int32_t n_max = s->top_k > 0 && s->top_k < n ? s->top_k : n;
    double total = 0.0, sum = 0.0;
    for (int32_t i = n / 2 - 1; i >= 0; i--)
        sift_down(candidates, n, i);
    for (int32_t i = 0; i < n && n_max == n; i++)
        total += candidates[i].weight;

    int32_t n_kept = 0;
    while (n_kept < n_max && (n_kept == 0 || n_max < n || sum < (double)s->top_p * total)) {
        struct sampler_candidate best = candidates[0];
        int32_t last = n - 1 - n_kept++;
        candidates[0] = candidates[last];
        candidates[last] = best;
        sift_down(candidates, last, 0);
        sum += best.weight;
    }
    if (n_max == n || s->top_p >= 1.0F)
        return n_kept;
    double kept = 0.0;
    for (int32_t i = 0; i < n_kept; i++) {
        kept += candidates[n - 1 - i].weight;
        if (kept >= (double)s->top_p * sum)
            return i + 1;
    }
    return n_kept;
}

static int32_t draw_one(struct run_sampler *sampler, const struct run_draw *draw,
                        const float *logits, int32_t n)
{
    const struct sampling *s = &draw->body->sampling;
    int32_t best = best_id(logits, n);
    if (!(s->temperature > 0.0F))
        return best;

    struct sampler_candidate *candidates = sampler->candidates;
    int32_t n_kept = collect(sampler, s, logits, n, logits[best]);
    if (n_kept == 0)
        return best;
    int32_t end = n_kept; /* the kept ones lie just before `end` */
    if ((s->top_k > 0 && s->top_k < n_kept) || s->top_p < 1.0F)
        n_kept = select_best(candidates, n_kept, s);

    double total = 0.0;
    for (int32_t i = 1; i <= n_kept; i++)
        total += candidates[end - i].weight;
    double at = rng_unit_of(rng_at(draw->body->seed, 0, (uint64_t)draw->n_tokens)) * total;
    for (int32_t i = 1; i <= n_kept; i++) {
        at -= candidates[end - i].weight;
        if (at < 0.0)
            return candidates[end - i].id;
    }
    return candidates[end - n_kept].id;
}

int32_t run_sampler_draw(struct run_sampler *sampler, const struct run_draw *draw, float *logits,
                         int32_t n_vocabulary, struct token_logprobs *logprobs)
{
    CHECK(n_vocabulary <= sampler->n_vocabulary_max);
    double base = 0.0;
    if (logprobs) {
        memset(logprobs, 0, sizeof *logprobs);
        base = log_sum_exp(logits, n_vocabulary, (double)logits[best_id(logits, n_vocabulary)]);
        find_top(logits, n_vocabulary, draw->body->sampling.n_top_logprobs, base, logprobs);
        memcpy(sampler->raw, logits, sizeof(float) * (size_t)n_vocabulary);
    }
    apply_biases(draw->body, logits, n_vocabulary);
    forbid_ends(draw, logits, n_vocabulary);
    apply_repetition(draw, sampler->counts, logits, n_vocabulary);
    apply_counts(draw, sampler->counts, logits, n_vocabulary);
    int32_t id = draw_one(sampler, draw, logits, n_vocabulary);
    if (logprobs)
        logprobs->logprob = (float)((double)sampler->raw[id] - base);
    return id;
}
