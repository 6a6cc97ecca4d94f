/* Memory estimators: by hand, and monotone. */
#include "test.h"
#include "base/rng.h"
#include "predict/memory.h"

/* LLaMA2-13B on 80 GB: (80 - 26 - 4) GB for KV at 819,200 bytes a token, 0.9 of it. */
static const struct memory_model padded = { .kind = MEMORY_PADDED,
                                            .available_bytes = INT64_C(50000000000),
                                            .bytes_per_token = 819200,
                                            .zeta = 0.9 };

static void padded_by_hand(void **state)
{
    (void)state;
    /* 45e9 / 819200 = 54931.6 tokens; 1024 + 128 each: 47.7 */
    assert_int_equal(predict_memory_n_max(&padded, 1024, 128), 47);
    assert_int_equal(predict_memory_n_max(&padded, 10, 128), 398);
    assert_int_equal(predict_memory_n_max(&padded, 60000, 128), 0);
}

/* OOM iff N > 28 up to 512, 22 up to 1,024, 12 above. */
static void the_rule_table(void **state)
{
    (void)state;
    assert_int_equal(predict_memory_n_max(&predict_memory_deepspeed_13b, 384, 128), 28);
    assert_int_equal(predict_memory_n_max(&predict_memory_deepspeed_13b, 385, 128), 22);
    assert_int_equal(predict_memory_n_max(&predict_memory_deepspeed_13b, 896, 128), 22);
    assert_int_equal(predict_memory_n_max(&predict_memory_deepspeed_13b, 897, 128), 12);
    assert_int_equal(predict_memory_n_max(&predict_memory_deepspeed_13b, 1 << 20, 128), 12);
}

static void blocks_are_rounded_up(void **state)
{
    (void)state;
    const struct memory_model paged = { .kind = MEMORY_PAGED,
                                        .available_bytes = 1000 * 16,
                                        .bytes_per_token = 1000,
                                        .block_tokens = 4 };
    assert_int_equal(predict_memory_n_max(&paged, 1, 2), 4);
    assert_int_equal(predict_memory_n_max(&paged, 1, 3), 4);
    assert_int_equal(predict_memory_n_max(&paged, 1, 4), 2);
    assert_int_equal(predict_memory_n_max(&paged, 20, 0), 0);
}

/* More input or a longer slice never admits more requests. */
static void monotone(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 3000; round++) {
        struct memory_model m = { .kind = (enum memory_kind)(2 * rng_below(&rng, 2)),
                                  .available_bytes = rng_below(&rng, 1000000),
                                  .bytes_per_token = 1 + rng_below(&rng, 20),
                                  .block_tokens = 1 + (int32_t)rng_below(&rng, 32),
                                  .zeta = 0.5 + 0.5 * rng_unit(&rng) };
        if (rng_below(&rng, 4) == 0)
            m = predict_memory_deepspeed_13b;
        int32_t l = (int32_t)rng_below(&rng, 2000), s = (int32_t)rng_below(&rng, 300);
        int32_t n = predict_memory_n_max(&m, l, s);
        assert_true(predict_memory_n_max(&m, l + 1, s) <= n &&
                    predict_memory_n_max(&m, l, s + 1) <= n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padded_by_hand),
        cmocka_unit_test(the_rule_table),
        cmocka_unit_test(blocks_are_rounded_up),
        cmocka_unit_test(monotone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
