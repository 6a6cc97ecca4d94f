/* The pool's public functions: reservation, release, trimming, growing and shrinking, holds. */
#include "lent.h"
#include "pool_fixture.h"
#include "test.h"

static void reserves_all_or_nothing(void **state)
{
    (void)state;
    struct kv *kv = pool_open(4, 8, false);
    int32_t n;
    struct kv_need needs[2] = { { 0, 40, 0 }, { 1, 90, 0 } }; /* 5 and 12 blocks of 16 */
    assert_false(kv_reserve(kv, 0, needs, 2));
    (void)kv_table(kv, 0, &n);
    assert_int_equal(n, 0);
    needs[1].n_tokens = 88;
    assert_true(kv_reserve(kv, 0, needs, 2));
    assert_int_equal(kv_budget(kv)->n_units_free, 0);
    assert_true(kv_is_sound(kv));
    assert_false(pool_reserve(kv, 1, 2, 1));
    kv_release(kv, 1);
    assert_true(pool_reserve(kv, 1, 2, 16 * 6));
    assert_false(pool_reserve(kv, 1, 3, 1));
    assert_true(kv_is_sound(kv));
    kv_release(kv, 0);
    kv_release(kv, 2);
    assert_true(kv_is_idle(kv) && kv_is_sound(kv));
    assert_int_equal(kv_budget(kv)->n_units_free, 4);
    kv_close(kv);
}

