/* Presets: appendix A's figures, found by shape, and the roofline when nothing was measured. */
#include "test.h"
#include "predict/preset.h"

static double prefill_ms(const struct perf *perf, int32_t n)
{
    const struct perf_load load = { .n_new = n, .n_new_squared = (int64_t)n * n };
    return (double)perf_step_ps(perf, &load) * 1e-9;
}

static double decode_ms(const struct perf *perf, int32_t b, int32_t context)
{
    const struct perf_load load = { .n_decodes = b, .n_decode_context = (int64_t)b * context };
    return (double)perf_step_ps(perf, &load) * 1e-9;
}

static void assert_near(double value, double wanted)
{
    if (value < wanted - 0.01 || value > wanted + 0.01)
        fail_msg("%g is not %g", value, wanted);
}

static const struct perf *row(const char *model, int32_t tp)
{
    const struct preset_row *found =
        preset_find(predict_model_find(model), predict_device_find("a100"), tp);
    assert_non_null(found);
    return &found->perf;
}

/* 7B TP1: 3.4 + 0.0738 i, at least 13.9; 11.44 + 0.030 b + 3.74e-4 C; from 64: 8.58 + 0.0759 b +
 * 3.54e-4 C. 65B TP8: 12.9 + 0.122 i. OPT-13B (DistServe): 18.1 + 0.1019 i + 7.1e-6 i^2. */
static void appendix_a(void **state)
{
    (void)state;
    assert_near(prefill_ms(row("llama-7b", 1), 64), 13.9);
    assert_near(prefill_ms(row("llama-7b", 1), 1000), 77.2);
    assert_near(decode_ms(row("llama-7b", 1), 1, 512), 11.44 + 0.030 + 0.1915);
    assert_near(decode_ms(row("llama-7b", 1), 128, 512), 8.58 + 9.7152 + 23.2);
    assert_near(prefill_ms(row("llama-65b", 8), 1000), 134.9);
    assert_near(decode_ms(row("llama-13b", 2), 32, 100), 15.81 + 0.5984 + 0.848);
    assert_near(prefill_ms(row("opt-13b", 1), 1000), 18.1025 + 101.9123 + 7.1223);
    assert_near(decode_ms(row("opt-13b", 1), 100, 100), 7.1662 + 15.8311 + 5.798);
}

static void found_by_shape(void **state)
{
    (void)state;
    assert_ptr_equal(row("llama-2-7b", 1), row("llama-7b", 1));
    assert_null(preset_find(predict_model_find("qwen2-7b"), predict_device_find("a100"), 1));
    assert_null(preset_find(predict_model_find("llama-7b"), predict_device_find("h100"), 1));
    assert_null(preset_find(predict_model_find("llama-7b"), predict_device_find("a100"), 3));
    struct perf perf;
    const char *source =
        perf_preset(predict_model_find("llama-7b"), predict_device_find("a100"), 1, &perf);
    assert_non_null(strstr(source, "MuxServe"));
    assert_memory_equal(&perf, row("llama-7b", 1), sizeof(perf));
    source = perf_preset(predict_model_find("qwen2-7b"), predict_device_find("h200"), 1, &perf);
    assert_string_equal(source, "roofline");
    assert_true(perf.k1_ps > 0 && perf.c3_ps[0] > 0);
}

/* Every row is positive, and slower with more work. */
static void rows_are_sane(void **state)
{
    (void)state;
    int n;
    const struct preset_row *rows = preset_rows(&n);
    for (int i = 0; i < n; i++) {
        assert_non_null(predict_model_find(rows[i].model));
        assert_non_null(predict_device_find(rows[i].device));
        const struct perf *perf = &rows[i].perf;
        assert_true(perf->k1_ps > 0 && perf->q1_ps >= 0 && perf->prefill_scale == 1.0F);
        for (int32_t b = 1; b < 256; b *= 2)
            assert_true(decode_ms(perf, b, 1000) >= decode_ms(perf, b, 100) &&
                        decode_ms(perf, 2 * b, 1000) > decode_ms(perf, b, 1000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appendix_a),
        cmocka_unit_test(found_by_shape),
        cmocka_unit_test(rows_are_sane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
