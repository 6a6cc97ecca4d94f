/* A scenario's tables: every row is named once, and options go before the file. */
#include "../test.h"
#include "base/file.h"
#include "cmd/scenario.h"

static void rows_are_named_once(void **state)
{
    static struct scenario scenario;
    struct scenario_group group;
    struct scenario_service service;
    struct flags_row rows[3][SCENARIO_ROWS_MAX];
    const int n[3] = { scenario_rows(&scenario, rows[0]), scenario_group_rows(&group, rows[1]),
                       scenario_service_rows(&service, rows[2]) };
    (void)state;
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < n[part]; i++) {
            assert_true(strchr(rows[part][i].name, '_') == NULL);
            for (int k = 0; k < i; k++)
                assert_string_not_equal(rows[part][i].name, rows[part][k].name);
        }
}

static void options_go_before_the_file(void **state)
{
    static struct scenario s;
    char path[] = "/tmp/scenario_test_XXXXXX";
    const char *text = "workload: [a, b]\nseed: 5\npolicy: rr\nthresholds: [pool_cut=0.5]\n";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    const char *argv[] = { "shoal sim", path, "--seed=7", NULL };
    assert_true(scenario_open(&s, 3, (char **)(uintptr_t)argv));
    assert_true(s.seed == 7 && strcmp(s.policy, "rr") == 0 && s.workload.n == 2);
    scenario_close(&s);
    const char *thresholds[] = { "shoal sim", path, "--thresholds=pool_full=1", NULL };
    assert_true(scenario_open(&s, 3, (char **)(uintptr_t)thresholds));
    assert_true(s.thresholds.n == 2 && strcmp(s.thresholds.at[0], "pool_cut=0.5") == 0);
    scenario_close(&s);
    const char *more[] = { "shoal sim", "--workload=c", path, NULL };
    assert_true(scenario_open(&s, 3, (char **)(uintptr_t)more));
    assert_true(s.seed == 5 && s.workload.n == 1 && strcmp(s.workload.at[0], "c") == 0);
    scenario_close(&s);
    const char *none[] = { "shoal sim", "/nowhere/at.all", NULL };
    assert_false(scenario_open(&s, 2, (char **)(uintptr_t)none));
    scenario_close(&s);
    unlink(path);
}

static void parts_are_percent_or_bytes(void **state)
{
    static const char *const bad[] = { "", "chat", "chat=", "chat=0", "chat=-1", "chat=x" };
    struct view name;
    int64_t value;
    (void)state;
    assert_true(scenario_part("a=b=40", false, &name, &value));
    assert_true(view_equal_text(name, "a=b") && value == 40);
    assert_true(scenario_part("chat=2GiB", true, &name, &value));
    assert_true(view_equal_text(name, "chat") && value == INT64_C(2) << 30);
    assert_true(scenario_part("chat=101", true, &name, &value));
    assert_false(scenario_part("chat=101", false, &name, &value));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_true(!scenario_part(bad[i], false, &name, &value) &&
                    !scenario_part(bad[i], true, &name, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_are_named_once),
                                        cmocka_unit_test(options_go_before_the_file),
                                        cmocka_unit_test(parts_are_percent_or_bytes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
