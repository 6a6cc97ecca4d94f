/* Which of some names is meant. */
#include "test.h"
#include "base/near.h"
#include <string.h>

static void check(const char *written, const char *meant)
{
    static const char *const names[] = { "serve", "run", "load", "unload", "models", "kv_bytes" };
    struct near near = { .written = written };
    char out[NEAR_BYTES];
    for (size_t i = 0; i < COUNT_OF(names); i++)
        near_try(&near, names[i]);
    if (meant == NULL)
        assert_null(near.best);
    else
        assert_string_equal(near.best, meant);
    assert_true((strstr(near_question(&near, out), "did you mean") != NULL) == (meant != NULL));
}

static void test_slips_are_near(void **state)
{
    char out[NEAR_BYTES];
    (void)state;
    check("serv", "serve");    /* left out */
    check("sserve", "serve");  /* added */
    check("sarve", "serve");   /* changed */
    check("srever", "serve");  /* swapped and added */
    check("modles", "models"); /* swapped */
    check("kv-bytes", "kv_bytes");
    check("nload", "load"); /* the first of two equally near ones */
    const struct near near = { .written = "x", .best = "serve" };
    assert_string_equal(near_question(&near, out), ", did you mean serve?");
}

static void test_others_are_not(void **state)
{
    char text[200];
    (void)state;
    check("", NULL);
    check("rm", NULL); /* one letter of two makes another word */
    check("policies", NULL);
    check("models", NULL); /* there is one, and it was not meant */
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    check(text, NULL);
    text[63] = '\0';
    check(text, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_slips_are_near),
                                        cmocka_unit_test(test_others_are_not) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
