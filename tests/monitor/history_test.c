/* The monitor's file: what is written is read, bounds hold, and a lost file is replaced. */
#include "test.h"

#include "monitor/history.h"
#include <sys/stat.h>

static char folder[64], path[96];

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/shoal-history-XXXXXX");
    snprintf(path, sizeof path, "%s/h.db", mkdtemp(folder));
    return 0;
}

static int end(void **state)
{
    (void)state;
    static const char *const ends[] = { "", "-wal", "-shm" };
    char name[128];
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        (void)unlink(name);
    }
    return rmdir(folder);
}

static struct monitor_history *open_it(int64_t bytes_max, int64_t rows_max)
{
    struct monitor_history *h = NULL;
    struct fault fault;
    const struct monitor_history_options options = { path, bytes_max, rows_max };
    assert_int_equal(monitor_history_open(&h, &options, &fault), STATUS_OK);
    return h;
}

static struct monitor_history_window window(const char *service, int64_t begin_ms, int32_t n_prompt)
{
    struct monitor_history_window w = { .begin_ms = begin_ms, .span_ms = 10000 };
    snprintf(w.service, sizeof w.service, "%s", service);
    monitor_bin_arrived(&w.bin, n_prompt);
    monitor_bin_ended(&w.bin, &(struct monitor_end){ 0, INT64_C(4000000000), INT64_C(1000000000),
                                                     INT64_C(2000000000), 4, true, true });
    return w;
}

static enum monitor_history_end add(struct monitor_history *h,
                                    const struct monitor_history_window *w, int n)
{
    const struct monitor_history_engine engine = { .engine = "a:1 0",
                                                   .begin_ms = w->begin_ms,
                                                   .span_ms = 10000,
                                                   .bin = { .seen_ns = 10, .busy_ns = 5 } };
    return monitor_history_add(h, &(struct monitor_history_rows){ w, &engine, n, 1 });
}

struct seen {
    int n;
    struct monitor_history_window first, all;
};

static void see(void *self, const struct monitor_history_window *row)
{
    struct seen *seen = self;
    if (seen->n++ == 0)
        seen->first = *row;
    monitor_bin_merge(&seen->all.bin, &row->bin);
}

static struct seen read_it(struct monitor_history *h, int64_t since_ms)
{
    struct seen seen = { 0 };
    monitor_history_read(h, since_ms, INT32_MAX, see, &seen);
    return seen;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct monitor_history *h = open_it(1 << 22, 1000);
    const struct monitor_history_window w = window("tale", 5000, 100);
    static const struct perf perf = { 1, 2, 3, 4, { 5, 6 }, { 7, 8 }, { 9, 10 }, 11, 1.25F, 0.75F };
    struct perf back;
    memset(&back, 0, sizeof back); /* bytes between its fields, too */
    assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_DONE);
    assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_DONE); /* replaced, not added */
    monitor_history_add_profile(h, "tale", 5000, &perf);
    monitor_history_close(h);
    h = open_it(1 << 22, 1000);
    struct seen seen = read_it(h, 0);
    assert_int_equal(seen.n, 1);
    assert_string_equal(seen.first.service, "tale");
    assert_memory_equal(&seen.first.bin, &w.bin, sizeof w.bin);
    assert_int_equal(read_it(h, 5001).n, 0);
    assert_true(monitor_history_profile(h, "tale", &back));
    assert_memory_equal(&back, &perf, sizeof perf);
    assert_false(monitor_history_profile(h, "other", &back));
    monitor_history_close(h);
}

