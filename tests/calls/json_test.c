/* JSON in pieces: what is a value, what is not, and where a value ends. */
#include "calls/json.h"
#include "test.h"

static void values_are_told_from_others(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}",   "[]",           "0",    "-0.5e+3",        "12",
        "true", "null",         "\"\"", "\"\\u00e9\\n\"", "[1,{\"a\":[]}]",
        "1E5",  "{ \"a\" : 1 }"
    };
    static const char *const bad[] = { "",        "01",    "-",     "1.",        ".5",      "1e",
                                       "tru",     "nul",   "{a:1}", "[1,]",      "{\"a\"}", "\"",
                                       "\"\\x\"", "[1 2]", "{}{}",  "1 ",        " 1",      "[}",
                                       "True",    "+1",    "\"a",   "{\"a\":1,}" };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(calls_json_is_value(view_text(good[i])));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(calls_json_is_value(view_text(bad[i])));
}

static void a_value_ends_where_it_ends(void **state)
{
    (void)state;
    struct calls_json json;
    size_t n = 0;
    calls_json_init(&json);
    assert_int_equal(calls_json_take(&json, view_text("{\"a\": \"}"), &n), CALLS_JSON_MORE);
    assert_true(calls_json_in_string(&json));
    assert_int_equal(calls_json_take(&json, view_text("\"} x"), &n), CALLS_JSON_DONE);
    assert_int_equal(n, 2);
    calls_json_init(&json);
    assert_int_equal(calls_json_take(&json, view_text("12,"), &n), CALLS_JSON_DONE);
    assert_int_equal(n, 2);
}

static void deep_values_are_refused(void **state)
{
    (void)state;
    char deep[2 * CALLS_JSON_DEPTH_MAX];
    struct calls_json json;
    size_t n = 0;
    memset(deep, '[', sizeof(deep));
    calls_json_init(&json);
    assert_int_equal(calls_json_take(&json, view_of(deep, sizeof(deep)), &n), CALLS_JSON_BAD);
    assert_int_equal(n, CALLS_JSON_DEPTH_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_told_from_others),
        cmocka_unit_test(a_value_ends_where_it_ends),
        cmocka_unit_test(deep_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
