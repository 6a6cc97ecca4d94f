/* Tests of the JSON writer. (tests/props reads what it writes back with jansson.) */
#include "test.h"
#include "base/json_out.h"
#include <math.h>

static struct str out;
static struct json_out json;

static int set_up(void **state)
{
    (void)state;
    str_init(&out);
    json_out_init(&json, &out);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    str_free(&out);
    return 0;
}

static void test_commas(void **state)
{
    (void)state;
    json_out_open(&json, '{');
    json_out_key(&json, "a");
    json_out_open(&json, '[');
    json_out_i64(&json, 1);
    json_out_open(&json, '{');
    json_out_close(&json, '}');
    json_out_open(&json, '[');
    json_out_bool(&json, true);
    json_out_bool(&json, false);
    json_out_close(&json, ']');
    json_out_null(&json);
    json_out_close(&json, ']');
    json_out_key(&json, "b");
    json_out_text(&json, NULL);
    json_out_key(&json, "c");
    json_out_text(&json, "");
    json_out_close(&json, '}');
    assert_string_equal(out.at, "{\"a\":[1,{},[true,false],null],\"b\":null,\"c\":\"\"}");
    assert_int_equal(json.depth, 0);
}

static void test_numbers(void **state)
{
    (void)state;
    json_out_open(&json, '[');
    json_out_i64(&json, INT64_MIN);
    json_out_i64(&json, INT64_MAX);
    json_out_i64(&json, 0);
    json_out_f64(&json, 0.1);
    json_out_f64(&json, -1e300);
    json_out_f64(&json, NAN);
    json_out_f64(&json, INFINITY);
    json_out_close(&json, ']');
    assert_string_equal(out.at,
                        "[-9223372036854775808,9223372036854775807,0,0.1,-1e+300,null,null]");
}

static void test_strings(void **state)
{
    (void)state;
    json_out_view(&json, view_of("\"\\/\b\f\n\r\t\x01\x1f\x7f\0", 12));
    assert_string_equal(out.at, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000\"");
    str_clear(&out);
    json_out_init(&json, &out);
    json_out_text(&json, "a\xFFz\xE2\x82");
    assert_string_equal(out.at, "\"a\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

static void close_too_often(void *arg)
{
    json_out_close(arg, '}');
}

static void test_unbalanced_dies(void **state)
{
    (void)state;
    test_dies(close_too_often, &json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unbalanced_dies, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
