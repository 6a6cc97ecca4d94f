/* Models by shape against published sizes. */
#include "test.h"
#include "predict/device.h"

static void sizes_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double billions;
        int64_t kv_bytes; /* a token, 16-bit: docs/ALGORITHMS.md section 0.1, if it has it */
    } known[] = {
        { "llama-2-7b", 6.74, 524288 },   { "llama-2-13b", 13.02, 819200 },
        { "llama-2-70b", 68.98, 327680 }, { "llama-30b", 32.53, 1597440 },
        { "llama-65b", 65.29, 2621440 },  { "opt-6.7b", 6.66, 524288 },
        { "opt-13b", 12.85, 819200 },     { "tinyllama-1.1b", 1.10, 22528 },
        { "qwen2-0.5b", 0.494, 12288 },   { "qwen2-7b", 7.62, 57344 },
        { "qwen3-8b", 8.19, 147456 },     { "llama-3.1-8b", 8.03, 131072 },
        { "chatglm2-6b", 6.24, 28672 },   { "bloom-176b", 176.2, 4014080 },
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const struct predict_model *m = predict_model_find(known[i].name);
        assert_non_null(m);
        double ratio = (double)predict_model_n_parameters(m) / (known[i].billions * 1e9);
        assert_true(ratio > 0.99 && ratio < 1.01);
        assert_int_equal(predict_model_kv_bytes_per_token(m), known[i].kv_bytes);
        assert_int_equal(predict_model_weights_bytes(m), 2 * predict_model_n_parameters(m));
    }
    assert_null(predict_model_find("eliza"));
}

static void shapes_are_consistent(void **state)
{
    (void)state;
    int n;
    const struct predict_model *all = predict_model_all(&n);
    for (int i = 0; i < n; i++) {
        assert_ptr_equal(predict_model_find(all[i].name), &all[i]);
        assert_int_equal(all[i].n_heads % all[i].n_kv_heads, 0);
        double ratio = predict_model_flops_per_token(&all[i]) /
                       (2.0 * (double)predict_model_n_parameters(&all[i]));
        assert_true(ratio > 0.5 && ratio < 1.0); /* without embeddings */
    }
}

/* 138 GB on 80 GiB cards with a tenth to spare: two have 155 GB. */
static void the_fewest_devices(void **state)
{
    (void)state;
    const struct predict_device *a100 = predict_device_find("a100");
    assert_int_equal(predict_model_tp_min(predict_model_find("llama-2-7b"), a100, 0.1), 1);
    assert_int_equal(predict_model_tp_min(predict_model_find("llama-2-70b"), a100, 0.1), 2);
    assert_int_equal(predict_model_tp_min(predict_model_find("llama-2-70b"), a100, 0.3), 4);
    assert_int_equal(
        predict_model_tp_min(predict_model_find("bloom-176b"), predict_device_find("l4"), 0.1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_the_published_ones),
        cmocka_unit_test(shapes_are_consistent),
        cmocka_unit_test(the_fewest_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
