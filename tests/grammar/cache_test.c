/* The cache of grammars: what was compiled is shared, and what was refused is refused again without
 * a compilation. */
#include "grammar/cache.h"
#include "test.h"

#include "base/num.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

static const char costly[] = "([a-c]?[b-d]?[c-e]?[d-f]?){9000}{9000}";

static enum status take(struct grammar_cache *cache, const char *text, struct fault *fault)
{
    const struct grammar *grammar;
    enum status status = grammar_cache_take(cache, GRAMMAR_REGEX, view_text(text), &grammar, fault);
    if (status == STATUS_OK)
        grammar_cache_put(cache, grammar);
    return status;
}

static void refusals_are_remembered(void **state)
{
    struct grammar_cache *cache = grammar_cache_open(16 << 20);
    struct fault first, again;
    char text[32];
    (void)state;
    int64_t begin_ns = time_now_ns();
    enum status status = take(cache, costly, &first);
    int64_t first_ns = time_now_ns() - begin_ns;
    assert_true(status != STATUS_OK && first.text[0] != '\0');
    int64_t again_ns = INT64_MAX; /* the least: other work may keep the core meanwhile */
    for (int i = 0; i < 20; i++) {
        memset(&again, 0, sizeof again);
        begin_ns = time_now_ns();
        assert_int_equal(take(cache, costly, &again), status);
        again_ns = min_i64(again_ns, time_now_ns() - begin_ns);
        assert_string_equal(again.text, first.text);
    }
    printf("refused in %.3f ms, again in %.3f ms\n", (double)first_ns / 1e6,
           (double)again_ns / 1e6);
    assert_true(again_ns * 5 < first_ns);
    for (int i = 0; i < 1000; i++) { /* the oldest leave */
        snprintf(text, sizeof text, "(a%d", i);
        assert_true(take(cache, text, &again) != STATUS_OK);
        snprintf(text, sizeof text, "a%d", i);
        assert_int_equal(take(cache, text, &again), STATUS_OK);
    }
    assert_int_equal(take(cache, costly, NULL), status);
    grammar_cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refusals_are_remembered) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
