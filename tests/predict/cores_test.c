/* Bounds of cores against measurements of `shoal profile` (docs/PERFORMANCE-figures.md has the
 * machine). */
#include "../test.h"
#include "predict/cores.h"

/* models/tale.gguf, and 162 million parameters in Q8_0. */
static const struct model_spec tale = { .n_layers = 4,
                                        .width = 192,
                                        .n_heads = 6,
                                        .n_kv_heads = 2,
                                        .head_dim = 32,
                                        .ffn_width = 512,
                                        .n_vocabulary = 2048,
                                        .is_gated = true };
static const struct model_spec large = { .n_layers = 12,
                                         .width = 768,
                                         .n_heads = 12,
                                         .n_kv_heads = 12,
                                         .head_dim = 64,
                                         .ffn_width = 3072,
                                         .n_vocabulary = 32000,
                                         .is_gated = true };

static double decode_ms(const struct model_spec *spec, int64_t bytes, int64_t kv, int32_t n_cores,
                        int32_t b)
{
    const struct predict_cores_model model = { spec, bytes, kv };
    struct perf perf;
    predict_cores_perf(&model, PREDICT_CORES_AVX2, n_cores, 2, &perf);
    return (double)perf_decode_span_ps(&perf, b, 100 * (int64_t)b, 1) * 1e-9;
}

static void assert_near(double is, double measured)
{
    if (is < 0.6 * measured || is > 1.67 * measured)
        fail_msg("%g ms, measured %g", is, measured);
}

static void it_is_near_what_was_measured(void **state)
{
    (void)state;
    assert_near(decode_ms(&tale, 2095872, 1024, 1, 1), 0.115);
    assert_near(decode_ms(&tale, 2095872, 1024, 2, 1), 0.146);
    assert_near(decode_ms(&tale, 2095872, 1024, 1, 16), 1.29);
    assert_near(decode_ms(&tale, 2095872, 1024, 2, 16), 0.87);
    assert_near(decode_ms(&large, 172624896, 36864, 1, 1), 12.3);
    assert_near(decode_ms(&large, 172624896, 36864, 2, 1), 7.6);
    assert_near(decode_ms(&large, 172624896, 36864, 1, 16), 56.9);
    assert_near(decode_ms(&large, 172624896, 36864, 2, 16), 31.5);
}

/* The choice of cores depends on this: a small model gains nothing by a second core, a large one
 * nearly all. */
static void small_models_want_one_core(void **state)
{
    (void)state;
    assert_true(decode_ms(&tale, 2095872, 1024, 1, 1) < decode_ms(&tale, 2095872, 1024, 2, 1));
    assert_true(decode_ms(&large, 172624896, 36864, 1, 1) >
                1.6 * decode_ms(&large, 172624896, 36864, 2, 1));
}

static void more_cores_do_not_make_more_memory(void **state)
{
    (void)state;
    const struct predict_cores_model model = { &large, 172624896, 36864 };
    struct perf eight, sixteen, generic;
    predict_cores_perf(&model, PREDICT_CORES_AVX512, 8, 8, &eight);
    predict_cores_perf(&model, PREDICT_CORES_AVX512, 16, 16, &sixteen);
    assert_true(perf_decode_span_ps(&sixteen, 1, 100, 1) * 10 >
                perf_decode_span_ps(&eight, 1, 100, 1) * 9);
    assert_true(perf_solo_ps(&sixteen, 512, 1) * 3 < perf_solo_ps(&eight, 512, 1) * 2);
    predict_cores_perf(&model, PREDICT_CORES_GENERIC, 8, 8, &generic);
    assert_true(perf_solo_ps(&generic, 512, 1) > 10 * perf_solo_ps(&eight, 512, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_near_what_was_measured),
        cmocka_unit_test(small_models_want_one_core),
        cmocka_unit_test(more_cores_do_not_make_more_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
