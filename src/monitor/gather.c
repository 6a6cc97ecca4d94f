/* Gathers the traffic of services and the work of engines. */
#include "monitor/gather.h"

#include "base/mem.h"
#include "base/time.h"
#include <string.h>

static const int64_t FRESH_NS = 30 * TIME_NS_PER_S;

void monitor_gather_open(struct monitor_gather *g, int32_t n_services, int32_t n_engines,
                         int64_t bin_ns, int64_t now_ns)
{
    *g = (struct monitor_gather){ .n_engines = n_engines };
    g->services = mem_take(sizeof *g->services * (size_t)max_i32(n_services, 1));
    g->n_arrived = mem_take(sizeof *g->n_arrived * (size_t)max_i32(n_services, 1));
    g->engines = mem_take(sizeof *g->engines * (size_t)max_i32(n_engines, 1));
    monitor_init(&g->window, g->services, n_services, bin_ns, now_ns);
}

static void free_gateway(struct monitor_gateway *gateway)
{
    mem_give(gateway->numbers);
    mem_give(gateway->bases);
    *gateway = (struct monitor_gateway){ 0 };
}

void monitor_gather_close(struct monitor_gather *g)
{
    for (int i = 0; i < MONITOR_GATEWAYS_MAX; i++)
        free_gateway(&g->gateways[i]);
    mem_give(g->services);
    mem_give(g->n_arrived);
    mem_give(g->engines);
}

/* ---- Services. ---- */

static struct monitor_gateway *place_of(struct monitor_gather *g, uint64_t life)
{
    struct monitor_gateway *oldest = &g->gateways[0];
    for (int i = 0; i < MONITOR_GATEWAYS_MAX; i++) {
        struct monitor_gateway *gateway = &g->gateways[i];
        if (gateway->numbers != NULL && gateway->life == life)
            return gateway;
        if (gateway->numbers == NULL || gateway->heard_ns < oldest->heard_ns)
            oldest = oldest->numbers == NULL ? oldest : gateway;
    }
    size_t n = (size_t)max_i32(g->window.n_services, 1);
    free_gateway(oldest);
    oldest->life = life;
    oldest->numbers = mem_take(sizeof *oldest->numbers * n);
    oldest->bases = mem_take(sizeof *oldest->bases * n);
    return oldest;
}

void monitor_gather_heard(struct monitor_gather *g, int32_t service,
                          const struct monitor_heard *heard, int64_t now_ns)
{
    struct monitor_bin more;
    CHECK(service >= 0 && service < g->window.n_services);
    struct monitor_gateway *gateway = place_of(g, heard->life);
    uint64_t last = gateway->numbers[service];
    gateway->heard_ns = now_ns;
    gateway->n_engines_wanted = heard->n_engines_wanted;
    if (heard->number <= last)
        return;
    /* A gateway's first message has all that it counted; base 0. */
    if ((last > 0 || heard->number == 1) &&
        monitor_bin_since(heard->sums, &gateway->bases[service], &more)) {
        monitor_add(&g->window, service, now_ns, &more);
        g->n_arrived[service] += more.n_arrived;
    }
    gateway->numbers[service] = heard->number;
    gateway->bases[service] = *heard->sums;
}

void monitor_gather_forget(struct monitor_gather *g, int32_t service)
{
    g->services[service] = (struct monitor_service){ 0 };
    g->n_arrived[service] = 0;
    for (int i = 0; i < MONITOR_GATEWAYS_MAX; i++) {
        struct monitor_gateway *gateway = &g->gateways[i];
        if (gateway->numbers == NULL)
            continue;
        gateway->numbers[service] = 0;
        gateway->bases[service] = (struct monitor_bin){ 0 };
    }
}

int32_t monitor_gather_n_wanted(const struct monitor_gather *g, int64_t now_ns)
{
    int32_t n = 0;
    for (int i = 0; i < MONITOR_GATEWAYS_MAX; i++) {
        const struct monitor_gateway *gateway = &g->gateways[i];
        if (gateway->numbers != NULL && gateway->heard_ns + FRESH_NS > now_ns)
            n += gateway->n_engines_wanted;
    }
    return n;
}

/* ---- Engines. ---- */

static struct monitor_engine_bin *open_bin(struct monitor_gather *g, int32_t engine, int64_t now_ns)
{
    const struct monitor *window = &g->window;
    int64_t bin = max_i64(0, now_ns - window->begin_ns) / window->bin_ns;
    int64_t n = min_i64(bin - g->engine_bin, MONITOR_BINS);
    for (int64_t k = 0; k < n; k++)
        for (int32_t e = 0; e < g->n_engines; e++)
            g->engines[e].bins[(bin - k) % MONITOR_BINS] = (struct monitor_engine_bin){ 0 };
    g->engine_bin = max_i64(g->engine_bin, bin);
    return &g->engines[engine].bins[g->engine_bin % MONITOR_BINS];
}

void monitor_gather_saw(struct monitor_gather *g, int32_t e, const struct engine_report *report,
                        int32_t n_services, int64_t now_ns)
{
    struct monitor_engine *engine = &g->engines[e];
    struct monitor_engine_bin *bin = open_bin(g, e, now_ns);
    int64_t weights = 0;
    if (report->now_ns <= engine->report_ns)
        return;
    int n = min_i32(n_services, g->window.n_services);
    for (int s = 0; (s = set_next(&report->listed, s, n)) >= 0; s++) {
        const struct service_report *row = &report->services[s];
        weights += row->weights_bytes + row->activation_bytes;
        if (row->status == SERVICE_LOADED && row->perf.c1_ps + row->perf.k1_ps > 0)
            monitor_profile(&g->window, s, &row->perf);
    }
    bin->n_seen++;
    bin->memory += (double)report->memory_bytes;
    bin->weights += (double)weights;
    bin->kv += (double)max_i64(report->kv_pool_bytes - report->kv_free_bytes, 0);
    /* An engine that was started anew counts from zero. */
    if (engine->report_ns > 0 && report->step_ns >= engine->step_ns) {
        int64_t seen_ns = report->now_ns - engine->report_ns;
        bin->seen_ns += seen_ns;
        bin->busy_ns += min_i64(report->step_ns - engine->step_ns, seen_ns);
    }
    engine->report_ns = report->now_ns;
    engine->step_ns = report->step_ns;
}

void monitor_gather_read_engine(struct monitor_gather *g, int32_t e, int64_t now_ns,
                                struct monitor_engine_reading *out)
{
    struct monitor_engine_bin all = { 0 };
    (void)open_bin(g, e, now_ns);
    for (int i = 0; i < MONITOR_BINS; i++) {
        const struct monitor_engine_bin *bin = &g->engines[e].bins[i];
        all.seen_ns += bin->seen_ns;
        all.busy_ns += bin->busy_ns;
        all.n_seen += bin->n_seen;
        all.memory += bin->memory;
        all.weights += bin->weights;
        all.kv += bin->kv;
    }
    double n = (double)max_i64(all.n_seen, 1);
    *out = (struct monitor_engine_reading){
        .utilisation = all.seen_ns > 0 ? (double)all.busy_ns / (double)all.seen_ns : 0,
        .memory_bytes = all.memory / n,
        .weights_bytes = all.weights / n,
        .kv_bytes = all.kv / n,
        .n_seen = all.n_seen,
    };
}
