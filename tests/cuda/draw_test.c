/* Drawing on the emulated device: the CPU's sampler has the same result for every row. */
#include "cuda/draw.h"

#include "base/mem.h"
#include "base/num.h"
#include "compute/draw.h"
#include "compute/sampler.h"
#include "pieces.h"

enum { HISTORY_MAX = 40 };

struct draw_case {
    struct request_body *body;
    int32_t n_vocabulary, n_tokens;
    int32_t tokens[HISTORY_MAX];
    bool has_last, has_mask, wants_logprobs;
    uint32_t mask[200];
    float *logits;
};

static struct request_body *body_of(uint32_t n_stop_ids, uint32_t n_biases)
{
    struct request_body *body = mem_take(request_body_bytes(4, n_stop_ids, n_biases));
    memset(body, 0, request_body_bytes(4, n_stop_ids, n_biases));
    body->n_tokens = 4;
    body->n_stop_ids = n_stop_ids;
    body->n_biases = n_biases;
    body->sampling = (struct sampling){
        .temperature = 1, .top_p = 1, .repetition_penalty = 1, .n_top_logprobs = -1
    };
    return body;
}

/* Any combination of fields; logits that are spread, close together or often equal. */
static void make_case(struct draw_case *c, struct rng *rng, int32_t n_vocabulary)
{
    uint32_t n_stop = rng_below(rng, 3), n_biases = rng_below(rng, 2) * rng_below(rng, 6);
    struct request_body *body = body_of(n_stop, n_biases);
    struct sampling *s = &body->sampling;
    double spread = rng_below(rng, 2) ? 3 : 0.1;
    bool has_ties = rng_below(rng, 3) == 0;
    *c = (struct draw_case){ .body = body, .n_vocabulary = n_vocabulary };
    body->seed = rng_u64(rng);
    s->temperature = rng_below(rng, 5) == 0 ? 0 : (float)(0.1 + 2 * rng_unit(rng));
    s->top_p = rng_below(rng, 2) ? 1 : (float)rng_unit(rng);
    s->top_k = rng_below(rng, 2) ? 0 : (int32_t)rng_below(rng, 60);
    s->min_p = rng_below(rng, 3) ? 0 : (float)(0.2 * rng_unit(rng));
    s->frequency_penalty = rng_below(rng, 3) ? 0 : (float)rng_unit(rng);
    s->presence_penalty = rng_below(rng, 3) ? 0 : (float)rng_unit(rng);
    s->repetition_penalty = rng_below(rng, 3) ? 1 : (float)(0.5 + rng_unit(rng));
    s->n_tokens_min = (int32_t)rng_below(rng, HISTORY_MAX);
    c->wants_logprobs = rng_below(rng, 2);
    s->n_top_logprobs = c->wants_logprobs ? (int32_t)rng_below(rng, 21) : -1;
    for (uint32_t i = 0; i < n_stop; i++)
        request_body_stop_ids(body)[i] = (int32_t)rng_below(rng, (uint32_t)n_vocabulary + 3) - 1;
    for (uint32_t i = 0; i < n_biases; i++)
        request_body_biases(body)[i] =
            (struct logit_bias){ (int32_t)rng_below(rng, i < 3 ? 3 : (uint32_t)n_vocabulary + 1),
                                 (float)rng_normal(rng) };
    c->n_tokens = 4 + (int32_t)rng_below(rng, HISTORY_MAX - 4);
    c->has_last = c->n_tokens > 4 && rng_below(rng, 2);
    for (int32_t i = 0; i < c->n_tokens; i++)
        c->tokens[i] = (int32_t)rng_below(rng, (uint32_t)min_i32(n_vocabulary, 15) + 1);
    c->has_mask = rng_below(rng, 4) == 0;
    for (size_t i = 0; i < COUNT_OF(c->mask); i++)
        c->mask[i] = (uint32_t)rng_u64(rng) | 1;
    c->logits = mem_take((size_t)n_vocabulary * sizeof(float));
    for (int32_t i = 0; i < n_vocabulary; i++) {
        double x = rng_normal(rng) * spread;
        c->logits[i] = (float)(has_ties ? num_floor(x * 4) / 4 : x);
    }
}

static void free_case(struct draw_case *c)
{
    mem_give(c->body);
    mem_give(c->logits);
}

struct result {
    int32_t id;
    struct token_logprobs logprobs;
    float *logits;
};

