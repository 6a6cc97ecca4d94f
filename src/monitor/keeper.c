/* Runs the thread that keeps the history.
 *
 * A record of the queue is a head, and then windows, engines, a profile or names of services. */
#include "monitor/keeper.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/writer.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { RING_BYTES = 4 << 20, ROWS_OF_RECORD = 64, WINDOWS_MAX = 4096 };
enum kind { WINDOWS, ENGINES, PROFILE, TIDY, ASK };

struct head {
    int32_t kind, n;
    int64_t ms; /* of TIDY and ASK */
    uint64_t number;
};
struct monitor_keeper {
    struct monitor_history_options options;
    char *path;
    struct writer *writer;
    _Atomic bool is_new;
    _Atomic(struct monitor_keeper_known *) known;
    /* The thread's: */
    struct monitor_history *history; /* NULL: it could not be opened yet */
    bool is_told;                    /* the log has what is wrong */
};

/* ---- The thread. ---- */

static bool open_history(struct monitor_keeper *k)
{
    struct fault fault;
    if (k->history == NULL && monitor_history_open(&k->history, &k->options, &fault) != STATUS_OK) {
        k->history = NULL;
        if (!k->is_told)
            log_line(LOG_ERROR, "monitor", "%s; the monitor goes on without it", fault.text);
        k->is_told = true;
    }
    return k->history != NULL;
}

static void copy_window(void *self, const struct monitor_history_window *row)
{
    struct monitor_keeper_known *known = self;
    known->windows[known->n_windows++] = *row;
}

void monitor_keeper_give(struct monitor_keeper_known *known)
{
    if (known != NULL)
        mem_give(known->profiles);
    mem_give(known);
}

static void answer(struct monitor_keeper *k, const struct head *head, const char *services)
{
    struct monitor_keeper_known *known =
        mem_take(sizeof *known + sizeof known->windows[0] * WINDOWS_MAX);
    known->number = head->number;
    known->profiles = mem_take(sizeof *known->profiles * (size_t)max_i32(head->n, 1));
    monitor_history_read(k->history, head->ms, WINDOWS_MAX, copy_window, known);
    for (int i = 0; i < head->n; i++) {
        struct monitor_keeper_profile *profile = &known->profiles[known->n_profiles];
        const char *service = services + (size_t)i * LIMIT_NAME_BYTES;
        if (!monitor_history_profile(k->history, service, &profile->perf))
            continue;
        memcpy(profile->service, service, sizeof profile->service);
        known->n_profiles++;
    }
    monitor_keeper_give(atomic_exchange(&k->known, known));
}

static enum monitor_history_end add(struct monitor_keeper *k, const struct head *head,
                                    const void *rows)
{
    const struct monitor_history_rows windows = { .windows = rows, .n_windows = head->n };
    const struct monitor_history_rows engines = { .engines = rows, .n_engines = head->n };
    return monitor_history_add(k->history, head->kind == WINDOWS ? &windows : &engines);
}

/* Returns false when the file is locked. */
static bool carry_out(struct monitor_keeper *k, const struct head *head)
{
    const void *rest = head + 1;
    const struct monitor_keeper_profile *profile = rest;
    enum monitor_history_end end = MONITOR_HISTORY_DONE;
    switch (head->kind) {
    case WINDOWS:
    case ENGINES:
        end = add(k, head, rest);
        break;
    case PROFILE:
        monitor_history_add_profile(k->history, profile->service, head->ms, &profile->perf);
        break;
    case TIDY:
        monitor_history_tidy(k->history, head->ms);
        break;
    default:
        answer(k, head, rest);
        break;
    }
    if (end == MONITOR_HISTORY_NEW)
        k->is_new = true;
    bool is_locked = end == MONITOR_HISTORY_LOCKED;
    if (is_locked && !k->is_told)
        log_line(LOG_WARN, "monitor", "%s is locked by another process, and is tried again",
                 k->path);
    if (!is_locked && k->is_told)
        log_line(LOG_INFO, "monitor", "%s is written again", k->path);
    k->is_told = is_locked;
    return !is_locked;
}

static bool write_some(void *self, struct ring *ring)
{
    struct monitor_keeper *k = self;
    const void *record;
    size_t n_bytes;
    if (!open_history(k))
        return false;
    if (!ring_peek(ring, &record, &n_bytes))
        return true;
    if (!carry_out(k, record))
        return false;
    ring_pop(ring);
    return true;
}

/* ---- The caller. ---- */

struct monitor_keeper *monitor_keeper_open(const struct monitor_history_options *options)
{
    struct monitor_keeper *k = mem_take(sizeof *k);
    k->options = *options;
    k->path = mem_copy_text(options->path);
    k->options.path = k->path;
    k->writer = writer_start(&(struct writer_options){
        .name = "monitor", .ring_bytes = RING_BYTES, .write = write_some, .self = k });
    return k;
}

void monitor_keeper_close(struct monitor_keeper *k)
{
    if (k == NULL)
        return;
    writer_end(k->writer);
    monitor_history_close(k->history);
    monitor_keeper_give(k->known);
    mem_give(k->path);
    mem_give(k);
}

static bool put(struct monitor_keeper *k, const struct head *head, const void *rest, size_t n_bytes)
{
    bool is_put = writer_put(k->writer, head, sizeof *head, rest, n_bytes);
    writer_wake(k->writer);
    return is_put;
}

bool monitor_keeper_add(struct monitor_keeper *k, const struct monitor_history_rows *rows)
{
    bool are_put = true;
    for (int i = 0; i < rows->n_windows && are_put; i += ROWS_OF_RECORD) {
        struct head head = { WINDOWS, min_i32(rows->n_windows - i, ROWS_OF_RECORD), 0, 0 };
        are_put = put(k, &head, &rows->windows[i], sizeof rows->windows[0] * (size_t)head.n);
    }
    for (int i = 0; i < rows->n_engines && are_put; i += ROWS_OF_RECORD) {
        struct head head = { ENGINES, min_i32(rows->n_engines - i, ROWS_OF_RECORD), 0, 0 };
        are_put = put(k, &head, &rows->engines[i], sizeof rows->engines[0] * (size_t)head.n);
    }
    return are_put;
}

void monitor_keeper_add_profile(struct monitor_keeper *k, const char *service, int64_t seen_ms,
                                const struct perf *perf)
{
    struct monitor_keeper_profile profile = { .perf = *perf };
    snprintf(profile.service, sizeof profile.service, "%s", service);
    (void)put(k, &(struct head){ PROFILE, 1, seen_ms, 0 }, &profile, sizeof profile);
}

void monitor_keeper_tidy(struct monitor_keeper *k, int64_t now_ms)
{
    (void)put(k, &(struct head){ TIDY, 0, now_ms, 0 }, NULL, 0);
}

bool monitor_keeper_is_new(struct monitor_keeper *k)
{
    return atomic_exchange(&k->is_new, false);
}

bool monitor_keeper_ask(struct monitor_keeper *k, uint64_t number, int64_t since_ms,
                        const char (*services)[LIMIT_NAME_BYTES], int n_services)
{
    return put(k, &(struct head){ ASK, n_services, since_ms, number }, services,
               sizeof *services * (size_t)n_services);
}

struct monitor_keeper_known *monitor_keeper_take(struct monitor_keeper *k)
{
    return atomic_exchange(&k->known, NULL);
}
