/* Folders of disk tiers are checked before engines open them, one for each engine. */
#include "serve/disk.h"
#include "../test.h"
#include "kv/disk_file.h"
#include "base/mem.h"
#include <sys/stat.h>

static void each_engine_has_a_folder(void **state)
{
    struct config *config = mem_take(sizeof *config);
    struct fault fault;
    struct stat info;
    char path[64] = "/tmp/shoal-serve-disk-XXXXXX", text[128];
    (void)state;
    assert_non_null(mkdtemp(path));
    assert_int_equal(serve_disk_check(config, 2, &fault), STATUS_OK); /* there is no tier */
    snprintf(text, sizeof text, "%s/kv", path);
    config->kv_disk = text;
    assert_int_equal(serve_disk_check(config, 2, &fault), STATUS_OK);
    for (int e = 0; e < 3; e++) {
        char folder[160];
        snprintf(folder, sizeof folder, "%s/engine-%d", text, e);
        assert_int_equal(stat(folder, &info) == 0, e < 2);
    }
    config->kv_disk = "/dev/null";
    assert_int_equal(serve_disk_check(config, 1, &fault), STATUS_IO);
    assert_non_null(strstr(fault.text, "/dev/null"));
    assert_int_equal(serve_disk_check(config, 0, &fault), STATUS_OK); /* a gateway has no engine */
    mem_give(config);
    snprintf(text, sizeof text, "rm -rf %s", path);
    assert_int_equal(system(text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_engine_has_a_folder) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