static void draw_on_host(const struct draw_case *c, struct result *out)
{
    struct compute_sampler sampler;
    size_t n_bytes = (size_t)c->n_vocabulary * sizeof(float);
    compute_sampler_init(&sampler, &compute_draw_plain, c->n_vocabulary);
    out->logits = mem_take(n_bytes);
    memcpy(out->logits, c->logits, n_bytes);
    memset(&out->logprobs, 0, sizeof(out->logprobs));
    const struct compute_sampler_row row = {
        .body = c->body,
        .tokens = c->tokens,
        .n_prompt = 4,
        .n_tokens = c->n_tokens,
        .mask = c->has_mask ? c->mask : NULL,
        .last = c->has_last ? &c->tokens[c->n_tokens - 1] : NULL,
    };
    out->id = compute_sampler_draw(&sampler, &row, out->logits, c->n_vocabulary,
                                   c->wants_logprobs ? &out->logprobs : NULL);
    compute_sampler_free(&sampler);
}

static struct cuda_ask ask_of(const struct draw_case *c)
{
    const struct sampling *s = &c->body->sampling;
    size_t n_known = (size_t)(c->n_tokens - c->has_last);
    struct cuda_ask ask = {
        .kind = CUDA_ASK_TOKEN,
        .seed = c->body->seed,
        .tokens = piece_copy(c->tokens, n_known * sizeof(int32_t)),
        .n_prompt = 4,
        .n_tokens = c->n_tokens,
        .stop_ids = piece_copy(request_body_stop_ids(c->body), 4 * (size_t)c->body->n_stop_ids),
        .biases = piece_copy(request_body_biases(c->body), 8 * (size_t)c->body->n_biases),
        .n_stop_ids = (int32_t)c->body->n_stop_ids,
        .n_biases = (int32_t)c->body->n_biases,
        .temperature = s->temperature,
        .top_p = s->top_p,
        .distance = cuda_draw_distance(s->min_p),
        .frequency_penalty = s->frequency_penalty,
        .presence_penalty = s->presence_penalty,
        .repetition_penalty = s->repetition_penalty,
        .top_k = s->top_k,
        .n_tokens_min = s->n_tokens_min,
        .n_top_logprobs = s->n_top_logprobs,
    };
    if (c->has_last)
        ask.last = piece_copy(&c->tokens[c->n_tokens - 1], sizeof(int32_t));
    if (c->has_mask)
        ask.mask = piece_copy(c->mask, (size_t)(c->n_vocabulary + 31) / 32 * 4);
    if (c->wants_logprobs)
        ask.logprobs = emulate_take(sizeof(struct cuda_logprobs));
    return ask;
}

static void give_ask(const struct cuda_ask *ask)
{
    emulate_give((void *)(uintptr_t)ask->tokens);
    emulate_give((void *)(uintptr_t)ask->stop_ids);
    emulate_give((void *)(uintptr_t)ask->biases);
    if (ask->last != NULL)
        emulate_give((void *)(uintptr_t)ask->last);
    if (ask->mask != NULL)
        emulate_give((void *)(uintptr_t)ask->mask);
    if (ask->logprobs != NULL)
        emulate_give(ask->logprobs);
}

struct device_draw {
    struct cuda_draw draw;
    struct cuda_ask *asks;
};

static struct device_draw open_draw(int32_t n_rows, int32_t n_vocabulary)
{
    size_t n = (size_t)n_rows * (size_t)n_vocabulary;
    struct device_draw d = { .asks = emulate_take((size_t)n_rows * sizeof(struct cuda_ask)) };
    d.draw = (struct cuda_draw){ d.asks,
                                 emulate_take(n * 4),
                                 emulate_take((size_t)n_rows * 4),
                                 n_rows,
                                 n_vocabulary,
                                 emulate_take(n * 4),
                                 emulate_take(n * 4) };
    memset(d.draw.counts, 0, n * 4);
    return d;
}

static void close_draw(struct device_draw *d)
{
    size_t n = (size_t)d->draw.n_rows * (size_t)d->draw.n_vocabulary;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(d->draw.counts[i], 0);
    emulate_give(d->asks);
    emulate_give(d->draw.logits);
    emulate_give(d->draw.drawn);
    emulate_give(d->draw.counts);
    emulate_give(d->draw.raw);
}

