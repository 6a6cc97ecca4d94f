/* Drawing a token: every filter against hand-worked or brute-force answers, and the draws against
 * their distribution. */
#include "test.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "compute/sampler.h"
#include <math.h>

enum { N = 8, N_DRAWS = 20000 };

struct scene {
    struct compute_sampler sampler;
    struct request_body *body;
    float logits[N];
    int32_t tokens[16];
    int32_t n_prompt, n_tokens;
};

static const float base_logits[N] = { 1.0F, 3.0F, 2.0F, 3.0F, -1.0F, 0.5F, 2.5F, -4.0F };

static void open_scene(struct scene *s, uint32_t n_stop_ids, uint32_t n_biases)
{
    *s = (struct scene){ .n_prompt = 3, .n_tokens = 6, .tokens = { 0, 1, 2, 1, 1, 6 } };
    compute_sampler_init(&s->sampler, &compute_draw_plain, N);
    s->body = mem_take(request_body_bytes(0, n_stop_ids, n_biases));
    *s->body = (struct request_body){
        .n_stop_ids = n_stop_ids,
        .n_biases = n_biases,
        .seed = 42,
        .sampling = { .top_p = 1.0F, .repetition_penalty = 1.0F, .n_top_logprobs = -1 }
    };
    memcpy(s->logits, base_logits, sizeof s->logits);
}

static void close_scene(struct scene *s)
{
    compute_sampler_free(&s->sampler);
    mem_give(s->body);
}

static int32_t draw(struct scene *s, struct token_logprobs *logprobs)
{
    const struct compute_sampler_row draw = { s->body, s->tokens, s->n_prompt, s->n_tokens };
    memcpy(s->logits, base_logits, sizeof s->logits);
    return compute_sampler_draw(&s->sampler, &draw, s->logits, N, logprobs);
}

static void test_greedy_takes_the_lower_id_of_equals(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 0, 0);
    assert_int_equal(draw(&s, NULL), 1); /* 1 and 3 are equal */
    close_scene(&s);
}

static void test_bias_and_penalties_move_the_greedy_choice(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 0, 1);
    request_body_biases(s.body)[0] = (struct logit_bias){ 4, 4.5F };
    assert_int_equal(draw(&s, NULL), 4);
    request_body_biases(s.body)[0] = (struct logit_bias){ 4, 0.0F };
    s.body->sampling.repetition_penalty = 1.5F; /* 1 occurred: 3.0 becomes 2.0, so 3 wins */
    assert_int_equal(draw(&s, NULL), 3);
    s.body->sampling.repetition_penalty = 1.0F;
    s.body->sampling.frequency_penalty = 0.3F; /* 1 was generated twice: 3.0 - 0.6 */
    assert_int_equal(draw(&s, NULL), 3);
    assert_true(fabsf(s.logits[1] - 2.4F) < 1e-6F && s.logits[0] == 1.0F &&
                fabsf(s.logits[6] - 2.2F) < 1e-6F);
    s.body->sampling.frequency_penalty = 0.0F;
    s.body->sampling.presence_penalty = 0.5F; /* once, however often it occurred */
    assert_int_equal(draw(&s, NULL), 3);
    assert_true(s.logits[1] == 2.5F && s.logits[2] == 2.0F); /* 2 is only in the prompt */
    close_scene(&s);
}

static void test_end_tokens_wait_for_the_minimum(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2, 0);
    request_body_stop_ids(s.body)[0] = 1;
    request_body_stop_ids(s.body)[1] = 3;
    s.body->sampling.n_tokens_min = 4; /* three were generated */
    assert_int_equal(draw(&s, NULL), 6);
    s.body->sampling.n_tokens_min = 3;
    assert_int_equal(draw(&s, NULL), 1);
    close_scene(&s);
}

static void test_logprobs_are_those_of_the_raw_row(void **state)
{
    (void)state;
    struct scene s;
    struct token_logprobs logprobs;
    double sum = 0.0;
    open_scene(&s, 0, 1);
    for (int i = 0; i < N; i++)
        sum += exp((double)base_logits[i]);
    request_body_biases(s.body)[0] = (struct logit_bias){ 4, 9.0F };
    s.body->sampling.n_top_logprobs = 3;
    assert_int_equal(draw(&s, &logprobs), 4);
    assert_true(fabs((double)logprobs.logprob - (-1.0 - log(sum))) < 1e-6);
    assert_int_equal(logprobs.n_top, 3);
    const int32_t top[] = { 1, 3, 6 };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(logprobs.top_ids[i], top[i]);
        assert_true(fabs((double)logprobs.top_logprobs[i] -
                         ((double)base_logits[top[i]] - log(sum))) < 1e-6);
    }
    close_scene(&s);
}

