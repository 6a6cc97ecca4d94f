/* Usage in memory and in a file: what is added is there after a restart, also when the process was
 * killed, and two processes may share a file. */
#include "usage/usage.h"
#include "test.h"

#include "base/time.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

static int32_t today(void)
{
    return (int32_t)(time_unix_ns() / TIME_NS_PER_S / 86400);
}

static struct usage *open_at(const char *file)
{
    const struct usage_options options = { file, 30 };
    struct usage *usage;
    struct fault fault;
    if (usage_open(&usage, &options, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return usage;
}

static void add(struct usage *usage, const char *tenant, int32_t day, int64_t n)
{
    const struct usage_counts more = { n, 10 * n, 2 * n, n, 1000 * n };
    usage_add(usage, tenant, "12345678", day, &more);
}

static void check(const struct usage *usage, const char *tenant, int32_t day, int64_t n)
{
    struct usage_counts counts = usage_find(usage, tenant, "12345678", day);
    assert_int_equal(counts.n_requests, n);
    assert_int_equal(counts.n_in, 10 * n);
    assert_int_equal(counts.n_out, 2 * n);
    assert_int_equal(counts.n_cached, n);
    assert_int_equal(counts.device_ns, 1000 * n);
}

static void remove_file(void)
{
    char more[80];
    unlink(path);
    snprintf(more, sizeof more, "%s-wal", path);
    unlink(more);
    snprintf(more, sizeof more, "%s-shm", path);
    unlink(more);
}

static void counts_outlive_the_process(void **state)
{
    (void)state;
    remove_file();
    for (int round = 1; round <= 3; round++) {
        struct usage *usage = open_at(path);
        check(usage, "acme", today(), 3 * (round - 1));
        add(usage, "acme", today(), 1);
        usage_sweep(usage, today());
        add(usage, "acme", today(), 2);
        add(usage, "b'); DROP TABLE usage;--", today(), 5);
        check(usage, "acme", today(), 3 * round);
        usage_close(usage);
    }
    struct usage *a = open_at(path), *b = open_at(path);
    check(a, "b'); DROP TABLE usage;--", today(), 15);
    add(a, "acme", today(), 1);
    add(b, "acme", today(), 1);
    usage_close(a);
    usage_close(b);
    a = open_at(path);
    check(a, "acme", today(), 11);
    usage_close(a);
}

/* A child adds and sweeps until it is killed. Its file is sound, and has nearly all. */
static void a_killed_process_loses_little(void **state)
{
    (void)state;
    remove_file();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct usage *usage = open_at(path);
        for (int64_t n = 1;; n++) {
            add(usage, "acme", today(), 1);
            usage_sweep(usage, today());
            if (write(ends[1], &n, sizeof n) != (ssize_t)sizeof n)
                _exit(1);
            usleep(2000);
        }
    }
    int64_t n = 0;
    while (n < 300)
        assert_int_equal(read(ends[0], &n, sizeof n), (ssize_t)sizeof n);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct usage *usage = open_at(path);
    int64_t n_kept = usage_find(usage, "acme", "12345678", today()).n_requests;
    assert_true(n_kept >= n / 2 && n_kept <= n + 100);
    check(usage, "acme", today(), n_kept);
    usage_close(usage);
}

static void old_days_and_many_keys_are_bounded(void **state)
{
    (void)state;
    remove_file();
    struct usage *usage = open_at(path);
    char name[32];
    add(usage, "old", today() - 40, 1);
    add(usage, "old", today() - 29, 1);
    usage_sweep(usage, today());
    check(usage, "old", today() - 40, 0);
    check(usage, "old", today() - 29, 1);
    for (int i = 0; i < USAGE_ROWS_MAX + 100; i++) {
        snprintf(name, sizeof name, "tenant %d", i);
        add(usage, name, today(), 1);
    }
    int64_t n_all = 0;
    const struct usage_row *row;
    int32_t n_rows = 0;
    for (; (row = usage_row_at(usage, n_rows)) != NULL; n_rows++)
        n_all += row->counts.n_requests;
    assert_int_equal(n_rows, USAGE_ROWS_MAX);
    assert_int_equal(n_all, USAGE_ROWS_MAX + 100); /* none of today is lost */
    check(usage, "old", today() - 29, 0);          /* it left memory */
    assert_true(usage_find(usage, "(others)", "-", today()).n_requests > 100);
    usage_close(usage);
    usage = open_at(path);
    check(usage, "old", today() - 40, 0);
    usage_close(usage);
}

static void foreign_files_are_refused(void **state)
{
    (void)state;
    remove_file();
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 2000; i++)
        fputs("this is no database\n", f);
    fclose(f);
    const struct usage_options options = { path, 30 };
    struct usage *usage;
    struct fault fault;
    assert_int_equal(usage_open(&usage, &options, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, path));
    const struct usage_options nowhere = { "/nonexistent/usage.db", 30 };
    assert_int_equal(usage_open(&usage, &nowhere, &fault), STATUS_BAD_INPUT);
    usage = open_at(NULL);
    add(usage, "acme", today(), 7);
    usage_sweep(usage, today());
    check(usage, "acme", today(), 7);
    usage_close(usage);
    remove_file();
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/shoal-usage-test-%d.db", (int)getpid());
    const struct CMUnitTest tests[] = { cmocka_unit_test(counts_outlive_the_process),
                                        cmocka_unit_test(a_killed_process_loses_little),
                                        cmocka_unit_test(old_days_and_many_keys_are_bounded),
                                        cmocka_unit_test(foreign_files_are_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
