/* Truths: spans are sums of steps, the inverse is exact, and the reduction finds a linear truth and
 * states its error against another. */
#include "test.h"
#include "base/rng.h"
#include "predict/truth.h"

static const struct perf llama_7b = {
    .floor_ps = 13900000000,
    .c1_ps = 3400000000,
    .k1_ps = 73800000,
    .c3_ps = { 11440000000, 8580000000 },
    .c2_ps = { 30000000, 75900000 },
    .k2_ps = { 374000, 354000 },
    .b_switch = 64,
    .prefill_scale = 1,
    .decode_scale = 1,
};

static int64_t line_ps(const void *self, const struct perf_load *load)
{
    return perf_step_ps(self, load);
}

/* A step that is not linear: it jumps with every 4,096 tokens of context. */
static int64_t stairs_ps(const void *self, const struct perf_load *load)
{
    return perf_step_ps(self, load) + load->n_decode_context / 4096 * INT64_C(1000000000) +
           load->n_context_most * 1000;
}

static void spans_are_sums(void **state)
{
    (void)state;
    const struct perf_truth t = { stairs_ps, &llama_7b };
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 500; round++) {
        int32_t b = 1 + (int32_t)rng_below(&rng, 100);
        int64_t c = b * (1 + (int64_t)rng_below(&rng, 2000)), n = rng_below(&rng, 100), sum = 0;
        const struct perf_load first = { .n_decodes = b,
                                         .n_decode_context = c,
                                         .n_context_most = round % 2 == 0 ? 0 : c / b + 7 };
        for (int64_t i = 0; i < n; i++) {
            struct perf_load load = first;
            load.n_decode_context += i * b;
            load.n_context_most += first.n_context_most > 0 ? i : 0;
            sum += t.step_ps(t.self, &load);
        }
        assert_int_equal(truth_span_ps(&t, &first, n), sum);
        assert_int_equal(truth_steps_in(&t, &first, sum, 1000), n);
        assert_int_equal(truth_steps_in(&t, &first, sum + 1, 1000), n);
        assert_int_equal(truth_steps_in(&t, &first, sum - 1, 1000), n > 0 ? n - 1 : 0);
        assert_int_equal(truth_steps_in(&t, &first, INT64_MAX / 2, n), n);
    }
}

static void reduction_finds_a_linear_truth(void **state)
{
    (void)state;
    const struct truth_range range = { 32, 4096, 256, 16, 4096 };
    struct truth_reduced r;
    struct perf_truth truth = { line_ps, &llama_7b };
    assert_true(truth_reduce(&truth, &range, &r));
    assert_true(r.prefill.n > 10 && r.decode.n > 100);
    assert_true(r.prefill.worst < 1e-3 && r.decode.worst < 1e-3);
    assert_in_range(r.perf.b_switch, 64, 90); /* 64 itself is not sampled */
    truth = (struct perf_truth){ stairs_ps, &llama_7b };
    assert_true(truth_reduce(&truth, &range, &r));
    print_message("stairs: mean error %.3f, worst %.3f\n", r.decode.mean_abs, r.decode.worst);
    assert_true(r.decode.mean_abs < 0.1 && r.decode.worst > 0.001);
    assert_true(r.decode.low < 1 && r.decode.high > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_sums),
        cmocka_unit_test(reduction_finds_a_linear_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
