/* Rows travel through a ring. The thread reads as many as there are, adds them in one transaction,
 * and drops them when it is committed. If that fails, it tries the same rows again after a second;
 * meanwhile the ring may become full, and the table keeps what is new.
 *
 * The journal is a write-ahead log, so the file is sound whenever a process is killed. */
#include "usage/file.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "base/writer.h"
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { RING_BYTES = 1 << 20, BATCH_ROWS = 512, BUSY_MS = 2000 };

struct usage_file {
    sqlite3 *db;
    sqlite3_stmt *insert;
    struct writer *writer;
    struct usage_row *rows; /* (n_rows) of the thread: taken out of the ring, and not written yet */
    int n_rows;
    bool is_told; /* that rows can't be written */
    char path[512];
};

/* ---- The writing thread. ---- */

static bool insert(struct usage_file *f, const struct usage_row *row)
{
    sqlite3_stmt *s = f->insert;
    const struct usage_counts *c = &row->counts;
    const int64_t numbers[] = { c->n_requests, c->n_in, c->n_out, c->n_cached, c->device_ns };
    sqlite3_reset(s);
    sqlite3_bind_int(s, 1, row->day);
    sqlite3_bind_text(s, 2, row->tenant, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, row->key, -1, SQLITE_STATIC);
    for (int i = 0; i < (int)COUNT_OF(numbers); i++)
        sqlite3_bind_int64(s, 4 + i, numbers[i]);
    bool is_done = sqlite3_step(s) == SQLITE_DONE;
    sqlite3_reset(s);
    return is_done;
}

static bool do_sql(struct usage_file *f, const char *sql)
{
    return sqlite3_exec(f->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool write_rows(struct usage_file *f, const struct usage_row *rows, int n)
{
    bool is_well = do_sql(f, "BEGIN IMMEDIATE");
    for (int i = 0; i < n && is_well; i++)
        is_well = insert(f, &rows[i]);
    is_well = is_well && do_sql(f, "COMMIT");
    if (!is_well) {
        if (!f->is_told)
            log_line(LOG_ERROR, "usage", "%s can't be written, and is tried again: %s", f->path,
                     sqlite3_errmsg(f->db));
        f->is_told = true;
        (void)do_sql(f, "ROLLBACK");
        return false;
    }
    if (f->is_told)
        log_line(LOG_INFO, "usage", "%s is written again", f->path);
    f->is_told = false;
    return true;
}

/* Copies rows out of the ring, unless there are some that were not written. */
static void read_rows(struct usage_file *f, struct ring *ring)
{
    const void *record;
    size_t n_bytes;
    for (bool is_full = f->n_rows > 0; !is_full && ring_peek(ring, &record, &n_bytes);
         is_full = f->n_rows == BATCH_ROWS) {
        CHECK(n_bytes == sizeof *f->rows);
        memcpy(&f->rows[f->n_rows++], record, sizeof *f->rows);
        ring_pop(ring);
    }
}

static bool write_some(void *self, struct ring *ring)
{
    struct usage_file *f = self;
    read_rows(f, ring);
    if (f->n_rows > 0 && !write_rows(f, f->rows, f->n_rows))
        return false;
    f->n_rows = 0;
    return true;
}

/* ---- Opening. ---- */

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "CREATE TABLE IF NOT EXISTS usage (day INTEGER NOT NULL, tenant TEXT NOT NULL, key TEXT NOT "
    "NULL, requests INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, "
    "tokens_cached INTEGER NOT NULL, device_ns INTEGER NOT NULL, PRIMARY KEY (day, tenant, key)) "
    "WITHOUT ROWID;";
static const char upsert[] =
    "INSERT INTO usage VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (day, tenant, key) DO UPDATE SET "
    "requests = requests + excluded.requests, tokens_in = tokens_in + excluded.tokens_in, "
    "tokens_out = tokens_out + excluded.tokens_out, "
    "tokens_cached = tokens_cached + excluded.tokens_cached, "
    "device_ns = device_ns + excluded.device_ns";

/* Copies a column's text, cut to the room. */
static void copy_text(sqlite3_stmt *s, int column, char *to, size_t n_max)
{
    const unsigned char *text = sqlite3_column_text(s, column);
    snprintf(to, n_max, "%s", text != NULL ? (const char *)text : "");
}

static int64_t count_at(sqlite3_stmt *s, int column)
{
    return max_i64(sqlite3_column_int64(s, column), 0);
}

static bool load(struct usage_file *f, const struct usage_file_options *options)
{
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(f->db, "SELECT * FROM usage ORDER BY day DESC", -1, &s, NULL) !=
        SQLITE_OK)
        return false;
    bool fits = sqlite3_column_count(s) == 8;
    for (int n = 0; (code = sqlite3_step(s)) == SQLITE_ROW && fits && n < USAGE_ROWS_MAX / 2; n++) {
        struct usage_row row = { .day = sqlite3_column_int(s, 0),
                                 .counts = { count_at(s, 3), count_at(s, 4), count_at(s, 5),
                                             count_at(s, 6), count_at(s, 7) } };
        copy_text(s, 1, row.tenant, sizeof row.tenant);
        copy_text(s, 2, row.key, sizeof row.key);
        options->take(options->take_self, &row);
    }
    (void)sqlite3_finalize(s);
    return fits && (code == SQLITE_DONE || code == SQLITE_ROW);
}

static bool prepare(struct usage_file *f, const struct usage_file_options *options)
{
    char old[80];
    int32_t today = (int32_t)(time_unix_ns() / TIME_NS_PER_S / 86400);
    snprintf(old, sizeof old, "DELETE FROM usage WHERE day < %d", today - options->n_days_max + 1);
    (void)sqlite3_busy_timeout(f->db, BUSY_MS);
    return do_sql(f, schema) && do_sql(f, old) &&
           sqlite3_prepare_v2(f->db, upsert, -1, &f->insert, NULL) == SQLITE_OK && load(f, options);
}

enum status usage_file_open(struct usage_file **out, const struct usage_file_options *options,
                            struct fault *fault)
{
    struct usage_file *f = mem_take(sizeof *f);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW;
    snprintf(f->path, sizeof f->path, "%s", options->path);
    if (sqlite3_open_v2(options->path, &f->db, flags, NULL) != SQLITE_OK || !prepare(f, options)) {
        enum status status =
            fault_set(fault, STATUS_BAD_INPUT,
                      "usage_file: %.200s can't be used as a database: %.80s: name another file",
                      f->path, sqlite3_errmsg(f->db));
        (void)sqlite3_finalize(f->insert);
        (void)sqlite3_close(f->db);
        mem_give(f);
        return status;
    }
    f->rows = mem_take(sizeof *f->rows * BATCH_ROWS);
    f->writer = writer_start(&(struct writer_options){
        .name = "usage", .ring_bytes = RING_BYTES, .write = write_some, .self = f });
    *out = f;
    return STATUS_OK;
}

bool usage_file_put(struct usage_file *f, const struct usage_row *row)
{
    return writer_put(f->writer, row, sizeof *row, NULL, 0);
}

void usage_file_wake(struct usage_file *f)
{
    writer_wake(f->writer);
}

void usage_file_close(struct usage_file *f)
{
    if (f == NULL)
        return;
    writer_end(f->writer);
    (void)sqlite3_finalize(f->insert);
    (void)sqlite3_close(f->db);
    mem_give(f->rows);
    mem_give(f);
}
