/* Keeps windows of the monitor in SQLite. */
#include "monitor/history.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 1, PAGE_BYTES = 4096, TABLES = 3, BUSY_MS = 2000 };
static const int64_t FINE_MS = 6 * 3600 * INT64_C(1000);
static const int64_t HOUR_MS = 3600 * INT64_C(1000);

struct column {
    const char *name;
    uint16_t offset;
    bool is_real;
    bool is_most; /* merged rows have the greatest of it, others the sum */
};
#define BIN(field) offsetof(struct monitor_bin, field)
#define SUM(field)                                                                                 \
    { #field "_n", BIN(field.n), false, false }, { #field "_sum", BIN(field.sum), true, false },   \
    {                                                                                              \
#field "_squares", BIN(field.squares), true, false                                         \
    }
static const struct column window_columns[] = {
    { "n_arrived", BIN(n_arrived), false, false },
    { "n_done", BIN(n_done), false, false },
    { "n_failed", BIN(n_failed), false, false },
    { "n_met", BIN(n_met), false, false },
    SUM(prompt),
    SUM(output),
    SUM(ttft_s),
    SUM(tpot_s),
    SUM(latency_s),
    SUM(normalized),
    SUM(solo_s),
    { "latency_s_max", BIN(latency_s_max), true, true },
};
#define ENGINE(field) offsetof(struct monitor_engine_bin, field)
static const struct column engine_columns[] = {
    { "seen_ns", ENGINE(seen_ns), false, false }, { "busy_ns", ENGINE(busy_ns), false, false },
    { "n_seen", ENGINE(n_seen), false, false },   { "memory", ENGINE(memory), true, false },
    { "weights", ENGINE(weights), true, false },  { "kv", ENGINE(kv), true, false },
};
#define PERF(field) offsetof(struct perf, field)
static const struct column profile_columns[] = {
    { "floor_ps", PERF(floor_ps), false, false },    { "c1_ps", PERF(c1_ps), false, false },
    { "k1_ps", PERF(k1_ps), false, false },          { "q1_ps", PERF(q1_ps), false, false },
    { "c3_small_ps", PERF(c3_ps[0]), false, false }, { "c3_ps", PERF(c3_ps[1]), false, false },
    { "c2_small_ps", PERF(c2_ps[0]), false, false }, { "c2_ps", PERF(c2_ps[1]), false, false },
    { "k2_small_ps", PERF(k2_ps[0]), false, false }, { "k2_ps", PERF(k2_ps[1]), false, false },
};
/* b_switch and the scales have other types, so they are columns of their own. */

enum table { WINDOWS, ENGINES, PROFILES };
static const struct {
    const char *name;
    const struct column *columns;
    int n;
} tables[TABLES] = {
    { "windows", window_columns, COUNT_OF(window_columns) },
    { "engines", engine_columns, COUNT_OF(engine_columns) },
    { "profiles", profile_columns, COUNT_OF(profile_columns) },
};

struct monitor_history {
    struct monitor_history_options options;
    char *path;
    sqlite3 *db;
    sqlite3_stmt *insert[TABLES];
    bool is_lost;   /* the file has to be replaced */
    bool is_told;   /* that rows can't be written */
    bool is_locked; /* by another process, when it was used last */
};

/* ---- The file. ---- */

static bool do_sql(struct monitor_history *h, const char *sql)
{
    int code = sqlite3_exec(h->db, sql, NULL, NULL, NULL);
    int primary = code & 0xff;
    h->is_locked = primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
    if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_IOERR)
        h->is_lost = true;
    return code == SQLITE_OK;
}

