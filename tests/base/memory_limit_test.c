/* Limits of control groups as the kernel writes them, in a folder of our own. */
#include "test.h"
#include "base/file.h"
#include "base/memory_limit.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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
    /* A container sees its own group as the mount, but the host's name of it. */
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

static void what_is_free_is_read(void **state)
{
    (void)state;
    assert_true(memory_limit_free(root) == INT64_MAX);
    put("proc/meminfo", "MemTotal: 8000 kB\nMemAvailable:    3000 kB\n"
                        "CommitLimit:      5000 kB\nCommitted_AS:     4000 kB\n");
    assert_true(memory_limit_free(root) == 3000 << 10);
    run("mkdir -p %s/proc/sys/vm%s", "");
    put("proc/sys/vm/overcommit_memory", "0\n");
    assert_true(memory_limit_free(root) == 3000 << 10);
    put("proc/sys/vm/overcommit_memory", "2\n");
    assert_true(memory_limit_free(root) == 1000 << 10);
}

/* Mapped addresses do not count as left, because a sanitizer maps terabytes. */
static void address_space_is_left_as_far_as_it_is_not_mapped(void **state)
{
    (void)state;
    enum { MORE = 1 << 30 };
    struct rlimit before, less;
    unsigned long long n_pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_true(file != NULL && fscanf(file, "%llu", &n_pages) == 1);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = (rlim_t)(n_pages * (unsigned long long)sysconf(_SC_PAGESIZE) + MORE);
    if (less.rlim_cur > before.rlim_max)
        skip();
    assert_true(memory_limit_left() > 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    int64_t n_left = memory_limit_left();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(n_left > 0 && n_left <= MORE);
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
    assert_true(memory_limit_bytes() <= INT64_C(1) << 45); /* half of RLIMIT_AS */
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_2_is_the_least_of_a_group_and_of_those_above_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_has_a_line_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_free_is_read, set_up, tear_down),
        cmocka_unit_test(address_space_is_left_as_far_as_it_is_not_mapped),
        cmocka_unit_test(address_space_counts_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
