/* Tests of piles. */
#include "test.h"
#include "base/pile.h"

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
        cmocka_unit_test(test_pile_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
