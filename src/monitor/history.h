/* Keeps the windows of a monitor in a SQLite file, bounded in rows and bytes.
 *
 *   windows (service, begin, span, counts and sums)   one row per service and bin
 *   engines (engine, begin, span, busy, memory)       one row per engine and bin
 *   profiles (service, seen, coefficients)            the last one of each service
 *
 * Rows that are older than six hours are merged into one row per hour. When there are more rows
 * than the bound, or the file is full, the oldest rows are dropped.
 *
 * The file is a copy of what the manager heard, so nothing in it is worth stopping for. A file that
 * is damaged, or was deleted, is replaced by a new one, with a sentence in the log. The caller then
 * writes what it still has in memory. The file is not synced: after a crash of the machine it may
 * have to be replaced. */
#pragma once
#include "base/status.h"
#include "core/limits.h"
#include "monitor/gather.h"

struct monitor_history;
struct monitor_history_options {
    const char *path;
    int64_t bytes_max; /* of the file; its log may be as large again */
    int64_t rows_max;  /* of each table */
};
/* Opens or makes the file. Fails when the folder can't be written to. A file that another process
 * has locked is left alone, and opened by a later write. */
enum status monitor_history_open(struct monitor_history **out,
                                 const struct monitor_history_options *options,
                                 struct fault *fault) MUST_USE;
void monitor_history_close(struct monitor_history *history);

struct monitor_history_window { /* a service's bin */
    char service[LIMIT_NAME_BYTES];
    int64_t begin_ms, span_ms; /* since 1970 */
    struct monitor_bin bin;
};
struct monitor_history_engine {
    char engine[256]; /* HOST:PORT and number */
    int64_t begin_ms, span_ms;
    struct monitor_engine_bin bin;
};
struct monitor_history_rows {
    const struct monitor_history_window *windows; /* (n_windows) */
    const struct monitor_history_engine *engines; /* (n_engines) */
    int n_windows, n_engines;
};
enum monitor_history_end {
    MONITOR_HISTORY_DONE,   /* or the file had no room, which the log tells */
    MONITOR_HISTORY_NEW,    /* it had to be replaced, and has no rows: write all that is known */
    MONITOR_HISTORY_LOCKED, /* another process holds it: nothing is written, try again */
};
/* Writes rows; a row of the same name and begin is replaced. Waits 2 s for a lock. */
enum monitor_history_end monitor_history_add(struct monitor_history *history,
                                             const struct monitor_history_rows *rows);
void monitor_history_add_profile(struct monitor_history *history, const char *service,
                                 int64_t seen_ms, const struct perf *perf);
/* Merges and drops rows as the bounds ask. */
void monitor_history_tidy(struct monitor_history *history, int64_t now_ms);

/* Calls f for the newest rows of services since a time, n_max at most, oldest first. */
void monitor_history_read(struct monitor_history *history, int64_t since_ms, int n_max,
                          void (*f)(void *self, const struct monitor_history_window *row),
                          void *self);
/* Reads the last profile of a service. Returns false when there is none. */
bool monitor_history_profile(struct monitor_history *history, const char *service,
                             struct perf *out);
