/* Tests of memory: zeroed, aligned, grown with a zeroed tail. */
#include "test.h"
#include "base/mem.h"
#include "base/pile.h"
#include "base/str.h"
#include "base/team.h"
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* posix_memalign fails n_fails times from call number fails_at on. With 0 it never fails. */
static _Thread_local int fails_at, n_fails;
int __real_posix_memalign(void **p, size_t align, size_t n_bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t n_bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t n_bytes)
{
    if (fails_at > 0 && --fails_at == 0 && n_fails > 0) {
        n_fails--;
        fails_at = 1;
        return ENOMEM;
    }
    return __real_posix_memalign(p, align, n_bytes);
}

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

/* Returns whether the mapping that holds the address was advised to use huge pages. */
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

static void test_accounts_count_what_is_held(void **state)
{
    (void)state;
    struct mem_account root = { .n_bytes_max = 4000 }, one = { .parent = &root };
    assert_null(mem_account_use(&one));
    void *p = mem_try(1000);
    assert_non_null(p);
    assert_in_range(mem_account_bytes(&one), 1000, 1100);
    assert_int_equal(mem_account_bytes(&root), mem_account_bytes(&one));
    assert_null(mem_try(3000)); /* more than the root account has left */
    void *more = mem_take(3000);
    assert_true(mem_account_bytes(&root) > root.n_bytes_max); /* overdrawn */
    void *library = mem_library_take(10);
    library = mem_library_grow(library, 500);
    assert_int_equal((uintptr_t)library % 16, 0);
    mem_library_give(library);
    mem_give(more);
    assert_ptr_equal(mem_account_use(NULL), &one);
    void *other = mem_take(100); /* charged to none */
    mem_give(p);                 /* whichever account is in use */
    assert_int_equal(mem_account_bytes(&one), 0);
    assert_int_equal(mem_account_bytes(&root), 0);
    mem_give(other);
}

struct work {
    struct str text;
    struct pile pile;
    int n_rounds;
    bool nests;
    void *kept;
    int64_t n_inner;
};

static void do_work(void *arg)
{
    struct work *work = arg;
    work->kept = mem_take(100);
    for (int i = 0; i < work->n_rounds; i++) {
        str_add(&work->text, "0123456789", 10);
        memset(pile_take(&work->pile, 1000), 1, 1000);
        mem_give(mem_take(5000)); /* what is given back counts no more */
    }
    if (work->nests) {
        struct work inner = { .n_rounds = 1000 };
        work->n_inner = mem_guard(50000, do_work, &inner);
        assert_true(work->n_inner > 0);
        inner = (struct work){ .n_rounds = 1 };
        assert_int_equal(mem_guard(INT64_MAX, do_work, &inner), 0);
        mem_give(inner.kept); /* the outer guard gives the rest back */
    }
}

static void free_work(struct work *work)
{
    str_free(&work->text);
    pile_free(&work->pile);
    mem_give(work->kept);
}

static void test_a_guard_gives_all_back_when_there_is_not_enough(void **state)
{
    (void)state;
    struct mem_account root = { .n_bytes_max = 1 << 20 };
    (void)mem_account_use(&root);
    struct work work = { .n_rounds = 100 };
    assert_int_equal(mem_guard(INT64_MAX, do_work, &work), 0);
    assert_true(mem_account_bytes(&root) > 100000);
    free_work(&work);
    assert_int_equal(mem_account_bytes(&root), 0);
    work = (struct work){ .n_rounds = 100000 };
    assert_true(mem_guard(INT64_MAX, do_work, &work) > 1 << 19); /* the account's limit */
    assert_int_equal(mem_account_bytes(&root), 0);
    work = (struct work){ .n_rounds = 1000 };
    assert_in_range(mem_guard(200000, do_work, &work), 200000, 400000); /* its own */
    assert_int_equal(mem_account_bytes(&root), 0);
    assert_ptr_equal(mem_account_use(NULL), &root);
}

static void test_a_guard_ends_wherever_the_system_has_no_more(void **state)
{
    (void)state;
    struct mem_account root = { 0 };
    (void)mem_account_use(&root);
    int n_left = 0;
    for (int at = 1, is_done = 0; !is_done; at++) {
        struct work work = { .n_rounds = 100, .nests = at % 2 == 0 };
        n_fails = 1;
        fails_at = at;
        is_done = mem_guard(INT64_MAX, do_work, &work) == 0 && n_fails == 1;
        n_left += !is_done;
        if (n_fails == 0 && work.n_inner == 0)
            assert_int_equal(mem_account_bytes(&root), 0);
        else if (!work.nests || is_done)
            free_work(&work);
        fails_at = 0;
        if (!is_done && mem_account_bytes(&root) > 0)
            free_work(&work); /* the inner guard alone met it */
    }
    assert_true(n_left > 100);
    (void)mem_account_use(NULL);
}

static void take_on_a_thread(void *arg)
{
    struct mem_account *account = arg;
    (void)mem_account_use(account);
    for (int i = 0; i < 20000; i++)
        mem_give(mem_try((size_t)i % 300));
}

static void test_threads_share_an_account(void **state)
{
    (void)state;
    struct mem_account root = { .n_bytes_max = 700 };
    struct thread *threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = thread_start("taker", take_on_a_thread, &root);
    for (int i = 0; i < 3; i++)
        thread_join(threads[i]);
    assert_int_equal(mem_account_bytes(&root), 0);
}

static void test_the_reserve_bridges_a_shortage(void **state)
{
    (void)state;
    assert_true(mem_reserve_fill());
    assert_false(mem_is_short());
    fails_at = 1;
    n_fails = 8; /* as many parts of the reserve are tried */
    void *p = mem_take(100);
    assert_true(mem_is_short());
    fails_at = 0;
    assert_true(mem_reserve_fill());
    assert_false(mem_is_short());
    fails_at = n_fails = 1;
    assert_null(mem_try(100)); /* which may fail, and leaves the reserve alone */
    assert_false(mem_is_short());
    fails_at = 1;
    n_fails = 1000;
    for (int i = 0; i < 10; i++)
        assert_null(mem_library_take(100)); /* nothing helps */
    fails_at = 0;
    assert_true(mem_is_short() && mem_reserve_fill());
    mem_give(p);
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
        cmocka_unit_test(test_accounts_count_what_is_held),
        cmocka_unit_test(test_a_guard_gives_all_back_when_there_is_not_enough),
        cmocka_unit_test(test_a_guard_ends_wherever_the_system_has_no_more),
        cmocka_unit_test(test_threads_share_an_account),
        cmocka_unit_test(test_the_reserve_bridges_a_shortage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
