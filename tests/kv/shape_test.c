/* Units and cuts: the figures of docs/ALGORITHMS.md E-6, and the waste of model sets like ours. */
#include "test.h"
#include "kv/kv.h"

static const int64_t mib = 1 << 20;
enum { LLAMA_7B = 524288, LLAMA_13B = 819200, LLAMA2_70B = 327680 };
enum { LLAMA_30B = 1597440, LLAMA_65B = 2621440 };

static void assert_sound(int n, const int64_t *bytes_per_token, int64_t unit_bytes,
                         const struct kv_layout *layouts, double waste)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        const struct kv_layout *l = &layouts[i];
        assert_int_equal(l->bytes_per_token, bytes_per_token[i]);
        assert_int_equal(l->block_bytes, l->block_tokens * l->bytes_per_token);
        assert_true(l->block_tokens == 8 || l->block_tokens == 16 || l->block_tokens == 32);
        assert_in_range(l->blocks_per_unit, 1, KV_UNIT_BLOCKS_MAX);
        assert_true(l->blocks_per_unit * l->block_bytes <= unit_bytes);
        double w = 1 - (double)(l->blocks_per_unit * l->block_bytes) / (double)unit_bytes;
        worst = w > worst ? w : worst;
    }
    assert_int_equal(unit_bytes % 64, 0);
    assert_true(waste > worst - 1e-9 && waste < worst + 1e-9);
}

static void cuts_7b_beside_13b(void **state)
{
    (void)state;
    const int64_t bytes[] = { LLAMA_7B, LLAMA_13B };
    struct kv_layout layouts[2];
    double waste;
    int64_t unit = kv_choose_layout(2, bytes, 16 * mib, layouts, &waste);
    assert_sound(2, bytes, unit, layouts, waste);
    assert_int_equal(unit, 25 * mib / 2);
    assert_int_equal(layouts[0].blocks_per_unit, 3);
    assert_int_equal(layouts[0].block_tokens, 8);
    assert_int_equal(layouts[1].blocks_per_unit, 2);
    assert_int_equal(layouts[1].block_tokens, 8);
    assert_true(waste > 0.0399 && waste < 0.0401);
}

static void cuts_13b_beside_70b(void **state)
{
    (void)state;
    const int64_t bytes[] = { LLAMA_13B, LLAMA2_70B };
    struct kv_layout layouts[2];
    double waste;
    int64_t unit = kv_choose_layout(2, bytes, 16 * mib, layouts, &waste);
    assert_sound(2, bytes, unit, layouts, waste);
    assert_int_equal(unit, 25 * mib / 2);
    assert_int_equal(layouts[0].blocks_per_unit, 2);
    assert_int_equal(layouts[1].blocks_per_unit, 5);
    assert_true(waste < 1e-9);
}

/* Merging one 16-token block of each as it is: the smaller model loses this much beside the
 * larger. */
static void naive_merging_wastes(void **state)
{
    (void)state;
    assert_true(1 - (double)LLAMA_7B / LLAMA_13B > 0.355);
    assert_true(1 - (double)LLAMA2_70B / LLAMA_7B > 0.37);
    assert_true(1 - (double)LLAMA_30B / LLAMA_65B > 0.385);
}

static void assert_little_waste(int n, const int64_t *bytes, int64_t unit_bytes_max)
{
    struct kv_layout layouts[8];
    double waste;
    int64_t unit = kv_choose_layout(n, bytes, unit_bytes_max, layouts, &waste);
    assert_sound(n, bytes, unit, layouts, waste);
    assert_true(unit <= unit_bytes_max);
    print_message("%d models, unit %lld KiB:", n, (long long)unit / 1024);
    for (int i = 0; i < n; i++)
        print_message(" %d x %d", layouts[i].blocks_per_unit, layouts[i].block_tokens);
    print_message(", waste %.2f%%\n", waste * 100);
    assert_true(waste < 0.05);
}

static void wastes_little_for_our_sets(void **state)
{
    (void)state;
    /* Two tiny models, F16: 4 layers x 2 KV heads x 32 and 3 layers x 6 heads x 32. */
    assert_little_waste(2, (const int64_t[]){ 1024, 2304 }, 16 * mib);
    /* 160M (12 x 12 x 64), 0.5B (24 x 2 x 64), 1.1B (22 x 4 x 64), 1.5B (28 x 2 x 128). */
    assert_little_waste(4, (const int64_t[]){ 36864, 12288, 22528, 28672 }, 16 * mib);
    assert_little_waste(3, (const int64_t[]){ LLAMA_7B, LLAMA_13B, LLAMA2_70B }, 16 * mib);
    assert_little_waste(1, (const int64_t[]){ LLAMA_65B }, 32 * mib);
    assert_little_waste(2, (const int64_t[]){ LLAMA_30B, LLAMA_65B }, 64 * mib);
}

static void gives_way_to_a_huge_token(void **state)
{
    (void)state;
    const int64_t bytes[] = { 100, 8 * mib };
    struct kv_layout layouts[2];
    double waste;
    int64_t unit = kv_choose_layout(2, bytes, mib, layouts, &waste);
    assert_sound(2, bytes, unit, layouts, waste);
    assert_int_equal(unit, 64 * mib); /* a block of 8 tokens, although more than was allowed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_7b_beside_13b),        cmocka_unit_test(cuts_13b_beside_70b),
        cmocka_unit_test(naive_merging_wastes),      cmocka_unit_test(wastes_little_for_our_sets),
        cmocka_unit_test(gives_way_to_a_huge_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
