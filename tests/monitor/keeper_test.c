/* The history's own thread: nothing waits for a file that is locked, missing or can't be made. */
#include "monitor/keeper.h"

#include "base/mem.h"
#include "base/time.h"
#include "test.h"
#include <sqlite3.h>
#include <sys/stat.h>

static char folder[64], path[96];

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/shoal-keeper-XXXXXX");
    snprintf(path, sizeof path, "%s/h.db", mkdtemp(folder));
    return 0;
}

static void remove_file(void)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    char name[128];
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

static int end(void **state)
{
    (void)state;
    remove_file();
    return rmdir(folder);
}

static struct monitor_keeper *open_it(void)
{
    return monitor_keeper_open(&(struct monitor_history_options){ path, 1 << 24, 100000 });
}

static bool add(struct monitor_keeper *k, int64_t begin_ms)
{
    struct monitor_history_window w = { .service = "chat", .begin_ms = begin_ms, .span_ms = 10 };
    monitor_bin_arrived(&w.bin, 7);
    return monitor_keeper_add(k, &(struct monitor_history_rows){ .windows = &w, .n_windows = 1 });
}

/* Returns how many windows the file has, by a question and its answer. */
static int n_known(struct monitor_keeper *k)
{
    static const char services[2][LIMIT_NAME_BYTES] = { "chat", "code" };
    static uint64_t number;
    struct monitor_keeper_known *known;
    assert_true(monitor_keeper_ask(k, ++number, 0, services, 2));
    while ((known = monitor_keeper_take(k)) == NULL)
        time_sleep_ns(TIME_NS_PER_MS);
    assert_int_equal(known->number, number);
    assert_true(known->n_windows == 0 || known->windows[0].bin.n_arrived == 1);
    int n = known->n_windows;
    monitor_keeper_give(known);
    return n;
}

static void test_kept_and_read(void **state)
{
    static const char services[2][LIMIT_NAME_BYTES] = { "chat", "code" };
    const struct perf perf = { .c1_ps = 5, .k1_ps = 6, .prefill_scale = 1, .decode_scale = 1 };
    struct monitor_keeper_known *known;
    (void)state;
    struct monitor_keeper *k = open_it();
    for (int i = 0; i < 150; i++)
        assert_true(add(k, 1000 + 10 * i));
    monitor_keeper_add_profile(k, "code", 3000, &perf);
    assert_int_equal(n_known(k), 150);
    monitor_keeper_close(k);
    k = open_it();
    assert_true(monitor_keeper_ask(k, 7, 2400, services, 2));
    while ((known = monitor_keeper_take(k)) == NULL)
        time_sleep_ns(TIME_NS_PER_MS);
    assert_true(known->n_windows == 10 && known->windows[0].begin_ms == 2400);
    assert_int_equal(known->n_profiles, 1);
    assert_string_equal(known->profiles[0].service, "code");
    assert_int_equal(known->profiles[0].perf.c1_ps, 5);
    monitor_keeper_give(known);
    monitor_keeper_close(k);
    monitor_keeper_close(NULL);
    remove_file();
}

static void do_sql(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Another process holds the file's lock, from before it is opened or from later on. The caller does
 * not wait; the queue takes what it can, and all of that is written when the lock is gone. */
static void test_locked(void **state)
{
    sqlite3 *db;
    (void)state;
    for (int is_early = 0; is_early < 2; is_early++) {
        struct monitor_keeper *k = open_it();
        assert_true(add(k, 10));
        assert_int_equal(n_known(k), 1);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        if (is_early) {
            monitor_keeper_close(k);
            do_sql(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE x (y)");
            k = open_it();
        } else {
            do_sql(db, "BEGIN IMMEDIATE");
        }
        int n = 0;
        while (n < 100000 && add(k, 20 + 10 * n))
            n++;
        assert_true(n > 1000 && n < 100000);  /* a put that waited for the lock would not end */
        time_sleep_ns(2500 * TIME_NS_PER_MS); /* it tries, and fails */
        assert_false(add(k, 20 + 10 * n));
        do_sql(db, "ROLLBACK");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        while (!add(k, 20 + 10 * n))
            time_sleep_ns(10 * TIME_NS_PER_MS);
        int known = 0;
        for (int i = 0; i < 1000 && known < 4096; i++) { /* of n + 2, as many as are told */
            known = n_known(k);
            time_sleep_ns(TIME_NS_PER_MS);
        }
        assert_int_equal(known, min_i32(n + 2, 4096));
        assert_false(monitor_keeper_is_new(k));
        monitor_keeper_close(k);
        remove_file();
    }
}

/* A file that is removed is begun anew, and the caller learns that what it had put is gone. */
static void test_removed(void **state)
{
    (void)state;
    struct monitor_keeper *k = open_it();
    assert_true(add(k, 10));
    assert_int_equal(n_known(k), 1);
    remove_file();
    assert_true(add(k, 20));
    assert_int_equal(n_known(k), 0);
    assert_true(monitor_keeper_is_new(k));
    assert_false(monitor_keeper_is_new(k));
    assert_true(add(k, 10) && add(k, 20));
    assert_int_equal(n_known(k), 2);
    monitor_keeper_close(k);
    remove_file();
}

/* The folder is missing: it is tried again until it is there. */
static void test_late_folder(void **state)
{
    char late[80], file[96];
    (void)state;
    snprintf(late, sizeof late, "%s/late", folder);
    snprintf(file, sizeof file, "%s/h.db", late);
    struct monitor_keeper *k =
        monitor_keeper_open(&(struct monitor_history_options){ file, 1 << 24, 100000 });
    assert_true(add(k, 10));
    time_sleep_ns(50 * TIME_NS_PER_MS);
    assert_int_equal(mkdir(late, 0700), 0);
    assert_int_equal(n_known(k), 1);
    monitor_keeper_close(k);
    (void)unlink(file);
    assert_int_equal(rmdir(late), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kept_and_read),
                                        cmocka_unit_test(test_locked),
                                        cmocka_unit_test(test_removed),
                                        cmocka_unit_test(test_late_folder) };
    return cmocka_run_group_tests(tests, begin, end);
}
