/* Look-up in rows of keys. */
#include "test.h"
#include "weights/keys.h"

static const struct weights_key rows[] = {
    WEIGHTS_READ("a bc", "x"),
    WEIGHTS_FIXED("ab", "x", "0|1|-2.5"),
    WEIGHTS_INERT(NULL, "y"),
    { NULL, NULL, NULL, 0 },
};

static void finds_rows(void **state)
{
    (void)state;
    assert_ptr_equal(weights_keys_find(rows, view_text("a"), view_text("x")), &rows[0]);
    assert_ptr_equal(weights_keys_find(rows, view_text("bc"), view_text("x")), &rows[0]);
    assert_ptr_equal(weights_keys_find(rows, view_text("ab"), view_text("x")), &rows[1]);
    assert_ptr_equal(weights_keys_find(rows, view_text("any"), view_text("y")), &rows[2]);
    assert_null(weights_keys_find(rows, view_text("b"), view_text("x")));
    assert_null(weights_keys_find(rows, view_text(""), view_text("x")));
    assert_null(weights_keys_find(rows, view_text("a"), view_text("xy")));
}

static void compares_values(void **state)
{
    (void)state;
    assert_true(weights_keys_allow("0|1|-2.5", 0) && weights_keys_allow("0|1|-2.5", -2.5));
    assert_true(weights_keys_allow("null|1", 1) && !weights_keys_allow("null", 0));
    assert_false(weights_keys_allow("0|1|-2.5", 0.5));
    assert_true(weights_keys_hold("null|{}", '|', view_text("{}")));
    assert_false(weights_keys_hold("null|{}", '|', view_text("null|{}")));
    assert_true(weights_keys_hold(NULL, '|', view_text("x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_rows),
        cmocka_unit_test(compares_values),
    };
    return cmocka_run_group_tests_name("weights/keys", tests, NULL, NULL);
}