static int64_t number(struct monitor_history *h, const char *sql)
{
    sqlite3_stmt *statement;
    int64_t value = -1;
    int code = sqlite3_prepare_v2(h->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    h->is_locked = (code & 0xff) == SQLITE_BUSY;
    (void)sqlite3_finalize(statement);
    return value;
}

static void add_columns(struct str *sql, enum table t, const char *format)
{
    for (int i = 0; i < tables[t].n; i++)
        str_printf(sql, format, tables[t].columns[i].name);
}

static bool make_tables(struct monitor_history *h)
{
    struct str sql;
    str_init(&sql);
    str_printf(&sql, "BEGIN;");
    for (int t = 0; t < TABLES; t++) {
        str_printf(&sql,
                   "CREATE TABLE %s (name TEXT NOT NULL, begin_ms INTEGER NOT NULL, "
                   "span_ms INTEGER NOT NULL",
                   tables[t].name);
        add_columns(&sql, (enum table)t, ", %s NOT NULL");
        if (t == PROFILES)
            str_printf(&sql, ", b_switch, prefill_scale, decode_scale, PRIMARY KEY (name))");
        else
            str_printf(&sql, ", PRIMARY KEY (name, begin_ms))");
        str_printf(&sql, " WITHOUT ROWID;");
        if (t != PROFILES)
            str_printf(&sql, "CREATE INDEX %s_by_time ON %s (begin_ms);", tables[t].name,
                       tables[t].name);
    }
    str_printf(&sql, "PRAGMA user_version = %d; COMMIT;", (int)VERSION);
    bool is_made = do_sql(h, sql.at);
    str_free(&sql);
    return is_made;
}

static bool prepare(struct monitor_history *h)
{
    bool are_ready = true;
    for (int t = 0; t < TABLES; t++) {
        struct str sql;
        str_init(&sql);
        str_printf(&sql, "INSERT OR REPLACE INTO %s VALUES (?,?,?", tables[t].name);
        for (int i = 0; i < tables[t].n + (t == PROFILES ? 3 : 0); i++)
            str_printf(&sql, ",?");
        str_printf(&sql, ")");
        are_ready =
            are_ready && sqlite3_prepare_v2(h->db, sql.at, -1, &h->insert[t], NULL) == SQLITE_OK;
        str_free(&sql);
    }
    return are_ready;
}

static void close_file(struct monitor_history *h)
{
    for (int t = 0; t < TABLES; t++) {
        (void)sqlite3_finalize(h->insert[t]);
        h->insert[t] = NULL;
    }
    (void)sqlite3_close(h->db);
    h->db = NULL;
}

/* Returns false when the file is not one of ours, or damaged. */
static bool open_file(struct monitor_history *h)
{
    char sql[160];
    h->is_lost = h->is_locked = false;
    if (sqlite3_open(h->path, &h->db) != SQLITE_OK)
        return false;
    (void)sqlite3_busy_timeout(h->db, BUSY_MS);
    snprintf(sql, sizeof sql,
             "PRAGMA page_size = %d; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
             "PRAGMA max_page_count = %lld;",
             (int)PAGE_BYTES, (long long)max_i64(h->options.bytes_max / PAGE_BYTES, 64));
    if (!do_sql(h, sql))
        return false;
    int64_t version = number(h, "PRAGMA user_version");
    if (h->is_locked)
        return false;
    if (version == 0 && number(h, "SELECT count(*) FROM sqlite_master") == 0)
        return make_tables(h) && prepare(h);
    return version == VERSION &&
           number(h, "SELECT count(*) FROM pragma_quick_check WHERE "
                     "quick_check <> 'ok'") == 0 &&
           prepare(h);
}

static void remove_file(const struct monitor_history *h)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
    struct str path;
    str_init(&path);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        str_clear(&path);
        str_printf(&path, "%s%s", h->path, ends[i]);
        (void)unlink(path.at);
    }
    str_free(&path);
}

/* Replaces the file by an empty one. Without one it goes on, and tries again at the next rows. */
static bool renew(struct monitor_history *h, const char *why)
{
    log_line(LOG_WARN, "monitor", "%s %s: a new one is begun", h->path, why);
    close_file(h);
    remove_file(h);
    if (open_file(h))
        return true;
    log_line(LOG_ERROR, "monitor", "%s can't be made: the history of the monitor is not kept",
             h->path);
    close_file(h);
    return false;
}

enum status monitor_history_open(struct monitor_history **out,
                                 const struct monitor_history_options *options, struct fault *fault)
{
    struct monitor_history *h = mem_take(sizeof *h);
    h->options = *options;
    h->path = mem_copy_text(options->path);
    bool is_open = open_file(h);
    if (!is_open && h->is_locked)
        close_file(h);
    else if (!is_open && !renew(h, "is damaged, or of another version")) {
        enum status status = fault_set(fault, STATUS_IO, "%.200s can't be written", options->path);
        monitor_history_close(h);
        return status;
    }
    *out = h;
    return STATUS_OK;
}

void monitor_history_close(struct monitor_history *h)
{
    if (h == NULL)
        return;
    close_file(h);
    mem_give(h->path);
    mem_give(h);
}

/* Returns whether the file is there and is the one that was opened. */
static bool is_there(struct monitor_history *h)
{
    int has_moved = 0;
    return h->db != NULL && !h->is_lost &&
           (sqlite3_file_control(h->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved) != SQLITE_OK ||
            !has_moved);
}

/* ---- Writing. ---- */

