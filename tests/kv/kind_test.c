/* The kinds of pool: their names, how heads are cut, and what a private part is. */
#include "../kv_open.h"
#include "test.h"
#include "kv/kv.h"

static void names_and_finds(void **state)
{
    (void)state;
    enum kv_kind kind;
    for (int i = 0; i < KV_KINDS; i++) {
        assert_true(kv_kind_find(kv_kind_name((enum kv_kind)i), &kind));
        assert_int_equal(kind, i);
        assert_non_null(strstr(kv_kind_names(), kv_kind_name((enum kv_kind)i)));
    }
    assert_false(kv_kind_find("", &kind));
    assert_false(kv_kind_find("Merged", &kind));
}

/* LLaMA-7B and 13B: 32 layers of 32 heads and 40 of 40, all of 128 dims in 16 bits. MuxServe's
 * head-wise block, our unit, is 8 KiB, and a block of 16 tokens has 1,024 of them. */
static void cuts_as_muxserve_does(void **state)
{
    (void)state;
    const struct kv_shape shapes[] = { { 524288, 32 * 32 }, { 819200, 40 * 40 } };
    struct kv_layout layouts[2];
    double waste;
    assert_int_equal(kv_choose_heads(2, shapes, layouts, &waste), 8192);
    assert_int_equal(layouts[0].block_tokens, 16);
    assert_int_equal(layouts[0].units_per_block, 1024);
    assert_int_equal(layouts[0].block_bytes, 16 * 524288);
    assert_int_equal(layouts[1].units_per_block, 1600);
    assert_int_equal(kv_token_bytes(&layouts[1], 8192), 819200);
    assert_true(waste < 1e-9);
    const struct kv_shape unknown = { 524288, 0 }; /* heads of 128 dims are taken for granted */
    assert_int_equal(kv_choose(KV_HEADS, 1, &unknown, 1, layouts, &waste), 8192);
    assert_int_equal(layouts[0].units_per_block, 1024);
}

static void no_unit_is_too_large_to_count(void **state)
{
    (void)state;
    assert_int_equal(kv_bytes_most(KV_MERGED, 4096), INT64_C(4096) << 24);
    assert_int_equal(kv_bytes_most(KV_HEADS, 4096), INT64_C(4096) << 28);
    assert_int_equal(kv_bytes_most(KV_MERGED, INT64_C(1) << 50), INT64_MAX);
    assert_int_equal(kv_bytes_most(KV_HEADS, INT64_MAX), INT64_MAX);
}

static void smaller_heads_hold_more_tokens(void **state)
{
    (void)state;
    const struct kv_shape shapes[] = {
        { 512 * 8, 8 }, { 256 * 30, 30 }, { 320 * 4, 4 }, { 12 * 9, 9 } /* 128, 64, 80, 3 dims */
    };
    struct kv_layout layouts[4];
    double waste;
    int64_t unit = kv_choose_heads(4, shapes, layouts, &waste);
    assert_int_equal(unit, 8192);
    assert_int_equal(layouts[0].block_tokens, 16);
    assert_int_equal(layouts[1].block_tokens, 32);
    assert_int_equal(layouts[2].block_tokens, 24);
    assert_int_equal(layouts[3].block_tokens, 64);
    for (int i = 0; i < 4; i++)
        assert_true(layouts[i].block_bytes <= unit * layouts[i].units_per_block);
    assert_true(waste > 0.9); /* the last one's */
}

/* Two services of unlike sizes: each has room for equally many tokens, and no more, however idle
 * the other is. The parts follow the pool. */
static void parts_are_private(void **state)
{
    (void)state;
    enum { UNIT = 1024, N = 60 };
    struct kv_service_options services[2] = { { .layout = { 32, 8, 4, 256 } },
                                              { .layout = { 64, 16, 1, 1024 } } };
    struct kv *kv = kv_open_with(&(struct kv_options){ .kind = KV_PRIVATE,
                                                       .pool_bytes_max = N * UNIT,
                                                       .pool_bytes = N / 2 * UNIT,
                                                       .unit_bytes = UNIT,
                                                       .n_requests_max = 4,
                                                       .n_tokens_max = 2000 },
                                 services, 2);
    struct kv_need need = { 0, 10 * 32, 0 }, more = { 0, 10 * 32 + 1, 0 };
    assert_int_equal(kv_budget_most_blocks(kv_budget(kv), 0), 40);
    assert_int_equal(kv_budget_most_blocks(kv_budget(kv), 1), 20);
    assert_int_equal(kv_most_blocks(kv, 0, N), 80); /* what it could become */
    assert_true(kv_reserve(kv, 0, &need, 1));
    assert_false(kv_reserve(kv, 0, &more, 1));
    struct kv_need other = { 1, 20 * 16, 0 };
    assert_true(kv_reserve(kv, 1, &other, 1)); /* its part was kept for it */
    assert_int_equal(kv_budget(kv)->n_units_free, 0);
    assert_int_equal(kv_grow(kv, N / 2 * UNIT), N / 2 * UNIT);
    assert_true(kv_reserve(kv, 0, &more, 1));
    assert_true(kv_is_sound(kv));
    (void)kv_shrink(kv, N / 2 * UNIT);
    struct kv_need again = { 2, 1, 0 };
    assert_false(kv_reserve(kv, 0, &again, 1)); /* more than its part is in use */
    kv_release(kv, 0);
    assert_true(kv_reserve(kv, 0, &again, 1));
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_finds),
        cmocka_unit_test(cuts_as_muxserve_does),
        cmocka_unit_test(no_unit_is_too_large_to_count),
        cmocka_unit_test(smaller_heads_hold_more_tokens),
        cmocka_unit_test(parts_are_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