/* Rows of past hours become one row of each, with the same sums; the row bound drops the oldest. */
static void test_bounds(void **state)
{
    (void)state;
    struct monitor_history *h = open_it(1 << 24, 20);
    const int64_t hour_ms = 3600000;
    for (int64_t i = 0; i < 3 * 360; i++) {
        const struct monitor_history_window w = window("tale", i * 10000, 100);
        assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_DONE);
    }
    monitor_history_tidy(h, 9 * hour_ms);
    struct seen seen = read_it(h, 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.first.span_ms, hour_ms);
    assert_int_equal(seen.first.bin.n_arrived, 360);
    assert_int_equal(seen.all.bin.n_arrived, 3 * 360);
    assert_true(seen.all.bin.prompt.sum == 3 * 36000.0 && seen.first.bin.latency_s_max == 4);
    const struct monitor_history_window late = window("tale", 2 * hour_ms + 500, 100);
    assert_int_equal(add(h, &late, 1), MONITOR_HISTORY_DONE); /* of an hour that was merged */
    monitor_history_tidy(h, 9 * hour_ms);
    seen = read_it(h, 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.all.bin.n_arrived, 3 * 360 + 1);
    for (int64_t i = 3; i < 60; i++) {
        const struct monitor_history_window w = window("tale", i * hour_ms, 100);
        assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_DONE);
    }
    monitor_history_tidy(h, 100 * hour_ms);
    assert_int_equal(read_it(h, 0).n, 20);
    assert_int_equal(read_it(h, 40 * hour_ms).n, 20); /* the newest stay */
    monitor_history_close(h);
}

/* A file at its bound in bytes drops old rows, and takes new ones. */
static void test_bytes(void **state)
{
    (void)state;
    struct stat info;
    struct monitor_history *h = open_it(256 << 10, 1000000);
    for (int64_t i = 0; i < 3000; i++) {
        const struct monitor_history_window w = window("tale", i * 10000, 100);
        assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_DONE);
    }
    assert_int_equal(read_it(h, 2999 * 10000).n, 1);
    int64_t n = read_it(h, 0).n;
    assert_true(n > 200 && n < 3000);
    monitor_history_close(h);
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size <= 256 << 10);
}

static void spoil(int64_t at, int n)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    for (int i = 0; i < n; i++)
        (void)fputc(i * 37 + 11, file);
    assert_int_equal(fclose(file), 0);
}

/* A damaged or deleted file costs its rows and nothing else. */
static void test_loss(void **state)
{
    (void)state;
    static const struct {
        int64_t at;
        int n;
    } spoils[] = { { 0, 100 }, { 0, 9000 }, { 4096, 4000 }, { 60, 4 } };
    const struct monitor_history_window w = window("tale", 5000, 100);
    struct monitor_history *h = open_it(1 << 22, 1000);
    assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_DONE);
    assert_int_equal(unlink(path), 0); /* while it is open */
    assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_NEW);
    assert_int_equal(read_it(h, 0).n, 0);
    assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_DONE);
    assert_int_equal(read_it(h, 0).n, 1);
    monitor_history_close(h);
    for (size_t i = 0; i < COUNT_OF(spoils); i++) {
        spoil(spoils[i].at, spoils[i].n);
        h = open_it(1 << 22, 1000);
        assert_int_equal(read_it(h, 0).n, 0);
        assert_int_equal(add(h, &w, 1), MONITOR_HISTORY_DONE);
        assert_int_equal(read_it(h, 0).n, 1);
        monitor_history_close(h);
    }
    struct monitor_history *none = NULL;
    struct fault fault;
    const struct monitor_history_options bad = { "/nowhere/at/all.db", 1 << 22, 10 };
    assert_int_not_equal(monitor_history_open(&none, &bad, &fault), STATUS_OK);
}

/* Values that no monitor wrote are left out. */
static void test_foreign_values(void **state)
{
    (void)state;
    struct monitor_history *h = open_it(1 << 22, 1000);
    struct monitor_history_window w[2] = { window("tale", 5000, 100), window("other", 5000, 100) };
    w[0].bin.n_arrived = -5;
    w[1].bin.ttft_s.sum = -1;
    assert_int_equal(add(h, w, 2), MONITOR_HISTORY_DONE);
    assert_int_equal(read_it(h, 0).n, 0);
    monitor_history_close(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, begin, end),
        cmocka_unit_test_setup_teardown(test_bounds, begin, end),
        cmocka_unit_test_setup_teardown(test_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_loss, begin, end),
        cmocka_unit_test_setup_teardown(test_foreign_values, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