static void check_vocabulary(int32_t n_vocabulary, int32_t n_rows, struct rng *rng)
{
    struct draw_case *cases = mem_take((size_t)n_rows * sizeof(*cases));
    struct device_draw d = open_draw(n_rows, n_vocabulary);
    for (int32_t r = 0; r < n_rows; r++) {
        make_case(&cases[r], rng, n_vocabulary);
        memcpy(d.draw.logits + (int64_t)r * n_vocabulary, cases[r].logits,
               (size_t)n_vocabulary * sizeof(float));
        d.asks[r] = ask_of(&cases[r]);
    }
    assert_true(cuda_draw_rows(NULL, &d.draw));
    for (int32_t r = 0; r < n_rows; r++) {
        struct result want;
        draw_on_host(&cases[r], &want);
        assert_memory_equal(d.draw.logits + (int64_t)r * n_vocabulary, want.logits,
                            (size_t)n_vocabulary * sizeof(float));
        if (d.draw.drawn[r] != want.id)
            fail_msg("row %d of %d ids: %d, not %d", r, n_vocabulary, d.draw.drawn[r], want.id);
        if (cases[r].wants_logprobs)
            assert_memory_equal(d.asks[r].logprobs, &want.logprobs, sizeof(want.logprobs));
        mem_give(want.logits);
        give_ask(&d.asks[r]);
        free_case(&cases[r]);
    }
    close_draw(&d);
    mem_give(cases);
}

static void draws_are_the_processors(void **state)
{
    static const int32_t sizes[] = { 1, 2, 31, 100, 1000, 1023, 1024, 1025, 3000, 6000 };
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(5), 1);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        emulate_seed(i + 1);
        check_vocabulary(sizes[i], sizes[i] < 1000 ? 16 : 8, &rng);
    }
}

/* ---- Rows that a broken model could give. ---- */

static void broken_rows_draw_what_the_processor_draws(void **state)
{
    enum { N = 70 };
    static const float fills[] = { __builtin_nanf(""), -__builtin_inff(), __builtin_inff(), 0.0f };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(fills); i++)
        for (int variant = 0; variant < 4; variant++) {
            struct rng rng;
            struct draw_case c;
            struct result want;
            rng_init(&rng, i, 1);
            make_case(&c, &rng, N);
            mem_give(c.body);
            c.body = body_of(0, 0);
            c.has_mask = c.wants_logprobs = false;
            for (int32_t k = 0; k < N; k++)
                c.logits[k] = variant == 0 || k % 5 == variant ? fills[i] : -1.0f;
            c.logits[N - 1] = variant == 3 ? -0.0f : c.logits[N - 1];
            c.body->sampling.top_k = variant == 2 ? 3 : 0;
            struct device_draw d = open_draw(1, N);
            memcpy(d.draw.logits, c.logits, N * sizeof(float));
            d.asks[0] = ask_of(&c);
            draw_on_host(&c, &want);
            assert_true(cuda_draw_rows(NULL, &d.draw));
            assert_int_equal(d.draw.drawn[0], want.id);
            mem_give(want.logits);
            give_ask(&d.asks[0]);
            free_case(&c);
            close_draw(&d);
        }
}

static void scores_are_the_processors(void **state)
{
    enum { N = 1500 };
    (void)state;
    struct rng rng;
    rng_init(&rng, 3, 1);
    struct device_draw d = open_draw(2, N);
    struct token_logprobs want;
    struct compute_sampler sampler;
    compute_sampler_init(&sampler, &compute_draw_plain, N);
    for (int32_t i = 0; i < 2 * N; i++)
        d.draw.logits[i] = (float)rng_normal(&rng);
    for (int32_t r = 0; r < 2; r++)
        d.asks[r] = (struct cuda_ask){ .kind = r == 0 ? CUDA_ASK_SCORE : CUDA_ASK_NONE,
                                       .id = 77,
                                       .n_top_logprobs = 5 };
    d.asks[0].logprobs = emulate_take(sizeof(struct cuda_logprobs));
    d.draw.drawn[0] = d.draw.drawn[1] = -7;
    assert_true(cuda_draw_rows(NULL, &d.draw));
    compute_sampler_score(&sampler, d.draw.logits, N, (struct compute_sampler_id){ 77, 5 }, &want);
    assert_memory_equal(d.asks[0].logprobs, &want, sizeof(want));
    assert_true(d.draw.drawn[0] == -7 && d.draw.drawn[1] == -7);
    emulate_give(d.asks[0].logprobs);
    compute_sampler_free(&sampler);
    close_draw(&d);
}

static void distances_are_the_processors(void **state)
{
    (void)state;
    assert_true(cuda_draw_distance(0.0f) == -COMPUTE_DRAW_NEGLIGIBLE);
    assert_true(cuda_draw_distance(1e-30f) == -COMPUTE_DRAW_NEGLIGIBLE);
    assert_true(cuda_draw_distance(0.1f) == (float)num_log((double)0.1f));
    assert_true(cuda_draw_distance(1.0f) == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_the_processors),
        cmocka_unit_test(broken_rows_draw_what_the_processor_draws),
        cmocka_unit_test(scores_are_the_processors),
        cmocka_unit_test(distances_are_the_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