static void fills_the_fullest_unit_first(void **state)
{
    (void)state;
    struct kv *kv = pool_open(8, 8, false);
    int32_t n;
    assert_true(pool_reserve(kv, 0, 0, 24)); /* unit 0: 0 1 2 */
    assert_true(pool_reserve(kv, 0, 1, 40)); /* 3, unit 1: 4 5 6 7 */
    assert_true(pool_reserve(kv, 0, 2, 8));  /* unit 2: 8 */
    kv_release(kv, 0);                       /* unit 0 holds one, unit 2 holds one */
    kv_trim(kv, 1, 24);                      /* unit 1 holds two */
    assert_true(pool_reserve(kv, 0, 3, 16));
    const uint32_t *blocks = kv_table(kv, 3, &n);
    assert_int_equal(blocks[0] / 4, 1);
    assert_int_equal(blocks[1] / 4, 1);
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

static void memory_is_there_and_distinct(void **state)
{
    (void)state;
    struct kv *kv = pool_open(4, 4, false);
    struct lent lent;
    int32_t n;
    lent_open(&lent, kv);
    assert_true(pool_reserve(kv, 0, 0, 64));
    assert_true(pool_reserve(kv, 1, 1, 64));
    for (uint32_t slot = 0; slot < 2; slot++) {
        const uint32_t *blocks = kv_table(kv, slot, &n);
        const struct kv_layout *l = kv_layout(kv, (int)slot);
        for (int32_t i = 0; i < n; i++) {
            uint32_t per_unit = (uint32_t)l->blocks_per_unit;
            unsigned char *at = lent.base + blocks[i] / per_unit * kv_unit_bytes(kv) +
                                blocks[i] % per_unit * l->block_bytes;
            for (int64_t k = 0; k < l->block_bytes; k++)
                assert_int_equal(at[k], 0);
            memset(at, (int)slot + 1, (size_t)l->block_bytes);
        }
    }
    kv_close(kv);
    lent_close(&lent);
}

/* Units stay closed if there is no memory to open them. */
static void grows_as_far_as_there_is_memory(void **state)
{
    (void)state;
    struct kv *kv = pool_open(2, 8, false);
    struct lent lent;
    lent_open(&lent, kv);
    lent.n_back_most = 5 * POOL_UNIT_BYTES;
    assert_int_equal(kv_grow(kv, 4 * POOL_UNIT_BYTES), 0);
    assert_int_equal(kv_budget(kv)->n_units_open, 2);
    assert_true(kv_is_sound(kv) && kv_is_idle(kv));
    assert_int_equal(kv_grow(kv, 3 * POOL_UNIT_BYTES), 3 * POOL_UNIT_BYTES);
    assert_int_equal(kv_budget(kv)->n_units_free, 5);
    assert_true(kv_is_sound(kv));
    kv_close(kv);
    lent_close(&lent);
}

static void shrinks_and_grows(void **state)
{
    (void)state;
    struct kv *kv = pool_open(6, 8, true);
    assert_true(pool_reserve(kv, 0, 0, 32));
    assert_true(pool_reserve(kv, 0, 1, 32));
    assert_true(pool_reserve(kv, 0, 2, 64)); /* units 2, 3 */
    assert_int_equal(kv_shrink(kv, 3 * POOL_UNIT_BYTES - 5), 2 * POOL_UNIT_BYTES);
    assert_int_equal(kv_open_bytes(kv), 4 * POOL_UNIT_BYTES);
    assert_int_equal(kv_budget(kv)->n_units_open, 3);
    assert_int_equal(kv_busy_closing(kv), 2);
    assert_int_equal(kv_shrink(kv, POOL_UNIT_BYTES), 0); /* that one is closing already */
    assert_int_equal(kv_budget(kv)->n_units_open, 3);
    assert_true(kv_is_sound(kv));
    kv_release(kv, 2);
    assert_int_equal(kv_open_bytes(kv), 3 * POOL_UNIT_BYTES);
    assert_int_equal(kv_busy_closing(kv), UINT32_MAX);
    assert_int_equal(kv_shrink(kv, 0), POOL_UNIT_BYTES); /* reports what closed by itself */
    assert_true(kv_is_sound(kv));
    assert_int_equal(kv_grow(kv, 100 * POOL_UNIT_BYTES), 5 * POOL_UNIT_BYTES);
    assert_int_equal(kv_budget(kv)->n_units_free, 6);
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

static void takes_back_what_was_closing(void **state)
{
    (void)state;
    struct kv *kv = pool_open(4, 4, false);
    assert_true(pool_reserve(kv, 0, 0, 32 * 4 - 8));
    (void)kv_shrink(kv, 2 * POOL_UNIT_BYTES);
    assert_false(pool_reserve(kv, 0, 1, 8)); /* the free block lies in a closing unit */
    assert_int_equal(kv_grow(kv, 2 * POOL_UNIT_BYTES), 0);
    assert_true(pool_reserve(kv, 0, 1, 8));
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

/* A hold that is cut leaves the very blocks that single steps would have taken. */
static void a_cut_hold_equals_steps(void **state)
{
    (void)state;
    enum { N = 5, ROUNDS = 60, DONE = 23 };
    const int32_t start[N] = { 7, 8, 9, 30, 15 };
    struct kv *held = pool_open(40, 40, true), *stepped = pool_open(40, 40, true);
    struct kv_need needs[N];
    for (uint32_t i = 0; i < N; i++) {
        assert_true(pool_reserve(held, 0, i, start[i]));
        assert_true(pool_reserve(stepped, 0, i, start[i]));
        needs[i] = (struct kv_need){ i, start[i] + ROUNDS, start[i] + 1 };
    }
    assert_true(kv_reserve(held, 0, needs, N));
    for (uint32_t i = 0; i < N; i++)
        kv_trim(held, i, start[i] + DONE);
    for (int32_t step = 1; step <= DONE; step++) {
        for (uint32_t i = 0; i < N; i++)
            needs[i] = (struct kv_need){ i, start[i] + step, 0 };
        assert_true(kv_reserve(stepped, 0, needs, N));
    }
    for (uint32_t i = 0; i < N; i++) {
        int32_t n, m;
        const uint32_t *a = kv_table(held, i, &n), *b = kv_table(stepped, i, &m);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, (size_t)n * sizeof(*a));
    }
    assert_memory_equal(kv_budget(held), kv_budget(stepped),
                        kv_budget_bytes(kv_budget(held)->n_services));
    assert_true(kv_is_sound(held));
    kv_close(held);
    kv_close(stepped);
}

/* A request of one service stays while others join, fill the pool and leave, under the same number
 * with other cuts. They leave nothing behind, in pools of every kind. */
static void services_join_and_leave(void **state)
{
    static int32_t tokens[64];
    (void)state;
    for (int k = 0; k < 6; k++) {
        pool_is_by_head = k % 3 == 2;
        const struct kv_service_options first = { .layout = *pool_layout(0) };
        const struct kv_options options = {
            .kind = pool_is_by_head ? KV_HEADS
                    : k % 3 == 1    ? KV_PRIVATE
                                    : KV_MERGED,
            .pool_bytes_max = 16 * POOL_UNIT_BYTES,
            .pool_bytes = 16 * POOL_UNIT_BYTES,
            .unit_bytes = pool_is_by_head ? POOL_HEAD_BYTES : POOL_UNIT_BYTES,
            .n_services_max = 4,
            .bounds = kv_cut_bounds_of((struct kv_layout[]){ *pool_layout(0), *pool_layout(1) }, 2),
            .n_requests_max = POOL_SLOTS,
            .n_tokens_max = POOL_TOKENS,
            .has_prefix_cache = k >= 3,
        };
        struct kv *kv = kv_open(&options);
        kv_add_service(kv, 0, &first);
        assert_true(pool_reserve(kv, 0, 0, 40));
        for (int round = 0; round < 1000; round++) {
            int number = 1 + round % 3;
            const struct kv_service_options next = { .layout = *pool_layout(round % 2),
                                                     .bytes_min = round % 5 * POOL_UNIT_BYTES,
                                                     .bytes_max = 12 * POOL_UNIT_BYTES };
            struct request r = { .service = (uint16_t)number };
            assert_false(kv_has_service(kv, number));
            kv_add_service(kv, number, &next);
            kv_trim(kv, 1, 0); /* the slot was another service's */
            assert_true(pool_reserve(kv, number, 1, 40));
            kv_publish(kv, &r, 1, tokens, 40);
            (void)pool_reserve(kv, number, 2, POOL_TOKENS);
            kv_release(kv, 1);
            assert_int_equal(kv_match(kv, &r, 3, tokens, 40) > 0, k >= 3);
            kv_release(kv, 2);
            kv_release(kv, 3);
            if (round % 50 == 0)
                assert_true(kv_is_sound(kv));
            kv_remove_service(kv, number);
            if (round % 50 == 0)
                assert_true(kv_is_sound(kv));
            assert_int_equal(kv_budget(kv)->n_units_cached, 0);
        }
        kv_release(kv, 0);
        assert_true(kv_is_idle(kv) && kv_is_sound(kv));
        kv_close(kv);
    }
    pool_is_by_head = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_join_and_leave),
        cmocka_unit_test(reserves_all_or_nothing),
        cmocka_unit_test(fills_the_fullest_unit_first),
        cmocka_unit_test(memory_is_there_and_distinct),
        cmocka_unit_test(grows_as_far_as_there_is_memory),
        cmocka_unit_test(shrinks_and_grows),
        cmocka_unit_test(takes_back_what_was_closing),
        cmocka_unit_test(a_cut_hold_equals_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
