/* Units and blocks from the inside: states and counts after each transition. */
#include "test.h"
#include "kv/pool.h"
#include "pool_fixture.h"

static uint32_t take(struct kv *kv, int service)
{
    uint32_t id;
    kv_pool_take(kv, service, &id, 1);
    return kv_pool_index(kv, service, id);
}

static void a_unit_goes_its_ways(void **state)
{
    (void)state;
    struct kv *kv = pool_open(2, 3, true);
    assert_int_equal(kv->budget.n_units_free, 2);
    assert_int_equal(kv->units[2].state, KV_UNIT_CLOSED);
    uint32_t a = take(kv, 0), b = take(kv, 0);
    assert_int_equal(a, 0);
    assert_int_equal(b, 1);
    assert_int_equal(kv->units[0].state, KV_UNIT_ACTIVE);
    assert_int_equal(kv->budget.services[0].n_blocks_free, 2);
    assert_true(map_put(&kv->index, 42, a));
    kv->blocks[a].name.low = 42;
    kv->blocks[a].is_published = true;
    kv_pool_put(kv, a);
    assert_int_equal(kv->budget.services[0].n_blocks_cached, 1);
    kv_pool_put(kv, b);
    assert_int_equal(kv->units[0].state, KV_UNIT_CACHED);
    assert_int_equal(kv->budget.n_units_free, 2);
    assert_int_equal(kv->budget.n_units_cached, 1);
    assert_true(kv_pool_share(kv, a));
    assert_int_equal(kv->units[0].state, KV_UNIT_ACTIVE);
    assert_int_equal(kv->budget.services[0].n_blocks_free, 3);
    kv_pool_put(kv, a);
    kv_pool_evict(kv, a);
    assert_int_equal(kv->units[0].state, KV_UNIT_FREE);
    assert_int_equal(kv->budget.n_units_cached, 0);
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

static void a_closing_unit_ends_closed(void **state)
{
    (void)state;
    struct kv *kv = pool_open(2, 2, true);
    uint32_t a = take(kv, 1), b = take(kv, 1);
    kv_pool_close_unit(kv, 0);
    assert_true(kv->units[0].is_closing);
    assert_int_equal(kv->budget.services[1].n_blocks_free, 0);
    assert_int_not_equal(take(kv, 1) / kv->stride, 0);
    kv_pool_put(kv, a);
    assert_int_equal(kv->units[0].state, KV_UNIT_ACTIVE);
    kv_pool_put(kv, b);
    assert_int_equal(kv->units[0].state, KV_UNIT_CLOSED);
    assert_int_equal(kv->n_units_closing, 0);
    kv_close(kv);
}

/* Open units that were never used are not written. They close, open and are taken as others are,
 * after those that came back. */
static void a_unit_is_not_written_before_it_is_used(void **state)
{
    (void)state;
    struct kv *kv = pool_open(6, 8, false);
    assert_int_equal(kv->n_units_used, 0);
    assert_int_equal(kv->budget.n_units_free, 6);
    uint32_t a = take(kv, 1), b = take(kv, 0);
    assert_int_equal(a / kv->stride, 0);
    assert_int_equal(b / kv->stride, 1);
    assert_int_equal(kv->n_units_used, 2);
    uint32_t id = kv_pool_id(kv, 1, a);
    kv_pool_put_all(kv, 1, &id, 1);
    assert_int_equal(take(kv, 0) / kv->stride, 1);
    assert_int_equal(take(kv, 1) / kv->stride, 0);
    assert_int_equal(kv_shrink(kv, 5 * POOL_UNIT_BYTES), 4 * POOL_UNIT_BYTES);
    assert_int_equal(kv->budget.n_units_free, 0);
    assert_true(kv->units[1].is_closing);
    assert_int_equal(kv_grow(kv, 3 * POOL_UNIT_BYTES), 3 * POOL_UNIT_BYTES);
    assert_false(kv->units[1].is_closing);
    assert_int_equal(kv->budget.n_units_free, 3);
    assert_int_equal(kv->n_units_used, 2);
    kv_close(kv);
}

static void names_are_the_services_own(void **state)
{
    (void)state;
    struct kv *kv = pool_open(4, 4, false);
    for (uint32_t id = 0; id < 12; id++)
        assert_int_equal(kv_pool_id(kv, 1, kv_pool_index(kv, 1, id)), id);
    assert_int_equal(kv_pool_index(kv, 1, 4), 5); /* unit 1, block 1, four records a unit */
    kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_goes_its_ways),
        cmocka_unit_test(a_closing_unit_ends_closed),
        cmocka_unit_test(a_unit_is_not_written_before_it_is_used),
        cmocka_unit_test(names_are_the_services_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
