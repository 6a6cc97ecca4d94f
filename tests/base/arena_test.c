/* Tests of arenas and piles. */
#include "test.h"
#include "base/arena.h"

static void test_arena_takes_until_full(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 256);
    char *a = arena_take(&arena, 3, 1);
    uint64_t *b = arena_take(&arena, 8, 8);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal((uintptr_t)b % 8, 0);
    assert_int_equal(arena.used, 16);
    assert_null(arena_take(&arena, 241, 1));
    assert_null(arena_take(&arena, SIZE_MAX, 64));
    assert_non_null(arena_take(&arena, 240, 1));
    assert_null(arena_take(&arena, 1, 1));
    assert_non_null(arena_take(&arena, 0, 1));
    assert_int_equal(arena.used_max, 256);
    arena_free(&arena);
}

static void test_arena_reset_gives_zeroes_again(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 128);
    memset(arena_take(&arena, 128, 64), 0xFF, 128);
    arena_reset(&arena);
    assert_int_equal(arena.used, 0);
    assert_int_equal(arena.used_max, 128);
    const unsigned char *p = arena_take(&arena, 64, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(p[i], 0);
    arena_free(&arena);
}

static void take_misaligned(void *arg)
{
    if (arena_take(arg, 1, 3) == NULL)
        return;
}

static void test_arena_alignment_is_checked(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 128);
    test_dies(take_misaligned, &arena);
    arena_free(&arena);
}

static void test_pile_grows(void **state)
{
    (void)state;
    struct pile pile;
    pile_init(&pile);
    char *texts[1000];
    for (int i = 0; i < 1000; i++) {
        char text[32];
        int n = snprintf(text, sizeof(text), "word %d", i);
        texts[i] = pile_text(&pile, text, (size_t)n);
        assert_int_equal((uintptr_t)texts[i] % 16, 0);
        if (i % 100 == 0) { /* a big record between small ones */
            unsigned char *big = pile_take(&pile, 100000);
            assert_int_equal(big[0] | big[99999], 0);
            memset(big, 0xEE, 100000);
        }
        unsigned char *small = pile_take(&pile, 700);
        assert_int_equal(small[0] | small[699], 0);
        memset(small, 0xDD, 700);
    }
    for (int i = 0; i < 1000; i++) {
        char text[32];
        snprintf(text, sizeof(text), "word %d", i);
        assert_string_equal(texts[i], text);
    }
    assert_true(pile.n_bytes >= 1000 * 700 + 10 * 100000);
    assert_string_equal(pile_text(&pile, NULL, 0), "");
    pile_free(&pile);
    assert_null(pile.chunks);
    pile_free(&pile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_takes_until_full),
        cmocka_unit_test(test_arena_reset_gives_zeroes_again),
        cmocka_unit_test(test_arena_alignment_is_checked),
        cmocka_unit_test(test_pile_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
