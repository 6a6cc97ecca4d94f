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

static void finds_families(void **state)
{
    (void)state;
    assert_true(weights_keys_are_of(NULL, view_text("a")));
    assert_true(weights_keys_are_of("a bc", view_text("bc")));
    assert_false(weights_keys_are_of("a bc", view_text("b")));
    assert_false(weights_keys_are_of("!a bc", view_text("a")));
    assert_false(weights_keys_are_of("!a bc", view_text("bc")));
    assert_true(weights_keys_are_of("!a bc", view_text("b")));
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

static void shows_unknown_keys(void **state)
{
    (void)state;
    struct weights_unknown unknown = { 0 };
    struct pile pile;
    char long_name[200];
    memset(long_name, 'k', sizeof(long_name));
    pile_init(&pile);
    weights_keys_unknown(&unknown, &pile, view_of("a\x1b[31m\0b", 8));
    weights_keys_unknown(&unknown, &pile, view_of(long_name, sizeof(long_name)));
    assert_string_equal(unknown.names[0], "a?[31m?b");
    assert_int_equal(strlen(unknown.names[1]), 80);
    for (int i = 0; i < 20; i++)
        weights_keys_unknown(&unknown, &pile, view_text("k"));
    assert_int_equal(unknown.n, COUNT_OF(unknown.names));
    assert_int_equal(unknown.n_found, 22);
    pile_free(&pile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_rows),
        cmocka_unit_test(finds_families),
        cmocka_unit_test(compares_values),
        cmocka_unit_test(shows_unknown_keys),
    };
    return cmocka_run_group_tests_name("weights/keys", tests, NULL, NULL);
}
