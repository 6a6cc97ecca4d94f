/* The log's records: written and read back, cut anywhere, changed anywhere, full. */
#include "../test.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/log.h"

#include <unistd.h>

static void path_of(char *path, size_t n)
{
    snprintf(path, n, "/tmp/shoal-log-test-%d.log", (int)getpid());
}

static struct engine_log *open_log(int64_t n_bytes_max)
{
    char path[64];
    struct engine_log *log;
    struct fault fault;
    path_of(path, sizeof(path));
    assert_int_equal(engine_log_open(&log, path, n_bytes_max, &fault), STATUS_OK);
    return log;
}

static char *read_log(size_t *n)
{
    char path[64], *content;
    struct fault fault;
    path_of(path, sizeof(path));
    assert_int_equal(file_read(path, 1 << 24, &content, n, &fault), STATUS_OK);
    unlink(path);
    return content;
}

/* Record i has i payload bytes, all of value i. */
static size_t write_records(int n, int64_t n_bytes_max)
{
    struct engine_log *log = open_log(n_bytes_max);
    for (int i = 0; i < n; i++) {
        unsigned char bytes[256];
        memset(bytes, i, sizeof(bytes));
        engine_log_add(log, bytes, (size_t)i / 2);
        engine_log_add(log, bytes, (size_t)i - (size_t)i / 2);
        engine_log_put(log, (enum engine_log_kind)(i % ENGINE_LOG_FULL));
    }
    engine_log_close(log);
    return (size_t)n;
}

static enum engine_log_read read_all(const char *content, size_t n, int *n_records)
{
    struct engine_log_reader reader = { .at = (const void *)content, .n_bytes = n };
    struct engine_log_record record;
    for (*n_records = 0;; ++*n_records) {
        enum engine_log_read read = engine_log_next(&reader, &record);
        if (read != ENGINE_LOG_RECORD)
            return read;
        if (record.kind == ENGINE_LOG_FULL)
            continue;
        assert_int_equal(record.kind, *n_records % ENGINE_LOG_FULL);
        assert_int_equal(record.n_bytes, *n_records);
        for (size_t i = 0; i < record.n_bytes; i++)
            assert_int_equal(record.payload[i], *n_records);
    }
}

static void records_come_back(void **state)
{
    size_t n;
    int n_records;
    (void)state;
    write_records(200, 1 << 24);
    char *content = read_log(&n);
    assert_int_equal(read_all(content, n, &n_records), ENGINE_LOG_END);
    assert_int_equal(n_records, 200);
    for (size_t cut = 0; cut < n; cut += 1 + cut / 50) {
        enum engine_log_read read = read_all(content, cut, &n_records);
        assert_true(read == ENGINE_LOG_CUT || read == ENGINE_LOG_END);
        assert_true(n_records < 200);
    }
    mem_give(content);
}

/* A changed byte anywhere is found, and not taken for the end of the log. */
static void changes_are_found(void **state)
{
    size_t n;
    int n_records;
    (void)state;
    write_records(40, 1 << 24);
    char *content = read_log(&n);
    for (size_t at = 0; at < n; at++) {
        struct engine_log_reader reader = { .at = (const void *)content, .n_bytes = n };
        struct engine_log_record record;
        enum engine_log_read read;
        content[at] ^= 0x10;
        do
            read = engine_log_next(&reader, &record);
        while (read == ENGINE_LOG_RECORD);
        assert_int_equal(read, ENGINE_LOG_BROKEN);
        content[at] ^= 0x10;
    }
    assert_int_equal(read_all(content, n, &n_records), ENGINE_LOG_END);
    mem_give(content);
}

static void a_full_log_says_so(void **state)
{
    size_t n;
    int n_records;
    (void)state;
    write_records(200, 3000);
    char *content = read_log(&n);
    assert_true(n <= 3000 && n > 2500);
    assert_int_equal(read_all(content, n, &n_records), ENGINE_LOG_END);
    assert_true(n_records < 200);
    mem_give(content);
}

static void a_path_that_can_t_be_is_said(void **state)
{
    struct engine_log *log;
    struct fault fault;
    (void)state;
    assert_int_equal(engine_log_open(&log, "/nowhere/at/all", 1 << 20, &fault), STATUS_IO);
    assert_non_null(strstr(fault.text, "/nowhere/at/all"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(changes_are_found),
        cmocka_unit_test(a_full_log_says_so),
        cmocka_unit_test(a_path_that_can_t_be_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
