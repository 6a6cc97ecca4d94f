/* A scenario's tables: every row is named once, and options take precedence over the file. */
#include "../test.h"
#include "base/file.h"
#include "base/mem.h"
#include "predict/device.h"
#include "scenario/scenario.h"

static const char *root;

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

static void devices_and_models_are_in_the_docs(void **state)
{
    char path[4096], quoted[64], *page;
    size_t n_bytes;
    struct fault fault;
    int n_devices, n_models;
    const struct predict_device *devices = predict_device_all(&n_devices);
    const struct predict_model *models = predict_model_all(&n_models);
    (void)state;
    snprintf(path, sizeof(path), "%s/docs/SIMULATOR.md", root);
    assert_int_equal(file_read(path, 1 << 20, &page, &n_bytes, &fault), STATUS_OK);
    for (int i = 0; i < n_devices + n_models; i++) {
        const char *name = i < n_devices ? devices[i].name : models[i - n_devices].name;
        snprintf(quoted, sizeof(quoted), "`%s`", name);
        if (strstr(page, quoted) == NULL)
            fail_msg("docs/SIMULATOR.md does not list %s", quoted);
    }
    mem_give(page);
}

int main(int argc, char **argv)
{
    root = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = { cmocka_unit_test(devices_and_models_are_in_the_docs),
                                        cmocka_unit_test(rows_are_named_once),
                                        cmocka_unit_test(options_go_before_the_file),
                                        cmocka_unit_test(parts_are_percent_or_bytes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
