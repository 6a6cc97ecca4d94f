/* Bodies that came over a wire: the honest one passes, and each false one is noticed. */
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "core/request.h"
#include <math.h>

enum { N_TOKENS = 5, N_STOPS = 2, N_BIASES = 3, VOCABULARY = 100 };

static struct request_body *honest(size_t *n_bytes)
{
    *n_bytes = request_body_bytes(N_TOKENS, N_STOPS, N_BIASES);
    struct request_body *body = mem_take(*n_bytes);
    *body = (struct request_body){
        .n_bytes = (uint32_t)*n_bytes,
        .n_tokens = N_TOKENS,
        .n_stop_ids = N_STOPS,
        .n_biases = N_BIASES,
        .sampling = { .temperature = 1, .top_p = 1, .repetition_penalty = 1, .n_top_logprobs = -1 },
    };
    for (int32_t i = 0; i < N_TOKENS; i++)
        request_body_tokens(body)[i] = i * 20;
    request_body_stop_ids(body)[1] = VOCABULARY - 1;
    request_body_biases(body)[2] = (struct logit_bias){ 7, -100 };
    return body;
}

static void accepts_an_honest_body(void **state)
{
    (void)state;
    size_t n;
    struct request_body *body = honest(&n);
    assert_true(request_body_is_valid(body, n, VOCABULARY));
    assert_false(request_body_is_valid(body, n, VOCABULARY - 1));
    assert_false(request_body_is_valid(body, n - 4, VOCABULARY));
    assert_false(request_body_is_valid(body, sizeof(*body) - 1, VOCABULARY));
    mem_give(body);
}

#define ASSERT_REFUSED(lie)                                                                        \
    do {                                                                                           \
        size_t n;                                                                                  \
        struct request_body *b = honest(&n);                                                       \
        lie;                                                                                       \
        assert_false(request_body_is_valid(b, n, VOCABULARY));                                     \
        mem_give(b);                                                                               \
    } while (0)

static void refuses_each_lie(void **state)
{
    (void)state;
    ASSERT_REFUSED(b->n_tokens = 0);
    ASSERT_REFUSED(b->n_tokens++);
    ASSERT_REFUSED(b->n_tokens = UINT32_MAX);
    ASSERT_REFUSED(b->n_stop_ids = UINT32_MAX);
    ASSERT_REFUSED(b->n_biases = 1u << 31);
    ASSERT_REFUSED(b->n_bytes--);
    ASSERT_REFUSED(request_body_tokens(b)[4] = -1);
    ASSERT_REFUSED(request_body_tokens(b)[0] = VOCABULARY);
    ASSERT_REFUSED(request_body_stop_ids(b)[0] = VOCABULARY);
    ASSERT_REFUSED(request_body_biases(b)[2].id = -5);
    ASSERT_REFUSED(request_body_biases(b)[0].bias = NAN);
    ASSERT_REFUSED(request_body_biases(b)[0].bias = INFINITY);
    ASSERT_REFUSED(b->sampling.temperature = NAN);
    ASSERT_REFUSED(b->sampling.temperature = -0.5f);
    ASSERT_REFUSED(b->sampling.top_p = 1.5f);
    ASSERT_REFUSED(b->sampling.min_p = -1);
    ASSERT_REFUSED(b->sampling.repetition_penalty = 0);
    ASSERT_REFUSED(b->sampling.frequency_penalty = INFINITY);
    ASSERT_REFUSED(b->sampling.top_k = -1);
    ASSERT_REFUSED(b->sampling.n_tokens_min = -1);
    ASSERT_REFUSED(b->sampling.n_top_logprobs = LIMIT_TOP_LOGPROBS + 1);
}

/* Noise in the header never makes a read outside the record (the sanitizers check it). */
static void survives_noise(void **state)
{
    (void)state;
    uint64_t seed = test_seed(3);
    for (uint64_t i = 0; i < 20000; i++) {
        size_t n;
        struct request_body *body = honest(&n);
        for (uint64_t k = 0; k < 3; k++) {
            uint64_t dice = rng_at(seed, i, k);
            ((unsigned char *)body)[dice % 24] = (unsigned char)(dice >> 32);
        }
        (void)request_body_is_valid(body, n, VOCABULARY);
        mem_give(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_an_honest_body),
        cmocka_unit_test(refuses_each_lie),
        cmocka_unit_test(survives_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
