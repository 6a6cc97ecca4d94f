/* The index of blocks on disk against a list that is searched from one end to the other. */
#include "../test.h"
#include "base/rng.h"
#include "kv/disk_index.h"
#include <string.h>

enum { N_MAX = 20, N_NAMES = 40 };
static struct hash128 list[N_MAX]; /* oldest first */
static int n_list;

static int place_of(struct hash128 name)
{
    for (int i = 0; i < n_list; i++)
        if (list[i].low == name.low && list[i].high == name.high)
            return i;
    return -1;
}

static void strike(int at)
{
    memmove(&list[at], &list[at + 1], (size_t)(n_list - at - 1) * sizeof *list);
    n_list--;
}

static void it_keeps_the_order_of_use(void **state)
{
    struct kv_disk_index index;
    struct rng rng;
    (void)state;
    n_list = 0;
    kv_disk_index_open(&index, N_MAX);
    rng_init(&rng, test_seed(5), 0);
    for (int step = 0; step < 20000; step++) {
        struct hash128 name = { 1 + rng_below(&rng, N_NAMES), 5 }, oldest;
        int at = place_of(name);
        assert_int_equal(kv_disk_index_has(&index, name), at >= 0);
        switch (rng_below(&rng, 4)) {
        case 0:
            kv_disk_index_remove(&index, name);
            if (at >= 0)
                strike(at);
            break;
        case 1:
            kv_disk_index_touch(&index, name);
            if (at >= 0) {
                strike(at);
                list[n_list++] = name;
            }
            break;
        default:
            assert_int_equal(kv_disk_index_add(&index, name, 10), at < 0 && n_list < N_MAX);
            if (at < 0 && n_list < N_MAX)
                list[n_list++] = name;
        }
        assert_int_equal(index.n, n_list);
        assert_int_equal(index.n_bytes, 10 * n_list);
        assert_int_equal(kv_disk_index_oldest(&index, &oldest), n_list > 0);
        if (n_list > 0)
            assert_true(oldest.low == list[0].low && oldest.high == list[0].high);
    }
    kv_disk_index_close(&index);
}

/* Names are 128 bits, and the map sees half of them. */
static void half_a_name_is_not_enough(void **state)
{
    struct kv_disk_index index;
    (void)state;
    kv_disk_index_open(&index, 4);
    assert_true(kv_disk_index_add(&index, (struct hash128){ 1, 2 }, 1));
    assert_false(kv_disk_index_has(&index, (struct hash128){ 1, 3 }));
    assert_false(kv_disk_index_add(&index, (struct hash128){ 1, 3 }, 1));
    kv_disk_index_remove(&index, (struct hash128){ 1, 3 });
    kv_disk_index_touch(&index, (struct hash128){ 1, 3 });
    assert_true(kv_disk_index_has(&index, (struct hash128){ 1, 2 }));
    kv_disk_index_close(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(it_keeps_the_order_of_use),
                                        cmocka_unit_test(half_a_name_is_not_enough) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
