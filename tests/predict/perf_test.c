/* The closed forms against brute force: spans are sums of steps, the inverse is exact, chunks of a
 * prompt sum to the whole. */
#include "test.h"
#include "base/rng.h"
#include "predict/perf.h"

/* Llama-7B on an A100 (docs/ALGORITHMS.md, appendix A), in picoseconds. */
static const struct perf llama_7b = {
    .floor_ps = 13900000000,
    .c1_ps = 3400000000,
    .k1_ps = 73800000,
    .q1_ps = 5000000,
    .c3_ps = { 11440000000, 8580000000 },
    .c2_ps = { 30000000, 75900000 },
    .k2_ps = { 374000, 354000 },
    .b_switch = 64,
    .prefill_scale = 1,
    .decode_scale = 1,
};

static struct perf random_perf(struct rng *rng)
{
    struct perf perf = llama_7b;
    for (int i = 0; i < 2; i++) {
        perf.c3_ps[i] = rng_below(rng, 1000000000);
        perf.c2_ps[i] = 1 + rng_below(rng, 1000000);
        perf.k2_ps[i] = rng_below(rng, 3) == 0 ? 0 : rng_below(rng, 100000);
    }
    perf.b_switch = 1 + (int32_t)rng_below(rng, 40);
    perf.decode_scale = rng_below(rng, 2) == 0 ? 1 : (float)(0.5 + rng_unit(rng));
    return perf;
}

static int64_t decode_step(const struct perf *perf, int32_t b, int64_t c)
{
    struct perf_load load = { .n_decodes = b, .n_decode_context = c };
    return perf_step_ps(perf, &load);
}

static void a_span_is_the_sum_of_its_steps(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 2000; round++) {
        struct perf perf = random_perf(&rng);
        int32_t b = 1 + (int32_t)rng_below(&rng, 60);
        int64_t c = b * (int64_t)(1 + rng_below(&rng, 4000)), sum = 0;
        int32_t n = (int32_t)rng_below(&rng, 200);
        for (int32_t i = 0; i < n; i++)
            sum += decode_step(&perf, b, c + i * (int64_t)b);
        assert_int_equal(perf_decode_span_ps(&perf, b, c, n), sum);
    }
}

static void the_inverse_is_exact(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 1);
    for (int round = 0; round < 5000; round++) {
        struct perf perf = random_perf(&rng);
        int32_t b = 1 + (int32_t)rng_below(&rng, 60);
        int64_t c = b * (int64_t)(1 + rng_below(&rng, 4000));
        int64_t n = rng_below(&rng, round % 2 == 0 ? 300 : 1000000);
        int64_t span = perf_decode_span_ps(&perf, b, c, n);
        assert_int_equal(perf_decode_steps_in(&perf, b, c, span), n);
        assert_int_equal(perf_decode_steps_in(&perf, b, c, span - 1), n > 0 ? n - 1 : 0);
        int64_t any = (int64_t)(rng_u64(&rng) >> (2 + rng_below(&rng, 40)));
        int64_t k = perf_decode_steps_in(&perf, b, c, any);
        assert_true(perf_decode_span_ps(&perf, b, c, k) <= any);
        assert_true(perf_decode_span_ps(&perf, b, c, k + 1) > any);
    }
    assert_int_equal(perf_decode_steps_in(&llama_7b, 1, 1, -1), 0);
}

static void long_spans_saturate(void **state)
{
    (void)state;
    assert_int_equal(perf_decode_span_ps(&llama_7b, 256, 1 << 20, INT64_C(1) << 40), INT64_MAX);
    int64_t most = perf_decode_steps_in(&llama_7b, 256, 1 << 20, INT64_MAX - 1);
    assert_true(perf_decode_span_ps(&llama_7b, 256, 1 << 20, most) < INT64_MAX);
    assert_int_equal(perf_decode_span_ps(&llama_7b, 256, 1 << 20, most + 1), INT64_MAX);
}

