/* A manager's monitor and its file. */
#include "fleet/monitor.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cluster/message.h"
#include "cluster/nodes.h"
#include "config/config.h"
#include "fleet/bus.h"
#include "fleet/models.h"
#include <stdio.h>
#include <string.h>

static const int64_t FILE_BYTES = INT64_C(64) << 20;
static const int64_t FILE_ROWS = 200000;
static const int64_t SEE_NS = TIME_NS_PER_S;
static const int64_t ANSWER_NS = 5 * TIME_NS_PER_S; /* later, the window begins with nothing */
static const int64_t TIDY_NS = 600 * TIME_NS_PER_S;
static const int64_t MS = TIME_NS_PER_MS;

void fleet_monitor_open(struct fleet_monitor *m, const struct config *config,
                        const struct fleet_models *models, const struct fleet_bus *bus)
{
    struct str path;
    *m = (struct fleet_monitor){ .models = models,
                                 .bus = bus,
                                 .bin_ns = config->monitor_ns / (MONITOR_BINS - 1) };
    str_init(&path);
    str_printf(&path, "%s/monitor.db", config->state_dir);
    const struct monitor_history_options options = { path.at, FILE_BYTES, FILE_ROWS };
    m->keeper = monitor_keeper_open(&options);
    str_free(&path);
}

void fleet_monitor_close(struct fleet_monitor *m)
{
    fleet_monitor_end(m);
    monitor_keeper_close(m->keeper);
    m->keeper = NULL;
}

/* ---- What was known before. ---- */

static int service_of(const struct fleet_models *models, const char *name)
{
    for (int s = 0; s < models->n; s++)
        if (fleet_models_is_there(models, s) && strcmp(models->services[s].name, name) == 0)
            return s;
    return -1;
}

/* A row whose end lies ahead is of a clock that was ahead. */
static bool counts(const struct fleet_monitor *m, const struct monitor_history_window *row,
                   int64_t unix_ms)
{
    return row->begin_ms + row->span_ms <= unix_ms && service_of(m->models, row->service) >= 0;
}

/* Begins the window anew with the rows of the file. What was gathered since the question is lost,
 * and gateways' next sums are bases. */
static void restore_windows(struct fleet_monitor *m, const struct monitor_keeper_known *known,
                            int64_t now_ns)
{
    int64_t unix_ms = time_unix_ns() / MS, first_ms = INT64_MAX, last_ms = 0;
    int64_t n_arrived[LIMIT_MODELS];
    for (int i = 0; i < known->n_windows; i++) {
        const struct monitor_history_window *row = &known->windows[i];
        if (!counts(m, row, unix_ms))
            continue;
        first_ms = min_i64(first_ms, row->begin_ms);
        last_ms = max_i64(last_ms, row->begin_ms + row->span_ms);
    }
    if (first_ms == INT64_MAX || last_ms + 60000 < unix_ms)
        return;
    memcpy(n_arrived, m->gather.n_arrived, sizeof n_arrived);
    monitor_gather_close(&m->gather);
    monitor_gather_open(&m->gather, LIMIT_MODELS, m->bus->n_engines, m->bin_ns,
                        now_ns - (unix_ms - first_ms) * MS);
    memcpy(m->gather.n_arrived, n_arrived, sizeof n_arrived);
    for (int i = 0; i < known->n_windows; i++) {
        const struct monitor_history_window *row = &known->windows[i];
        if (counts(m, row, unix_ms))
            monitor_add(&m->gather.window, service_of(m->models, row->service),
                        now_ns - (unix_ms - row->begin_ms) * MS, &row->bin);
    }
    m->n_written = m->gather.window.bin + 1;
    m->gather.engine_bin = m->gather.window.bin;
}

static void restore(struct fleet_monitor *m, int64_t now_ns)
{
    struct monitor_keeper_known *known = monitor_keeper_take(m->keeper);
    bool is_late = m->asked_ns + ANSWER_NS <= now_ns;
    if (known != NULL && known->number == m->n_asked && !is_late) {
        restore_windows(m, known, now_ns);
        for (int i = 0; i < known->n_profiles; i++) {
            int s = service_of(m->models, known->profiles[i].service);
            if (s >= 0)
                monitor_profile(&m->gather.window, s, &known->profiles[i].perf);
        }
        m->asked_ns = 0;
    } else if (is_late) {
        m->asked_ns = 0;
    }
    monitor_keeper_give(known);
}

void fleet_monitor_begin(struct fleet_monitor *m, int64_t now_ns)
{
    char names[LIMIT_MODELS][LIMIT_NAME_BYTES];
    int64_t span_ns = (MONITOR_BINS - 1) * m->bin_ns;
    int n = 0;
    for (int s = 0; s < m->models->n; s++)
        if (fleet_models_is_there(m->models, s))
            memcpy(names[n++], m->models->services[s].name, sizeof names[0]);
    monitor_gather_open(&m->gather, LIMIT_MODELS, m->bus->n_engines, m->bin_ns, now_ns);
    bool is_asked = monitor_keeper_ask(m->keeper, ++m->n_asked, (time_unix_ns() - span_ns) / MS,
                                       (const char(*)[LIMIT_NAME_BYTES])names, n);
    m->asked_ns = is_asked ? now_ns : 0;
    m->leads = true;
    m->n_written = 0;
    m->seen_ns = m->tidied_ns = now_ns;
}

void fleet_monitor_end(struct fleet_monitor *m)
{
    if (m->leads)
        monitor_gather_close(&m->gather);
    m->leads = false;
}

