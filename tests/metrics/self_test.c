/* The process's figures against those that the system reports for it. */
#include "test.h"
#include "base/time.h"
#include "metrics/self.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Returns its value, after its HELP and its TYPE. */
static double figure(const char *name, const char *type)
{
    struct str out;
    char *end, line[128];
    str_init(&out);
    metrics_self_print(&out);
    snprintf(line, sizeof(line), "# TYPE %s %s\n%s ", name, type, name);
    const char *at = strstr(out.at, line);
    assert_non_null(at);
    double value = strtod(at + strlen(line), &end);
    assert_int_equal(*end, '\n');
    str_free(&out);
    return value;
}

static void test_time(void **state)
{
    (void)state;
    double unix_s = (double)time_unix_ns() * 1e-9;
    double start_s = figure("process_start_time_seconds", "gauge");
    assert_true(start_s <= unix_s + 5 && start_s > unix_s - 3600);
    assert_true(figure("process_start_time_seconds", "gauge") == start_s);
    double before_s = figure("process_cpu_seconds_total", "counter");
    int64_t begin_ns = time_thread_cpu_ns();
    while (time_thread_cpu_ns() - begin_ns < 100 * TIME_NS_PER_MS) {}
    double spent_s = figure("process_cpu_seconds_total", "counter") - before_s;
    assert_true(spent_s >= 0.07 && spent_s < 10);
}

static void test_memory(void **state)
{
    (void)state;
    enum { N_BYTES = 64 << 20 };
    double before = figure("process_resident_memory_bytes", "gauge");
    assert_true(before > 0 && figure("process_virtual_memory_bytes", "gauge") > before);
    volatile char *block = malloc(N_BYTES);
    assert_non_null(block);
    for (size_t i = 0; i < N_BYTES; i += 4096)
        block[i] = 7;
    double after = figure("process_resident_memory_bytes", "gauge");
    assert_true(after - before > 0.9 * N_BYTES && after - before < 4.0 * N_BYTES);
    free((void *)(uintptr_t)block);
}

static void test_files(void **state)
{
    (void)state;
    struct rlimit limit;
    double before = figure("process_open_fds", "gauge");
    assert_true(before >= 3);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_true(figure("process_open_fds", "gauge") == before + 2);
    close(fds[0]);
    close(fds[1]);
    assert_true(figure("process_open_fds", "gauge") == before);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(figure("process_max_fds", "gauge") == (double)limit.rlim_cur);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
