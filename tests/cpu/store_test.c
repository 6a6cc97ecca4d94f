/* The store of packed weights: what is taken stays, what is given back is gone. */
#include "test.h"

#include "cpu/store.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MANY = 300, ODD_BYTES = 777777 };

/* Whole pages in memory of those that lie inside. */
static size_t resident_pages(const unsigned char *at, size_t n_bytes)
{
    static unsigned char is_there[1024];
    unsigned char *first = (unsigned char *)(uintptr_t)align_up_u64((uintptr_t)at, 4096);
    size_t n = (n_bytes - (size_t)(first - at)) / 4096, count = 0;
    assert_true(n <= sizeof(is_there));
    assert_int_equal(mincore(first, n * 4096, is_there), 0);
    for (size_t i = 0; i < n; i++)
        count += is_there[i] & 1;
    return count;
}

static void what_is_taken_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct cpu_store *store = cpu_store_open();
    struct cpu_stored all[MANY]; /* several regions */
    for (int i = 0; i < MANY; i++) {
        all[i] = cpu_store_take(store, ODD_BYTES);
        assert_non_null(all[i].at);
        assert_int_equal((uintptr_t)all[i].at % 64, 0);
        for (size_t k = 0; k < ODD_BYTES; k += 997)
            assert_int_equal(all[i].at[k], 0);
        memset(all[i].at, i % 255 + 1, ODD_BYTES);
    }
    for (int i = 0; i < MANY; i++)
        for (size_t k = 0; k < ODD_BYTES; k += 997)
            assert_int_equal(all[i].at[k], i % 255 + 1);
    cpu_store_close(store); /* what is held lives on */
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(all[i].at[ODD_BYTES - 1], i % 255 + 1);
        cpu_store_give(&all[i]);
        assert_null(all[i].at);
        cpu_store_give(&all[i]);
    }
}

static void pages_go_while_the_neighbours_stay(void **state)
{
    (void)state;
    struct cpu_store *store = cpu_store_open();
    struct cpu_stored first = cpu_store_take(store, ODD_BYTES);
    struct cpu_stored second = cpu_store_take(store, ODD_BYTES);
    memset(first.at, 1, ODD_BYTES);
    memset(second.at, 2, ODD_BYTES);
    const unsigned char *was = first.at;
    assert_true(resident_pages(was, ODD_BYTES) > 0);
    cpu_store_give(&first);
    assert_int_equal(resident_pages(was, ODD_BYTES), 0);
    for (size_t k = 0; k < ODD_BYTES; k++)
        assert_int_equal(second.at[k], 2);
    cpu_store_give(&second);
    cpu_store_close(store);
}

static void what_no_machine_has_is_refused(void **state)
{
    (void)state;
    struct cpu_store *store = cpu_store_open();
    assert_null(cpu_store_take(store, SIZE_MAX).at);
    assert_null(cpu_store_take(store, SIZE_MAX - 100).at);
    assert_null(cpu_store_take(store, (size_t)1 << 60).at);
    struct cpu_stored large = cpu_store_take(store, CPU_STORE_REGION_BYTES + 1);
    assert_non_null(large.at);
    large.at[CPU_STORE_REGION_BYTES] = 1;
    cpu_store_give(&large);
    cpu_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_zeroed_aligned_and_apart),
        cmocka_unit_test(pages_go_while_the_neighbours_stay),
        cmocka_unit_test(what_no_machine_has_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
