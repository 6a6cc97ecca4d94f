/* Tests of faults: they fit, and they are valid UTF-8. */
#include "test.h"
#include "base/status.h"
#include "base/str.h"

static void test_fault_is_written_and_returned(void **state)
{
    (void)state;
    struct fault fault;
    enum status status = fault_set(&fault, STATUS_BAD_INPUT, "%s: %d dimensions", "m.gguf", 3);
    assert_int_equal(status, STATUS_BAD_INPUT);
    assert_string_equal(fault.text, "m.gguf: 3 dimensions");
    assert_int_equal(fault_set(NULL, STATUS_IO, "nobody listens"), STATUS_IO);
}

static void test_fault_is_cut_between_characters(void **state)
{
    (void)state;
    struct fault fault;
    char text[600];
    for (int start = 0; start < 4; start++) {
        memset(text, 'x', sizeof(text));
        for (size_t i = (size_t)start; i + 3 < sizeof(text); i += 3)
            memcpy(text + i, "\xE6\xBC\xA2", 3);
        text[sizeof(text) - 1] = '\0';
        fault_set(&fault, STATUS_BAD_INPUT, "%s", text);
        size_t n = strlen(fault.text);
        assert_true(n >= 253 && n < sizeof(fault.text));
        assert_true(utf8_is_valid(view_text(fault.text)));
        assert_int_equal(memcmp(fault.text, text, n), 0);
    }
}

static void test_fault_repairs_foreign_bytes(void **state)
{
    (void)state;
    struct fault fault;
    fault_set(&fault, STATUS_NOT_FOUND, "%s: missing", "\xFF\xE6.bin");
    assert_string_equal(fault.text, "??.bin: missing");
    fault_set(&fault, STATUS_NOT_FOUND, "%s", "end\xE6\xBC");
    assert_string_equal(fault.text, "end??");
    fault_set(&fault, STATUS_BAD_INPUT, "\x1b[2Jtwo\r\nlines\x7f and \xC2\x9Bmore");
    assert_string_equal(fault.text, " [2Jtwo  lines  and   more");
}

static void test_every_status_has_a_name(void **state)
{
    (void)state;
    for (int i = STATUS_OK; i <= STATUS_IO; i++) {
        assert_string_not_equal(status_name((enum status)i), "unknown");
        for (int j = STATUS_OK; j < i; j++)
            assert_string_not_equal(status_name((enum status)i), status_name((enum status)j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault_is_written_and_returned),
        cmocka_unit_test(test_fault_is_cut_between_characters),
        cmocka_unit_test(test_fault_repairs_foreign_bytes),
        cmocka_unit_test(test_every_status_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