static void chunks_sum_to_the_whole(void **state)
{
    (void)state;
    struct perf perf = llama_7b;
    perf.floor_ps = perf.c1_ps = 0;
    const int32_t n = 1000, chunk = 130;
    struct perf_load whole = { .n_new = n, .n_new_squared = (int64_t)n * n };
    int64_t sum = 0;
    for (int32_t done = 0; done < n; done += chunk) {
        int64_t k = n - done < chunk ? n - done : chunk;
        struct perf_load load = { .n_new = (int32_t)k,
                                  .n_new_squared = k * k,
                                  .n_new_context = k * done };
        sum += perf_step_ps(&perf, &load);
    }
    assert_in_range(sum, perf_step_ps(&perf, &whole) - 8, perf_step_ps(&perf, &whole) + 8);
}

static void floors_and_mixtures(void **state)
{
    (void)state;
    struct perf_load small = { .n_new = 16, .n_new_squared = 256 };
    assert_int_equal(perf_step_ps(&llama_7b, &small), llama_7b.floor_ps);
    struct perf_load mixed = {
        .n_decodes = 10, .n_decode_context = 5000, .n_new = 512, .n_new_squared = 512 * 512
    };
    int64_t wanted = llama_7b.c3_ps[0] + 10 * llama_7b.c2_ps[0] + 5000 * llama_7b.k2_ps[0] +
                     512 * llama_7b.k1_ps + 256 * llama_7b.q1_ps;
    assert_int_equal(perf_step_ps(&llama_7b, &mixed), wanted);
    struct perf_load nothing = { 0 };
    assert_int_equal(perf_step_ps(&llama_7b, &nothing), 0);
    assert_int_equal(decode_step(&llama_7b, 64, 0), llama_7b.c3_ps[1] + 64 * llama_7b.c2_ps[1]);
}

/* X(i, o) of section 0.2, written out. */
static void solo_time_is_the_formula(void **state)
{
    (void)state;
    struct perf_load prompt = { .n_new = 700, .n_new_squared = 490000 };
    int64_t sum = perf_step_ps(&llama_7b, &prompt);
    for (int64_t j = 1; j < 150; j++)
        sum += decode_step(&llama_7b, 1, 700 + j);
    assert_int_equal(perf_solo_ps(&llama_7b, 700, 150), sum);
    assert_int_equal(perf_solo_ps(&llama_7b, 700, 1), perf_step_ps(&llama_7b, &prompt));
}

static void observing_closes_in(void **state)
{
    (void)state;
    struct perf perf = llama_7b;
    struct perf_load prompt = { .n_new = 700, .n_new_squared = 490000 };
    struct perf_load decode = { .n_decodes = 4, .n_decode_context = 4000 };
    int64_t prompt_ps = perf_step_ps(&perf, &prompt) * 3 / 2;
    int64_t decode_ps = perf_step_ps(&perf, &decode) * 4 / 5;
    for (int i = 0; i < 200; i++) {
        perf_observe(&perf, &prompt, prompt_ps);
        perf_observe(&perf, &decode, decode_ps);
    }
    assert_true(perf.prefill_scale > 1.495f && perf.prefill_scale < 1.505f);
    assert_true(perf.decode_scale > 0.795f && perf.decode_scale < 0.805f);
    for (int i = 0; i < 1000; i++)
        perf_observe(&perf, &decode, 1);
    assert_true(perf.decode_scale > 0);
    perf_observe(&perf, &decode, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_is_the_sum_of_its_steps),
        cmocka_unit_test(the_inverse_is_exact),
        cmocka_unit_test(long_spans_saturate),
        cmocka_unit_test(chunks_sum_to_the_whole),
        cmocka_unit_test(floors_and_mixtures),
        cmocka_unit_test(solo_time_is_the_formula),
        cmocka_unit_test(observing_closes_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
