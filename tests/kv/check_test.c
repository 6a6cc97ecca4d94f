/* The self-check notices each broken invariant, which the test breaks by hand. */
#include "test.h"
#include "kv/pool.h"
#include "pool_fixture.h"

static struct kv *some_pool(void)
{
    return pool_fill(pool_open(6, 8, true));
}

static void notices_a_lost_reference(void **state)
{
    (void)state;
    struct kv *kv = some_pool();
    kv->sizes[1]--;
    assert_false(kv_is_sound(kv));
    kv_close(kv);
}

static void notices_a_wrong_count(void **state)
{
    (void)state;
    struct kv *kv = some_pool();
    kv->budget.n_units_free++;
    assert_false(kv_is_sound(kv));
    kv->budget.n_units_free--;
    kv->budget.services[1].n_blocks_free--;
    assert_false(kv_is_sound(kv));
    kv->budget.services[1].n_blocks_free++;
    kv->services[0].stats.n_blocks_cached++;
    assert_false(kv_is_sound(kv));
    kv_close(kv);
}

static void notices_a_block_of_another(void **state)
{
    (void)state;
    struct kv *kv = some_pool();
    kv->owners[1] = 1;
    assert_false(kv_is_sound(kv));
    kv_close(kv);
}

static void notices_a_lost_name(void **state)
{
    (void)state;
    struct kv *kv = some_pool();
    assert_int_equal(kv->index.n, 5);
    for (uint32_t i = 0; i < kv->n_units_max * kv->stride; i++)
        if (kv->blocks[i].is_published)
            (void)map_remove(&kv->index, kv->blocks[i].name.low);
    assert_false(kv_is_sound(kv));
    kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_a_lost_reference),
        cmocka_unit_test(notices_a_wrong_count),
        cmocka_unit_test(notices_a_block_of_another),
        cmocka_unit_test(notices_a_lost_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