/* Computes the distribution after the filters, the slow way. */
static void expect(const struct sampling *s, double *p)
{
    int order[N];
    double weight[N], total = 0.0, sum = 0.0, best = 3.0;
    for (int i = 0; i < N; i++) {
        order[i] = i;
        weight[i] = exp(((double)base_logits[i] - best) / (double)s->temperature);
        if (s->min_p > 0.0F && weight[i] < (double)s->min_p)
            weight[i] = 0.0;
    }
    for (int i = 0; i < N; i++)
        for (int j = i; j > 0 && weight[order[j]] > weight[order[j - 1]]; j--) {
            int swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    for (int i = 0; i < N; i++)
        if (s->top_k > 0 && i >= s->top_k)
            weight[order[i]] = 0.0;
    for (int i = 0; i < N; i++)
        total += weight[i];
    for (int i = 0; i < N; i++) {
        bool is_kept = i == 0 || sum < (double)s->top_p * total;
        sum += weight[order[i]];
        p[order[i]] = is_kept ? weight[order[i]] : 0.0;
    }
    total = 0.0;
    for (int i = 0; i < N; i++)
        total += p[i];
    for (int i = 0; i < N; i++)
        p[i] /= total;
}

static void check_distribution(float temperature, float top_p, float min_p, int32_t top_k)
{
    struct scene s;
    int count[N] = { 0 };
    double p[N];
    open_scene(&s, 0, 0);
    s.body->sampling.temperature = temperature;
    s.body->sampling.top_p = top_p;
    s.body->sampling.min_p = min_p;
    s.body->sampling.top_k = top_k;
    expect(&s.body->sampling, p);
    for (int i = 0; i < N_DRAWS; i++) {
        s.body->seed = (uint64_t)i;
        int32_t id = draw(&s, NULL);
        assert_in_range(id, 0, N - 1);
        count[id]++;
    }
    for (int i = 0; i < N; i++) {
        double deviation = sqrt(p[i] * (1.0 - p[i]) / N_DRAWS);
        assert_true(fabs((double)count[i] / N_DRAWS - p[i]) <= 5.0 * deviation);
        if (p[i] == 0.0)
            assert_int_equal(count[i], 0);
    }
    close_scene(&s);
}

static void test_draws_follow_the_distribution(void **state)
{
    (void)state;
    check_distribution(1.0F, 1.0F, 0.0F, 0);
    check_distribution(0.5F, 1.0F, 0.0F, 0);
    check_distribution(1.0F, 0.8F, 0.0F, 0);
    check_distribution(1.0F, 1.0F, 0.0F, 3);
    check_distribution(1.3F, 0.7F, 0.0F, 5);
    check_distribution(1.0F, 1.0F, 0.3F, 0);
    check_distribution(2.0F, 0.9F, 0.1F, 6);
    check_distribution(1.0F, 0.0F, 0.0F, 0); /* top_p 0 leaves only the best */
    check_distribution(1.0F, 1.0F, 0.0F, 1);
}

static void test_a_draw_depends_on_seed_and_position_alone(void **state)
{
    (void)state;
    struct scene s;
    int n_differ = 0;
    open_scene(&s, 0, 0);
    s.body->sampling.temperature = 1.0F;
    int32_t first = draw(&s, NULL);
    for (int i = 0; i < 10; i++)
        assert_int_equal(draw(&s, NULL), first);
    for (s.n_tokens = 3; s.n_tokens < 16; s.n_tokens++)
        n_differ += draw(&s, NULL) != first;
    assert_true(n_differ > 3);
    close_scene(&s);
}

static void test_a_broken_row_still_yields_a_token(void **state)
{
    (void)state;
    struct compute_sampler sampler;
    struct request_body body = {
        .seed = 1, .sampling = { .temperature = 1.0F, .top_p = 0.9F, .repetition_penalty = 1.0F }
    };
    const struct compute_sampler_row draw = { &body, NULL, 0, 0 };
    float logits[N];
    compute_sampler_init(&sampler, &compute_draw_plain, N);
    for (int i = 0; i < N; i++)
        logits[i] = NAN;
    assert_in_range(compute_sampler_draw(&sampler, &draw, logits, N, NULL), 0, N - 1);
    for (int i = 0; i < N; i++)
        logits[i] = i == 5 ? 1.0F : -INFINITY;
    assert_int_equal(compute_sampler_draw(&sampler, &draw, logits, N, NULL), 5);
    compute_sampler_free(&sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_takes_the_lower_id_of_equals),
        cmocka_unit_test(test_bias_and_penalties_move_the_greedy_choice),
        cmocka_unit_test(test_end_tokens_wait_for_the_minimum),
        cmocka_unit_test(test_logprobs_are_those_of_the_raw_row),
        cmocka_unit_test(test_draws_follow_the_distribution),
        cmocka_unit_test(test_a_draw_depends_on_seed_and_position_alone),
        cmocka_unit_test(test_a_broken_row_still_yields_a_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