void fleet_monitor_heard(struct fleet_monitor *m, int service, const struct message_demand *message,
                         int64_t now_ns)
{
    const struct monitor_heard heard = { .life = message->head.id,
                                         .number = message->number,
                                         .n_engines_wanted = message->n_engines_wanted,
                                         .sums = &message->sums };
    if (m->leads && service < m->models->n)
        monitor_gather_heard(&m->gather, service, &heard, now_ns);
}

void fleet_monitor_forget(struct fleet_monitor *m, int service)
{
    if (m->leads)
        monitor_gather_forget(&m->gather, service);
}

/* ---- Names. ---- */

static const char *service_name(const void *self, int32_t service)
{
    const struct fleet_models *models = ((const struct fleet_monitor *)self)->models;
    return fleet_models_is_there(models, service) ? models->services[service].name : NULL;
}

static const char *engine_name(const void *self, int32_t engine)
{
    static char name[FLEET_BUS_NODE_NAMES + 16];
    const struct fleet_bus *bus = ((const struct fleet_monitor *)self)->bus;
    int first = 0;
    for (int i = 0; i < bus->peers.n; i++) {
        if (engine < first + bus->peers.nodes[i].n_engines) {
            snprintf(name, sizeof name, "%s/%d", bus->peers.of[i].address, engine - first);
            return bus->peers.of[i].address[0] != '\0' ? name : NULL;
        }
        first += bus->peers.nodes[i].n_engines;
    }
    return NULL;
}

struct monitor_names fleet_monitor_names(const struct fleet_monitor *m)
{
    return (struct monitor_names){ service_name, engine_name, m };
}

/* ---- Its step. ---- */

/* Writes a bin of the window, which is over. Returns false when the keeper has no room for it. */
static bool write_bin(struct fleet_monitor *m, int64_t bin, int64_t now_ns)
{
    const struct monitor *window = &m->gather.window;
    int64_t unix_ns = time_unix_ns(), begin_ns = window->begin_ns + bin * window->bin_ns;
    int64_t begin_ms = (unix_ns - (now_ns - begin_ns)) / MS, span_ms = window->bin_ns / MS;
    struct monitor_history_rows rows = { 0 };
    struct monitor_history_window *windows =
        mem_take(sizeof *windows * (size_t)max_i32(m->models->n, 1));
    struct monitor_history_engine *engines =
        mem_take(sizeof *engines * (size_t)max_i32(m->gather.n_engines, 1));
    for (int s = 0; s < m->models->n; s++) {
        if (!fleet_models_is_there(m->models, s))
            continue;
        struct monitor_history_window *row = &windows[rows.n_windows++];
        row->begin_ms = begin_ms;
        row->span_ms = span_ms;
        row->bin = window->services[s].bins[bin % MONITOR_BINS];
        snprintf(row->service, sizeof row->service, "%s", m->models->services[s].name);
    }
    for (int e = 0; e < m->gather.n_engines; e++) {
        const struct monitor_engine_bin *seen = &m->gather.engines[e].bins[bin % MONITOR_BINS];
        const char *name = engine_name(m, e);
        if (seen->n_seen == 0 || name == NULL)
            continue;
        struct monitor_history_engine *row = &engines[rows.n_engines++];
        *row = (struct monitor_history_engine){ .begin_ms = begin_ms,
                                                .span_ms = span_ms,
                                                .bin = *seen };
        snprintf(row->engine, sizeof row->engine, "%.255s", name);
    }
    rows.windows = windows;
    rows.engines = engines;
    bool is_kept = monitor_keeper_add(m->keeper, &rows);
    mem_give(windows);
    mem_give(engines);
    return is_kept;
}

/* Gives bins that are over to the keeper. What it has no room for is tried again. */
static void keep(struct fleet_monitor *m, int64_t now_ns)
{
    int64_t bin = m->gather.window.bin, oldest = max_i64(0, bin - MONITOR_BINS + 1);
    if (monitor_keeper_is_new(m->keeper)) /* the file lacks what was written before */
        m->n_written = oldest;
    if (bin <= m->n_written)
        return;
    m->n_written = max_i64(m->n_written, oldest);
    while (m->n_written < bin && write_bin(m, m->n_written, now_ns))
        m->n_written++;
    for (int s = 0; s < m->models->n; s++)
        if (fleet_models_is_there(m->models, s) &&
            m->gather.services[s].perf.c1_ps + m->gather.services[s].perf.k1_ps > 0)
            monitor_keeper_add_profile(m->keeper, m->models->services[s].name, time_unix_ns() / MS,
                                       &m->gather.services[s].perf);
    if (m->tidied_ns + TIDY_NS > now_ns)
        return;
    m->tidied_ns = now_ns;
    monitor_keeper_tidy(m->keeper, time_unix_ns() / MS);
}

void fleet_monitor_step(struct fleet_monitor *m, const struct engine_report *reports, int n_engines,
                        int64_t now_ns)
{
    struct monitor_reading reading;
    if (!m->leads || m->seen_ns + SEE_NS > now_ns)
        return;
    m->seen_ns = now_ns;
    if (m->asked_ns > 0)
        restore(m, now_ns);
    for (int e = 0; e < n_engines; e++)
        if (reports[e].now_ns > 0)
            monitor_gather_saw(&m->gather, e, &reports[e], m->models->n, now_ns);
    if (m->models->n > 0)
        monitor_read(&m->gather.window, 0, now_ns, &reading); /* opens the bin of now */
    if (m->asked_ns == 0)
        keep(m, now_ns);
}
