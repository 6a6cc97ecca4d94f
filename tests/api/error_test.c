/* The page of an error, word for word. */
#include "test.h"
#include "api/error.h"

static void test_page(void **state)
{
    (void)state;
    struct api_error error = { 0 };
    struct str out;
    str_init(&out);
    api_error_set(&error, ERROR_INVALID, "n", "n is \"%d\"", 5);
    api_error_set(&error, ERROR_HOUSE, NULL, "a second one");
    api_error_print(&error, ERROR_OPENAI, &out);
    assert_string_equal(out.at, "{\"error\":{\"message\":\"n is \\\"5\\\"\",\"type\":"
                                "\"invalid_request_error\",\"param\":\"n\",\"code\":null}}");
    assert_true(error.status == 400 && api_error_reason(&error) == NULL);
    str_clear(&out);
    error = (struct api_error){ .extra = ",\"loading\":{}" };
    api_error_set(&error, ERROR_LOADING, NULL, "wait");
    api_error_print(&error, ERROR_OPENAI, &out);
    assert_string_equal(out.at, "{\"error\":{\"message\":\"wait\",\"type\":\"unavailable_error\","
                                "\"param\":null,\"code\":\"model_not_ready\"},\"loading\":{}}");
    assert_string_equal(api_error_reason(&error), "rejected-model-not-ready");
    assert_int_equal(api_error_retry_after_s(&error), 5);
    str_free(&out);
}

static void test_all_kinds_have_a_row(void **state)
{
    (void)state;
    for (int kind = 0; kind < ERROR_N; kind++) {
        struct api_error error = { 0 };
        api_error_set(&error, (enum api_error_kind)kind, NULL, "x");
        assert_in_range(error.status, 400, 504);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_page),
                                        cmocka_unit_test(test_all_kinds_have_a_row) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
