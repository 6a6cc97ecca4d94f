/* Limits of control groups as the kernel writes them, in a folder of our own. */
#include "test.h"
#include "base/file.h"
#include "base/memory_limit.h"
#include <sys/resource.h>
#include <sys/stat.h>

static char root[64];

static void run(const char *format, const char *what)
{
    char command[512];
    snprintf(command, sizeof(command), format, root, what);
    assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/shoal-memory-test-XXXXXX");
    if (mkdtemp(root) == NULL)
        return -1;
    run("mkdir -p %s/proc/self%s", "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run("rm -r %s%s", "");
    return 0;
}

static void put(const char *name, const char *text)
{
    char path[256];
    struct fault fault;
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(file_write(path, text, strlen(text), &fault), STATUS_OK);
}

static void version_2_is_the_least_of_a_group_and_of_those_above_it(void **state)
{
    (void)state;
    assert_true(memory_limit_of_groups(root) == INT64_MAX); /* no such file */
    put("proc/self/cgroup", "0::/a/b\n");
    assert_true(memory_limit_of_groups(root) == INT64_MAX); /* no such groups */
    run("mkdir -p %s/sys/fs/cgroup/%s", "a/b");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_true(memory_limit_of_groups(root) == INT64_MAX);
    put("sys/fs/cgroup/a/memory.max", "2147483648\n");
    assert_true(memory_limit_of_groups(root) == INT64_C(2147483648));
    put("sys/fs/cgroup/a/b/memory.max", "1073741824\n");
    assert_true(memory_limit_of_groups(root) == INT64_C(1073741824));
    /* A container sees its own group as the mount, and the host's name of it. */
    put("proc/self/cgroup", "0::/system.slice/somewhere\n");
    put("sys/fs/cgroup/memory.max", "4096000\n");
    assert_true(memory_limit_of_groups(root) == 4096000);
}

static void version_1_has_a_line_of_its_own(void **state)
{
    (void)state;
    put("proc/self/cgroup", "9:name=systemd:/\n5:cpu,cpuacct:/m\n4:memory:/m\n0::/\nnonsense\n");
    run("mkdir -p %s/sys/fs/cgroup/memory/%s", "m");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "734003200\n");
    assert_true(memory_limit_of_groups(root) == 734003200);
    put("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "soon\n");
    assert_true(memory_limit_of_groups(root) == INT64_C(9223372036854771712));
}

static void address_space_counts_too(void **state)
{
    (void)state;
    struct rlimit before, less;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = (rlim_t)1 << 46;
    if (less.rlim_cur > before.rlim_max)
        skip();
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    assert_true(memory_limit_bytes() <= INT64_C(1) << 46);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_2_is_the_least_of_a_group_and_of_those_above_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_has_a_line_of_its_own, set_up, tear_down),
        cmocka_unit_test(address_space_counts_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
