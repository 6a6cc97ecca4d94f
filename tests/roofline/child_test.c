/* Programs that answer, fail, hang, or are missing. */
#include "../test.h"
#include "base/time.h"
#include "roofline/child.h"

#include <string.h>

static enum status sh(const char *script, int64_t timeout_ns, struct str *out, struct fault *fault)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    return roofline_child_run(argv, timeout_ns, out, NULL, fault);
}

static void what_it_prints_comes_back(void **state)
{
    (void)state;
    struct str out;
    struct fault fault;
    str_init(&out);
    assert_int_equal(sh("echo one; echo noise >&2; echo two", TIME_NS_PER_S * 60, &out, &fault),
                     STATUS_OK);
    assert_string_equal(out.at, "one\ntwo\n");
    const char *const argv[] = { "sh", "-c", "echo one; echo noise >&2", NULL };
    str_clear(&out); /* both in one text, when wanted */
    assert_int_equal(roofline_child_run(argv, TIME_NS_PER_S * 60, &out, &out, &fault), STATUS_OK);
    assert_string_equal(out.at, "one\nnoise\n");
    str_clear(&out); /* more than a pipe holds, on both outputs at once */
    assert_int_equal(sh("i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123456;"
                        "echo 0123456789012345678901234567890123456 >&2; i=$((i+1)); done",
                        TIME_NS_PER_S * 60, &out, &fault),
                     STATUS_OK);
    assert_int_equal(out.n, 4000 * 38);
    str_free(&out);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    struct str out;
    struct fault fault;
    str_init(&out);
    assert_int_equal(sh("echo why >&2; exit 3", TIME_NS_PER_S * 60, &out, &fault), STATUS_IO);
    assert_true(strstr(fault.text, "why") != NULL);
    assert_int_equal(sh("kill -9 $$", TIME_NS_PER_S * 60, &out, &fault), STATUS_IO);
    assert_int_equal(sh("sleep 100", TIME_NS_PER_MS * 200, &out, &fault), STATUS_CANCELLED);
    const char *const nobody[] = { "/nowhere/nobody", NULL };
    assert_int_equal(roofline_child_run(nobody, TIME_NS_PER_S * 60, &out, NULL, &fault), STATUS_IO);
    assert_true(strstr(fault.text, "no such program") != NULL);
    const char *const folder[] = { "/", NULL };
    assert_int_equal(roofline_child_run(folder, TIME_NS_PER_S * 60, &out, NULL, &fault), STATUS_IO);
    assert_string_equal(fault.text, "/ can't be started, expected a program");
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_prints_comes_back),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
