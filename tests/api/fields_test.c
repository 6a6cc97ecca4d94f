/* Typed members, whole numbers written as reals, and the guard on the number of values. */
#include "test.h"
#include "api/fields.h"

static void test_types(void **state)
{
    (void)state;
    struct api_error error = { 0 };
    json_t *object = api_fields_open(view_text("{\"b\":true,\"i\":16.0,\"f\":0.5,\"t\":\"x\","
                                               "\"z\":null,\"big\":1e300}"),
                                     100, &error);
    struct api_fields fields = { object, &error };
    bool flag = false;
    int32_t whole = 0, kept = 7;
    float real = 0;
    api_fields_bool(&fields, "b", &flag);
    api_fields_i32(&fields, "i", (int64_t[2]){ 0, 16 }, &whole);
    api_fields_i32(&fields, "z", (int64_t[2]){ 0, 16 }, &kept);
    api_fields_f32(&fields, "f", (double[2]){ 0, 1 }, &real);
    assert_true(flag && whole == 16 && kept == 7 && real == 0.5f && !error.is_set);
    assert_string_equal(api_fields_text(&fields, "t"), "x");
    assert_null(api_fields_text(&fields, "z"));
    api_fields_i32(&fields, "big", (int64_t[2]){ 0, 16 }, &whole);
    assert_string_equal(error.text, "big must be an integer between 0 and 16");
    assert_null(api_fields_text(&fields, "b")); /* the first error stays */
    assert_string_equal(error.param, "big");
    json_decref(object);
}

static void test_bounds(void **state)
{
    (void)state;
    struct api_error error = { 0 };
    assert_null(api_fields_open(view_text("{\"a\":[1,2,3]}"), 4, &error));
    assert_string_equal(error.text, "the body holds more than 4 JSON values");
    error = (struct api_error){ 0 };
    json_t *object = api_fields_open(view_text("{\"a,[{:\":\"\\\",,,,,\"}"), 4, &error);
    assert_non_null(object); /* separators inside of strings don't count */
    json_decref(object);
    assert_null(api_fields_open(view_text("{\"a\":1} x"), 9, &error));
    assert_string_equal(error.text, "the body is not valid JSON: end of file expected near 'x' "
                                    "(line 1, column 9)");
}

/* JSON that is valid but not taken is refused in terms of JSON. */
static void test_limits_of_values(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "{\"prompt\":\"a\\u0000b\"}", "a text must not hold the character \\u0000" },
        { "{\"a\\u0000b\":1}", "a text must not hold the character \\u0000" },
        { "{\"unknown\":18446744073709551616}",
          "a number is too large (integers have 64 bits, others are doubles)" },
        { "{\"unknown\":-18446744073709551616}",
          "a number is too large (integers have 64 bits, others are doubles)" },
        { "{\"unknown\":1e400}",
          "a number is too large (integers have 64 bits, others are doubles)" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_error error = { 0 };
        char said[160];
        assert_null(api_fields_open(view_text(rows[i][0]), 9, &error));
        snprintf(said, sizeof(said), "the body can't be taken: %s (line 1, column ", rows[i][1]);
        assert_memory_equal(error.text, said, strlen(said));
    }
    struct str deep;
    struct api_error error = { 0 };
    str_init(&deep);
    str_add_text(&deep, "{\"a\":");
    for (int i = 0; i < 5000; i++)
        str_add_char(&deep, '[');
    assert_null(api_fields_open(view_of(deep.at, deep.n), 9999, &error));
    assert_non_null(strstr(error.text, "nested too deeply"));
    str_free(&deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_types), cmocka_unit_test(test_bounds),
                                        cmocka_unit_test(test_limits_of_values) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
