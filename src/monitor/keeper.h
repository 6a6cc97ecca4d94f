/* Keeps the monitor's history by a thread of its own, so that a slow, full or locked disk holds no
 * manager up. The caller puts rows into a bounded queue (base/writer.h), and asks for what the file
 * has; the answer comes later. No function but the closing waits for the disk. */
#pragma once
#include "monitor/history.h"

struct monitor_keeper;
/* Begins to open or make the file. The log tells when that fails; it is tried again each second. */
struct monitor_keeper *monitor_keeper_open(const struct monitor_history_options *options);
/* Writes what was put, unless a write fails. NULL is fine. */
void monitor_keeper_close(struct monitor_keeper *keeper);

/* Puts rows. Returns false when the queue has no room for all of them; then some may be in it. */
bool monitor_keeper_add(struct monitor_keeper *keeper,
                        const struct monitor_history_rows *rows) MUST_USE;
/* A profile or a tidying that finds no room is dropped, since another one comes soon. */
void monitor_keeper_add_profile(struct monitor_keeper *keeper, const char *service, int64_t seen_ms,
                                const struct perf *perf);
void monitor_keeper_tidy(struct monitor_keeper *keeper, int64_t now_ms);
/* Returns true once after the file was replaced: it lacks what was put before. */
bool monitor_keeper_is_new(struct monitor_keeper *keeper);

struct monitor_keeper_profile {
    char service[LIMIT_NAME_BYTES];
    struct perf perf;
};
struct monitor_keeper_known { /* an answer, which the caller gives back */
    uint64_t number;          /* of the question */
    int n_windows, n_profiles;
    struct monitor_keeper_profile *profiles; /* of the services that were asked for */
    struct monitor_history_window windows[]; /* (n_windows) oldest first, the newest 4,096 */
};
/* Asks for the windows since a time, and for the profiles of these services. */
bool monitor_keeper_ask(struct monitor_keeper *keeper, uint64_t number, int64_t since_ms,
                        const char (*services)[LIMIT_NAME_BYTES], int n_services) MUST_USE;
/* Takes the last answer; NULL: none has come. */
struct monitor_keeper_known *monitor_keeper_take(struct monitor_keeper *keeper);
void monitor_keeper_give(struct monitor_keeper_known *known); /* NULL is fine */