static void bind_columns(sqlite3_stmt *statement, enum table t, const void *values)
{
    for (int i = 0; i < tables[t].n; i++) {
        const struct column *column = &tables[t].columns[i];
        const void *at = (const char *)values + column->offset;
        if (column->is_real)
            (void)sqlite3_bind_double(statement, i + 4, *(const double *)at);
        else
            (void)sqlite3_bind_int64(statement, i + 4, *(const int64_t *)at);
    }
}

static int put(struct monitor_history *h, enum table t, const char *name, const int64_t times[2],
               const void *values)
{
    sqlite3_stmt *statement = h->insert[t];
    (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 2, times[0]);
    (void)sqlite3_bind_int64(statement, 3, times[1]);
    bind_columns(statement, t, values);
    int code = sqlite3_step(statement);
    (void)sqlite3_reset(statement);
    int primary = code & 0xff;
    h->is_lost = h->is_lost || primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB ||
                 primary == SQLITE_IOERR;
    return primary;
}

/* Drops a part of the rows, the oldest ones. */
static void drop_oldest(struct monitor_history *h, enum table t, int64_t n)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "DELETE FROM %s WHERE begin_ms <= (SELECT begin_ms FROM %s ORDER BY begin_ms LIMIT 1 "
             "OFFSET %lld)",
             tables[t].name, tables[t].name, (long long)max_i64(n - 1, 0));
    (void)do_sql(h, sql);
}

static int put_all(struct monitor_history *h, const struct monitor_history_rows *rows)
{
    int code = SQLITE_DONE;
    if (!do_sql(h, "BEGIN"))
        return h->is_lost ? SQLITE_IOERR : SQLITE_BUSY;
    for (int i = 0; i < rows->n_windows && code == SQLITE_DONE; i++)
        code = put(h, WINDOWS, rows->windows[i].service,
                   (const int64_t[2]){ rows->windows[i].begin_ms, rows->windows[i].span_ms },
                   &rows->windows[i].bin);
    for (int i = 0; i < rows->n_engines && code == SQLITE_DONE; i++)
        code = put(h, ENGINES, rows->engines[i].engine,
                   (const int64_t[2]){ rows->engines[i].begin_ms, rows->engines[i].span_ms },
                   &rows->engines[i].bin);
    if (code == SQLITE_DONE && do_sql(h, "COMMIT"))
        return SQLITE_DONE;
    if (code == SQLITE_DONE)
        code = h->is_locked ? SQLITE_BUSY : SQLITE_FULL;
    (void)do_sql(h, "ROLLBACK");
    return code;
}

static void drop_tenth(struct monitor_history *h)
{
    drop_oldest(h, WINDOWS, number(h, "SELECT count(*) / 10 + 1 FROM windows"));
    drop_oldest(h, ENGINES, number(h, "SELECT count(*) / 10 + 1 FROM engines"));
}

/* Opens a file that was locked. Returns false while it still is. */
static bool open_again(struct monitor_history *h)
{
    if (h->db != NULL || !h->is_locked)
        return true;
    if (open_file(h))
        return true;
    close_file(h);
    return !h->is_locked; /* else it is damaged, or can't be made */
}

enum monitor_history_end monitor_history_add(struct monitor_history *h,
                                             const struct monitor_history_rows *rows)
{
    if (!open_again(h))
        return MONITOR_HISTORY_LOCKED;
    if (!is_there(h)) {
        (void)renew(h, h->db == NULL ? "is missing" : h->is_lost ? "is damaged" : "was removed");
        return MONITOR_HISTORY_NEW;
    }
    int code = put_all(h, rows);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return MONITOR_HISTORY_LOCKED;
    if (code == SQLITE_FULL) {
        drop_tenth(h);
        code = put_all(h, rows);
    }
    if (h->is_lost) {
        (void)renew(h, "is damaged");
        return MONITOR_HISTORY_NEW;
    }
    if (code != SQLITE_DONE && !h->is_told)
        log_line(LOG_WARN, "monitor", "%s: a window is not kept: %s", h->path,
                 sqlite3_errstr(code));
    h->is_told = code != SQLITE_DONE;
    return MONITOR_HISTORY_DONE;
}

void monitor_history_add_profile(struct monitor_history *h, const char *service, int64_t seen_ms,
                                 const struct perf *perf)
{
    const int64_t times[2] = { seen_ms, 0 };
    if (!is_there(h))
        return; /* the next rows renew it */
    int at = tables[PROFILES].n + 4;
    (void)sqlite3_bind_int64(h->insert[PROFILES], at, perf->b_switch);
    (void)sqlite3_bind_double(h->insert[PROFILES], at + 1, (double)perf->prefill_scale);
    (void)sqlite3_bind_double(h->insert[PROFILES], at + 2, (double)perf->decode_scale);
    (void)put(h, PROFILES, service, times, perf);
}

