/* Look-up: the longest repeated suffix of random texts, as a plain search finds it. */
#include "../test.h"
#include "base/rng.h"
#include "engine/lookup.h"

static int32_t equal_behind(const int32_t *tokens, int32_t n, int32_t end)
{
    int32_t k = 0;
    while (k < ENGINE_LOOKUP_MOST && k < end && tokens[end - 1 - k] == tokens[n - 1 - k])
        k++;
    return k;
}

/* Tries all places, the first first. */
static int32_t look_up_plainly(const int32_t *tokens, int32_t n)
{
    int32_t from = 0, best = ENGINE_LOOKUP_LEAST;
    for (int32_t end = 1; end < n; end++)
        if (equal_behind(tokens, n, end) >= best) {
            best = equal_behind(tokens, n, end);
            from = end;
        }
    return from;
}

static void finds_what_a_plain_search_finds(void **state)
{
    enum { N = 200, N_TEXTS = 3000 };
    int32_t tokens[N];
    int n_found = 0, n_none = 0;
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(3), 0);
    for (int i = 0; i < N_TEXTS; i++) {
        int32_t n = (int32_t)rng_below(&rng, N + 1);
        uint32_t n_vocabulary = 1 + (uint32_t)rng_below(&rng, i % 2 == 0 ? 4 : 300);
        for (int32_t k = 0; k < n; k++)
            tokens[k] = (int32_t)rng_below(&rng, n_vocabulary);
        for (int32_t k = n / 2; k < n && i % 3 == 0; k++) /* its second half repeats the first */
            tokens[k] = tokens[k - n / 2];
        int32_t from = engine_lookup(tokens, n);
        assert_int_equal(from, look_up_plainly(tokens, n));
        assert_true(from >= 0 && from < (n > 0 ? n : 1));
        n_found += from > 0;
        n_none += from == 0;
    }
    assert_true(n_found > 500 && n_none > 500);
}

static void continues_behind_the_last_of_the_longest(void **state)
{
    static const int32_t text[] = { 7, 1, 2, 3, 8, 1, 2, 3, 9, 2, 3, 4, 1, 2, 3 };
    static const int32_t same[] = { 5, 5, 5, 5 };
    (void)state;
    assert_int_equal(engine_lookup(text, 15), 8);
    assert_int_equal(engine_lookup(text, 8), 4);
    assert_int_equal(engine_lookup(text, 7), 3);
    assert_int_equal(engine_lookup(text, 5), 0);
    assert_int_equal(engine_lookup(same, 4), 3); /* it runs on into itself */
    assert_int_equal(engine_lookup(same, 2), 0);
    assert_int_equal(engine_lookup(same, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_a_plain_search_finds),
        cmocka_unit_test(continues_behind_the_last_of_the_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
