/* Tests of memory: zeroed, aligned, grown with a zeroed tail. */
#include "test.h"
#include "base/mem.h"
#include <stdio.h>
#include <unistd.h>

static bool is_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

static void test_take_is_zeroed_and_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0, 1, 63, 64, 4097, 1 << 20, (1 << 20) + 1, (5 << 20) + 12345 };
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            unsigned char *p = mem_take(sizes[i]);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 64, 0);
            assert_true(is_zero(p, sizes[i]));
            memset(p, 0xA5, sizes[i]); /* what the next round must not see */
            mem_give(p);
        }
    }
    mem_give(NULL);
}

static void test_grow_keeps_and_zeroes(void **state)
{
    (void)state;
    unsigned char *p = mem_grow(NULL, 0, 10);
    memset(p, 7, 10);
    p = mem_grow(p, 10, 1000);
    for (int i = 0; i < 10; i++)
        assert_int_equal(p[i], 7);
    assert_true(is_zero(p + 10, 990));
    p = mem_grow(p, 1000, 5);
    assert_int_equal(p[4], 7);
    mem_give(p);
}

static void test_try_refuses(void **state)
{
    (void)state;
    assert_null(mem_try(SIZE_MAX));
    assert_null(mem_try((size_t)PTRDIFF_MAX + 1));
    void *p = mem_try(100);
    assert_non_null(p);
    mem_give(p);
}

/* Has the mapping that the address lies in been advised so? */
static bool is_huge(const void *p)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    char line[512];
    bool is_inside = false, has_flag = false;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            is_inside = (uintptr_t)p >= start && (uintptr_t)p < end;
        else if (is_inside && strncmp(line, "VmFlags:", 8) == 0)
            has_flag = strstr(line, " hg") != NULL;
    }
    fclose(file);
    return has_flag;
}

static void test_huge_pages_are_wished_inside(void **state)
{
    (void)state;
    enum { BYTES = (8 << 20) + 100 };
    unsigned char *p = mem_take(BYTES);
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
        skip();
    mem_wish_huge(p + 1, 4000); /* no whole page */
    assert_false(is_huge(p + BYTES / 2));
    mem_wish_huge(p, BYTES);
    assert_true(is_huge(p + BYTES / 2));
    assert_false(is_huge(p)); /* its page begins before it */
    assert_true(is_zero(p, BYTES));
    mem_give(p);
}

static void take_too_much(void *arg)
{
    (void)arg;
    mem_give(mem_take(SIZE_MAX));
}

static void test_take_refuses(void **state)
{
    (void)state;
    test_refuses(take_too_much, NULL,
                 "out of memory: the system does not give 18446744073709551615");
}

static void test_copy_text(void **state)
{
    (void)state;
    char *copy = mem_copy_text("shoal");
    assert_string_equal(copy, "shoal");
    mem_give(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_is_zeroed_and_aligned),
        cmocka_unit_test(test_grow_keeps_and_zeroes),
        cmocka_unit_test(test_huge_pages_are_wished_inside),
        cmocka_unit_test(test_try_refuses),
        cmocka_unit_test(test_take_refuses),
        cmocka_unit_test(test_copy_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
