/* Solo times from a few requests that follow the model exactly, and from too few. */
#include "../test.h"
#include "loadgen/solo.h"

static void add(struct record_set *set, int32_t n_prompt, int32_t n_output)
{
    /* 10 ms + 0.1 ms per prompt token, then 2 ms per token */
    int64_t first_ns = 10000000 + 100000 * (int64_t)n_prompt;
    struct record r = { .first_ns = 5 + first_ns,
                        .arrived_ns = 5,
                        .end_ns = 5 + first_ns + 2000000 * (int64_t)(n_output - 1),
                        .n_prompt = n_prompt,
                        .n_output = n_output,
                        .why = RECORD_LENGTH };
    metrics_record_add(set, &r);
}

static void lines_are_found(void **state)
{
    struct record_set set = { 0 };
    struct loadgen_solo solo;
    (void)state;
    add(&set, 100, 11);
    loadgen_solo_fit(&set, 0, &solo); /* one alone: its own times */
    assert_true(solo.is_known && solo.n == 1 && solo.ttft_per_token_s == 0);
    assert_int_equal(loadgen_solo_ns(&solo, 500, 11) / 1000, 40000);
    add(&set, 200, 21);
    add(&set, 400, 5);
    set.at[2].service = 0;
    struct record failed = { .why = RECORD_FAILED, .end_ns = 1, .n_prompt = 5 };
    metrics_record_add(&set, &failed);
    loadgen_solo_fit(&set, 0, &solo);
    assert_int_equal(solo.n, 3);
    assert_true(solo.error < 1e-9);
    assert_int_equal((loadgen_solo_ns(&solo, 1000, 101) + 500) / 1000, 310000);
    struct score_base base;
    loadgen_solo_base(&solo, &base);
    assert_true(base.n == 7 && base.tokens[3] == 256);
    assert_int_equal((base.prefill_ns[3] + 500) / 1000, 35600); /* 10 ms + 256 * 0.1 ms */
    assert_int_equal((base.decode_ns + 500) / 1000, 2000);
    loadgen_solo_fit(&set, 1, &solo);
    assert_false(solo.is_known);
    assert_int_equal(loadgen_solo_ns(&solo, 1, 1), 0);
    loadgen_solo_base(&solo, &base);
    assert_int_equal(base.n, 0);
    metrics_record_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lines_are_found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
