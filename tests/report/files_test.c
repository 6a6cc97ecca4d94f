/* Names of files: as given for one run, distinguished for several. */
#include "../test.h"
#include "base/mem.h"
#include "report/files.h"

static void same(const char *path, const struct report_files_run *run, const char *expected)
{
    char *name = report_files_name(path, run);
    assert_string_equal(name, expected);
    mem_give(name);
}

static void names(void **state)
{
    const double rate = 0.5;
    const uint64_t seed = 12;
    const struct report_files_run one = { NULL, NULL, NULL }, all = { "fcfs/rr", &rate, &seed },
                                  label = { "default", NULL, NULL }, seeds = { NULL, NULL, &seed };
    (void)state;
    assert_null(report_files_name(NULL, &all));
    same("run.csv", &one, "run.csv");
    same("run.csv", &all, "run-fcfs_rr-x0.5-s12.csv");
    same("a.b/run", &label, "a.b/run-default");
    same("a/run.tar.gz", &seeds, "a/run.tar-s12.gz");
    same(".hidden", &seeds, ".hidden-s12");
    same("a/.hidden", &label, "a/.hidden-default");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
