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
static const int64_t TIDY_NS = 600 * TIME_NS_PER_S;
static const int64_t MS = TIME_NS_PER_MS;

void fleet_monitor_open(struct fleet_monitor *m, const struct config *config,
                        const struct fleet_models *models, const struct fleet_bus *bus)
{
    struct fault fault;
    struct str path;
    *m = (struct fleet_monitor){ .models = models,
                                 .bus = bus,
                                 .bin_ns = config->monitor_ns / (MONITOR_BINS - 1) };
    str_init(&path);
    str_printf(&path, "%s/monitor.db", config->state_dir);
    const struct monitor_history_options options = { path.at, FILE_BYTES, FILE_ROWS };
    if (monitor_history_open(&m->history, &options, &fault) != STATUS_OK)
        log_line(LOG_ERROR, "monitor", "%s; the monitor goes on without it", fault.text);
    str_free(&path);
}

void fleet_monitor_close(struct fleet_monitor *m)
{
    fleet_monitor_end(m);
    monitor_history_close(m->history);
    m->history = NULL;
}

/* ---- What was known before. ---- */

struct restoring {
    struct fleet_monitor *m;
    int64_t now_ns, unix_ms; /* the same time */
    int64_t first_ms, last_ms;
    bool is_counting; /* times alone */
};

static int service_of(const struct fleet_models *models, const char *name)
{
    for (int s = 0; s < models->n; s++)
        if (strcmp(models->services[s].name, name) == 0)
            return s;
    return -1;
}

static void restore(void *self, const struct monitor_history_window *row)
{
    struct restoring *r = self;
    int service = service_of(r->m->models, row->service);
    if (row->begin_ms + row->span_ms > r->unix_ms || service < 0)
        return; /* of a clock that was ahead */
    r->first_ms = min_i64(r->first_ms, row->begin_ms);
    r->last_ms = max_i64(r->last_ms, row->begin_ms + row->span_ms);
    if (!r->is_counting)
        monitor_add(&r->m->gather.window, service, r->now_ns - (r->unix_ms - row->begin_ms) * MS,
                    &row->bin);
}

void fleet_monitor_begin(struct fleet_monitor *m, int64_t now_ns)
{
    int64_t span_ns = (MONITOR_BINS - 1) * m->bin_ns, begin_ns = now_ns;
    struct restoring r = { .m = m,
                           .now_ns = now_ns,
                           .unix_ms = time_unix_ns() / MS,
                           .first_ms = INT64_MAX,
                           .is_counting = true };
    int64_t since_ms = r.unix_ms - span_ns / MS;
    if (m->history != NULL)
        monitor_history_read(m->history, since_ms, restore, &r);
    bool goes_on = r.first_ms < INT64_MAX && r.last_ms + 60000 >= r.unix_ms;
    if (goes_on)
        begin_ns -= (r.unix_ms - r.first_ms) * MS;
    monitor_gather_open(&m->gather, m->models->n, m->bus->n_engines, m->bin_ns, begin_ns);
    r.is_counting = false;
    if (goes_on)
        monitor_history_read(m->history, since_ms, restore, &r);
    for (int s = 0; s < m->models->n && m->history != NULL; s++)
        (void)monitor_history_profile(m->history, m->models->services[s].name,
                                      &m->gather.services[s].perf);
    m->leads = true;
    m->n_written = goes_on ? m->gather.window.bin + 1 : 0;
    m->gather.engine_bin = m->gather.window.bin;
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

/* ---- Names. ---- */

static const char *service_name(const void *self, int32_t service)
{
    return ((const struct fleet_monitor *)self)->models->services[service].name;
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

/* Writes the bins [from, to) of the window, which are over. */
static bool write_bins(struct fleet_monitor *m, int64_t from, int64_t to, int64_t now_ns)
{
    const struct monitor *window = &m->gather.window;
    int64_t unix_ns = time_unix_ns();
    int n_bins = (int)(to - from), n_services = window->n_services;
    struct monitor_history_rows rows = { 0 };
    struct monitor_history_window *windows =
        mem_take(sizeof *windows * (size_t)max_i32(n_bins * n_services, 1));
    struct monitor_history_engine *engines =
        mem_take(sizeof *engines * (size_t)max_i32(n_bins * m->gather.n_engines, 1));
    for (int64_t bin = from; bin < to; bin++) {
        int64_t begin_ns = window->begin_ns + bin * window->bin_ns;
        int64_t begin_ms = (unix_ns - (now_ns - begin_ns)) / MS, span_ms = window->bin_ns / MS;
        for (int s = 0; s < n_services; s++) {
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
    }
    rows.windows = windows;
    rows.engines = engines;
    bool is_kept = monitor_history_add(m->history, &rows);
    mem_give(windows);
    mem_give(engines);
    return is_kept;
}

static void keep(struct fleet_monitor *m, int64_t now_ns)
{
    int64_t bin = m->gather.window.bin;
    if (bin <= m->n_written || m->history == NULL)
        return;
    int64_t oldest = max_i64(0, bin - MONITOR_BINS + 1);
    if (!write_bins(m, max_i64(m->n_written, oldest), bin, now_ns))
        (void)write_bins(m, oldest, bin, now_ns); /* the file is new: all that is known */
    m->n_written = bin;
    for (int s = 0; s < m->models->n; s++)
        if (m->gather.services[s].perf.c1_ps + m->gather.services[s].perf.k1_ps > 0)
            monitor_history_add_profile(m->history, m->models->services[s].name,
                                        time_unix_ns() / MS, &m->gather.services[s].perf);
    if (m->tidied_ns + TIDY_NS > now_ns)
        return;
    m->tidied_ns = now_ns;
    monitor_history_tidy(m->history, time_unix_ns() / MS);
}

void fleet_monitor_step(struct fleet_monitor *m, const struct engine_report *reports, int n_engines,
                        int64_t now_ns)
{
    struct monitor_reading reading;
    if (!m->leads || m->seen_ns + SEE_NS > now_ns)
        return;
    m->seen_ns = now_ns;
    for (int e = 0; e < n_engines; e++)
        if (reports[e].now_ns > 0)
            monitor_gather_saw(&m->gather, e, &reports[e], m->models->n, now_ns);
    if (m->models->n > 0)
        monitor_read(&m->gather.window, 0, now_ns, &reading); /* opens the bin of now */
    keep(m, now_ns);
}