/* ---- Bounds. ---- */

/* Merges the fine rows before a time into rows of an hour. A row of that hour that is there is
 * merged, too, since it begins at the hour. */
static void merge(struct monitor_history *h, enum table t, int64_t before_ms)
{
    struct str sql;
    long long hour = HOUR_MS, before = before_ms - before_ms % HOUR_MS;
    str_init(&sql);
    str_printf(&sql, "BEGIN; CREATE TEMP TABLE merged AS SELECT name, begin_ms / %lld * %lld, %lld",
               hour, hour, hour);
    for (int i = 0; i < tables[t].n; i++)
        str_printf(&sql, ", %s(%s)", tables[t].columns[i].is_most ? "max" : "sum",
                   tables[t].columns[i].name);
    str_printf(&sql,
               " FROM %s WHERE begin_ms < %lld AND begin_ms / %lld IN (SELECT begin_ms / %lld FROM "
               "%s WHERE begin_ms < %lld AND span_ms < %lld) GROUP BY 1, 2;",
               tables[t].name, before, hour, hour, tables[t].name, before, hour);
    str_printf(&sql,
               "DELETE FROM %s WHERE begin_ms < %lld AND begin_ms / %lld IN (SELECT begin_ms / "
               "%lld FROM %s WHERE begin_ms < %lld AND span_ms < %lld);",
               tables[t].name, before, hour, hour, tables[t].name, before, hour);
    str_printf(&sql, "INSERT INTO %s SELECT * FROM merged; DROP TABLE merged; COMMIT;",
               tables[t].name);
    if (!do_sql(h, sql.at))
        (void)do_sql(h, "ROLLBACK");
    str_free(&sql);
}

void monitor_history_tidy(struct monitor_history *h, int64_t now_ms)
{
    if (!is_there(h))
        return;
    for (int t = WINDOWS; t <= ENGINES; t++) {
        char sql[80];
        merge(h, (enum table)t, now_ms - FINE_MS);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[t].name);
        int64_t n = number(h, sql);
        if (n > h->options.rows_max)
            drop_oldest(h, (enum table)t, n - h->options.rows_max);
    }
}

/* ---- Reading. Values are checked, since a file may have been changed by hand. ---- */

static void read_columns(sqlite3_stmt *statement, enum table t, void *values)
{
    for (int i = 0; i < tables[t].n; i++) {
        const struct column *column = &tables[t].columns[i];
        void *at = (char *)values + column->offset;
        if (column->is_real)
            *(double *)at = sqlite3_column_double(statement, i + 3);
        else
            *(int64_t *)at = sqlite3_column_int64(statement, i + 3);
    }
}

void monitor_history_read(struct monitor_history *h, int64_t since_ms, int n_max,
                          void (*f)(void *self, const struct monitor_history_window *row),
                          void *self)
{
    static const char sql[] = "SELECT * FROM (SELECT * FROM windows WHERE begin_ms >= ? "
                              "ORDER BY begin_ms DESC LIMIT ?) ORDER BY begin_ms";
    sqlite3_stmt *statement;
    if (h->db == NULL || sqlite3_prepare_v2(h->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return;
    (void)sqlite3_bind_int64(statement, 1, since_ms);
    (void)sqlite3_bind_int(statement, 2, n_max);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        struct monitor_history_window row = { .begin_ms = sqlite3_column_int64(statement, 1),
                                              .span_ms = sqlite3_column_int64(statement, 2) };
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        snprintf(row.service, sizeof row.service, "%s", name != NULL ? name : "");
        read_columns(statement, WINDOWS, &row.bin);
        if (row.span_ms > 0 && monitor_bin_is_valid(&row.bin))
            f(self, &row);
    }
    (void)sqlite3_finalize(statement);
}

bool monitor_history_profile(struct monitor_history *h, const char *service, struct perf *out)
{
    sqlite3_stmt *statement;
    bool is_found = false;
    if (h->db == NULL || sqlite3_prepare_v2(h->db, "SELECT * FROM profiles WHERE name = ?", -1,
                                            &statement, NULL) != SQLITE_OK)
        return false;
    (void)sqlite3_bind_text(statement, 1, service, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        int at = tables[PROFILES].n + 3;
        *out = (struct perf){ 0 };
        read_columns(statement, PROFILES, out);
        out->b_switch = sqlite3_column_int(statement, at);
        out->prefill_scale = (float)sqlite3_column_double(statement, at + 1);
        out->decode_scale = (float)sqlite3_column_double(statement, at + 2);
        is_found = coefficients_are_sane(out);
    }
    (void)sqlite3_finalize(statement);
    return is_found;
}
