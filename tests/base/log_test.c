/* Tests of log lines: the output on stderr in each of the three forms. */
#include "test.h"
#include "base/log.h"

static char written[8192];

/* Runs f with stderr on a pipe, and puts the output into `written`. */
static void capture(void (*f)(void))
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    int old = dup(STDERR_FILENO);
    dup2(pipes[1], STDERR_FILENO);
    f();
    dup2(old, STDERR_FILENO);
    close(old);
    close(pipes[1]);
    ssize_t n = read(pipes[0], written, sizeof(written) - 1);
    written[n > 0 ? n : 0] = '\0';
    close(pipes[0]);
}

static void say_two(void)
{
    log_line(LOG_DEBUG, "engine", "not shown");
    log_line(LOG_WARN, "engine", "loaded %s\nin \x1B[31m%d s", "m.gguf", 3);
}

static void test_text(void **state)
{
    (void)state;
    unsetenv("JOURNAL_STREAM");
    log_set(LOG_INFO, false);
    capture(say_two);
    assert_int_equal(written[2], ':');
    assert_string_equal(written + 12, " warn  engine: loaded m.gguf in  [31m3 s\n");
}

static void test_journal(void **state)
{
    (void)state;
    setenv("JOURNAL_STREAM", "8:1", 1);
    capture(say_two);
    unsetenv("JOURNAL_STREAM");
    assert_string_equal(written, "<4>engine: loaded m.gguf in  [31m3 s\n");
}

static void test_json(void **state)
{
    (void)state;
    log_set(LOG_DEBUG, true);
    capture(say_two);
    const char *second = strchr(written, '\n');
    assert_non_null(
        strstr(written, "\"level\":\"debug\",\"part\":\"engine\",\"text\":\"not shown\"}\n"));
    assert_non_null(second);
    assert_int_equal(strncmp(second + 1, "{\"time\":\"2", 10), 0);
    assert_non_null(strstr(second, "\"loaded m.gguf\\nin \\u001b[31m3 s\"}\n"));
    log_set(LOG_INFO, false);
}

static void say_much(void)
{
    log_line(LOG_ERROR,
             "a part whose name is far longer than any name of a part should ever be, really",
             "%03000d", 1);
}

static void test_long_lines_are_cut(void **state)
{
    (void)state;
    log_set(LOG_INFO, false);
    capture(say_much);
    size_t n = strlen(written);
    assert_true(n > 2000 && n < 2200);
    assert_int_equal(written[n - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_journal),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_long_lines_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
