/* The head-wise pool: any service takes units from anywhere. Also tables of units, closing, and the
 * mistakes that its self-check must notice. */
#include "test.h"
#include "kv/pool.h"
#include "pool_fixture.h"

static struct kv *open_heads(int64_t n, int64_t n_max, bool has_prefix_cache)
{
    pool_is_by_head = true;
    return pool_open(n, n_max, has_prefix_cache);
}

static void tables_name_units_that_nobody_shares(void **state)
{
    (void)state;
    struct kv *kv = open_heads(4, 4, false); /* 64 units */
    bool is_seen[64] = { false };
    assert_true(pool_reserve(kv, 0, 0, 24)); /* 3 blocks of 4 heads */
    assert_true(pool_reserve(kv, 1, 1, 40)); /* 3 blocks of 5 */
    assert_true(pool_reserve(kv, 0, 0, 40)); /* 2 more */
    const int32_t n_blocks[2] = { 5, 3 }, n_heads[2] = { 4, 5 };
    for (uint32_t slot = 0; slot < 2; slot++) {
        int32_t n;
        uint32_t stride;
        const uint32_t *units = kv_table_heads(kv, slot, &stride);
        (void)kv_table(kv, slot, &n);
        assert_int_equal(n, n_blocks[slot]);
        for (int32_t head = 0; head < n_heads[slot]; head++)
            for (int32_t i = 0; i < n; i++) {
                uint32_t unit = units[(uint32_t)head * stride + (uint32_t)i];
                assert_true(unit < 64 && !is_seen[unit]);
                is_seen[unit] = true;
            }
    }
    assert_int_equal(kv_budget(kv)->services[0].n_units, 20);
    assert_int_equal(kv_budget(kv)->services[1].n_units, 15);
    assert_int_equal(kv_budget(kv)->n_units_free, 64 - 35);
    int64_t most;
    assert_int_equal(kv_table_bytes(kv, &most), 4 * 35);
    kv_release(kv, 0);
    assert_int_equal(kv_table_bytes(kv, &most), 4 * 15);
    assert_int_equal(most, 4 * 35);
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

/* Units that one service leaves in pieces serve the other whole, because no unit belongs to a
 * service. */
static void nothing_is_lost_between_models(void **state)
{
    (void)state;
    struct kv *kv = open_heads(4, 4, false);
    for (uint32_t slot = 0; slot < 16; slot++)
        assert_true(pool_reserve(kv, 0, slot, 8)); /* all 64 units */
    assert_false(pool_reserve(kv, 0, 16, 1));
    for (uint32_t slot = 0; slot < 16; slot += 3)
        kv_release(kv, slot); /* 6 blocks: 24 units */
    assert_false(pool_reserve(kv, 1, 20, 16 * 5));
    assert_true(pool_reserve(kv, 1, 20, 16 * 4));
    assert_int_equal(kv_budget(kv)->n_units_free, 4);
    assert_int_equal(kv_budget_most_blocks(kv_budget(kv), 1), 12);
    assert_true(pool_reserve(kv, 0, 21, 8));
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

static void units_close_as_their_blocks_leave(void **state)
{
    (void)state;
    struct kv *kv = open_heads(2, 2, true); /* 32 units */
    static int32_t tokens[64];
    struct request r = { .service = 0 };
    assert_true(pool_reserve(kv, 0, 0, 56)); /* 28 units */
    kv_publish(kv, &r, 0, tokens, 56);
    assert_int_equal(kv_shrink(kv, 8 * POOL_HEAD_BYTES), 4 * POOL_HEAD_BYTES);
    assert_int_equal(kv_busy_closing(kv), 0);
    assert_int_equal(kv_budget(kv)->n_units_open, 24);
    assert_true(kv_is_sound(kv));
    assert_int_equal(kv_grow(kv, 2 * POOL_HEAD_BYTES), 2 * POOL_HEAD_BYTES); /* and 4 taken back */
    assert_int_equal(kv_budget(kv)->n_units_open, 30);
    assert_int_equal(kv_busy_closing(kv), UINT32_MAX);
    (void)kv_shrink(kv, 10 * POOL_HEAD_BYTES);
    kv_release(kv, 0); /* its first blocks stay cached, except closing ones */
    assert_int_equal(kv_open_bytes(kv), 20 * POOL_HEAD_BYTES);
    assert_int_equal(kv_shrink(kv, 0), 8 * POOL_HEAD_BYTES);
    assert_true(kv_is_sound(kv) && kv_is_idle(kv));
    assert_int_equal(kv_match(kv, &r, 1, tokens, 64), 40);
    kv_release(kv, 1);
    (void)kv_shrink(kv, 19 * POOL_HEAD_BYTES); /* cached blocks go at once */
    assert_int_equal(kv_open_bytes(kv), POOL_HEAD_BYTES);
    assert_int_equal(kv_match(kv, &r, 1, tokens, 64), 0);
    assert_false(pool_reserve(kv, 0, 1, 1));
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

/* A service that needs units takes those of cached blocks, the oldest first, of any service. */
static void evicts_whole_blocks(void **state)
{
    (void)state;
    struct kv *kv = open_heads(1, 1, true); /* 16 units */
    static int32_t tokens[64];
    struct request r = { .service = 1 };
    struct kv_stats stats;
    assert_true(pool_reserve(kv, 1, 0, 48)); /* 15 */
    kv_publish(kv, &r, 0, tokens, 48);
    kv_release(kv, 0);
    assert_int_equal(kv_budget(kv)->n_units_free, 16);
    assert_int_equal(kv_budget(kv)->n_units_cached, 15);
    assert_int_equal(kv_budget_idle_blocks(kv_budget(kv), 0), 0);
    assert_true(pool_reserve(kv, 0, 1, 8)); /* needs 4 units: one block of 5 goes, its tail first */
    assert_int_equal(kv_budget(kv)->n_units_cached, 10);
    assert_int_equal(kv_budget(kv)->n_units_free, 12);
    kv_stats(kv, 1, &stats);
    assert_int_equal(stats.n_evicted, 1);
    assert_int_equal(kv_match(kv, &r, 2, tokens, 64), 32);
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

static void notices_mistakes(void **state)
{
    (void)state;
    struct kv *kv = pool_fill(open_heads(6, 8, true));
    int32_t n;
    uint32_t stride, *entry = (uint32_t *)(uintptr_t)kv_table_heads(kv, 1, &stride);
    uint32_t block = kv_table(kv, 1, &n)[0], unit = kv->heads.first_units[block];
    kv->sizes[1]--;
    assert_false(kv_is_sound(kv));
    kv->sizes[1]++;
    kv->owners[1] = 1;
    assert_false(kv_is_sound(kv));
    kv->owners[1] = 0;
    entry[stride]++;
    assert_false(kv_is_sound(kv));
    entry[stride]--;
    kv->heads.states[unit] = KV_UNIT_FREE;
    assert_false(kv_is_sound(kv));
    kv->heads.states[unit] = KV_UNIT_ACTIVE;
    kv->budget.n_units_free--;
    assert_false(kv_is_sound(kv));
    kv->budget.n_units_free++;
    kv->budget.services[1].n_units++;
    assert_false(kv_is_sound(kv));
    kv->budget.services[1].n_units--;
    kv->services[0].stats.n_blocks_cached++;
    assert_false(kv_is_sound(kv));
    kv->services[0].stats.n_blocks_cached--;
    uint32_t first = kv->heads.first_free;
    kv->heads.first_free = kv->heads.next[first]; /* a unit is lost */
    assert_false(kv_is_sound(kv));
    kv->heads.first_free = first;
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_name_units_that_nobody_shares),
        cmocka_unit_test(nothing_is_lost_between_models),
        cmocka_unit_test(units_close_as_their_blocks_leave),
        cmocka_unit_test(evicts_whole_blocks),
        cmocka_unit_test(notices_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
