/* The loop of an engine's process, on its main thread. */
#include "process/engine.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "bulk/door.h"
#include "bulk/pulls.h"
#include "engine/exchange.h"
#include "grammar/cache.h"
#include "process/channel.h"
#include "process/child.h"
#include "process/record.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int64_t BEAT_NS = 200 * TIME_NS_PER_MS, FULL_NS = TIME_NS_PER_MS;

enum { OFFERS_MAX = 64, GRAMMAR_CACHE_BYTES = 32 << 20 };

enum want_phase { WANT_NONE, WANT_ASKED, WANT_SENT, WANT_GIVEN, WANT_DROPPED };

struct process_engine {
    struct process_channel channel;
    process_engine_open_device *open_device;
    struct grammar_cache *grammars; /* compiled again here, from the texts of the requests */
    struct run_unit *unit;
    struct service service;
    struct process_options_read options;
    struct bulk_pulls *pulls; /* with the two below: of KV from and to elsewhere; NULL: none */
    struct exchange *exchange;
    struct bulk_door *door;
    enum run_unit_presence presence[LIMIT_MODELS];
    bool is_full, has_put;
    struct service_change change;
    bool has_change;
    int64_t said_ns; /* of the report that was sent last */
    /* One load at a time wants weights: the loader's thread asks, the loop answers. */
    struct {
        _Atomic int phase;
        int service;
        int64_t n_bytes;
        enum status status;
        struct run_unit_lent lent;
        struct fault fault;
        struct wake asked, given;
    } want;
};

/* ---- To the parent. ---- */

/* Returns false when the ring is full, which the loop then tries again soon. */
static bool put(struct process_engine *p, const void *part1, size_t n1, const void *part2,
                size_t n2)
{
    bool is_put = ring_put(p->channel.up, part1, n1, part2, n2);
    p->has_put |= is_put;
    p->is_full |= !is_put;
    return is_put;
}

static void send_changes(struct process_engine *p)
{
    while (!p->is_full) {
        if (!p->has_change && !run_unit_next_change(p->unit, &p->change))
            return;
        struct process_change record = { .head = { .kind = PROCESS_CHANGE } };
        record.change = p->change;
        p->has_change = !put(p, &record, sizeof record, NULL, 0);
    }
}

/* Sends a report when the engine made a new one. */
static void send_report(struct process_engine *p)
{
    const struct engine_report *report = run_unit_report(p->unit);
    const struct process_record head = { .kind = PROCESS_REPORT };
    if (report->memory_bytes > 0 && report->now_ns != p->said_ns &&
        put(p, &head, sizeof head, report, engine_report_bytes(report->n_services)))
        p->said_ns = report->now_ns;
}

static void send_presences(struct process_engine *p)
{
    for (int s = 0; s < LIMIT_MODELS; s++) {
        enum run_unit_presence now = run_unit_presence(p->unit, s);
        bool is_news = now == RUN_UNIT_NONE || now == RUN_UNIT_REFUSED || now == RUN_UNIT_READY;
        struct process_presence record = { .head = { .kind = PROCESS_PRESENCE, .service = s },
                                           .presence = (uint64_t)now };
        if (now == p->presence[s])
            continue;
        if (now == RUN_UNIT_REFUSED)
            snprintf(record.why.text, sizeof record.why.text, "%s", run_unit_refusal(p->unit, s));
        if (!is_news || put(p, &record, sizeof record, NULL, 0))
            p->presence[s] = now;
    }
}

/* ---- Weights that the parent lends. ---- */

/* On the loader's thread. */
static enum status lend(void *self, int service, int64_t n_bytes, struct run_progress *progress,
                        struct run_unit_lent *lent, struct fault *fault)
{
    struct process_engine *p = self;
    const int64_t look_ns = 20 * TIME_NS_PER_MS; /* at the wish to cancel */
    p->want.service = service;
    p->want.n_bytes = n_bytes;
    atomic_store(&p->want.phase, WANT_ASKED);
    wake_up(&p->want.asked);
    while (atomic_load(&p->want.phase) != WANT_GIVEN) {
        (void)wake_wait(&p->want.given, look_ns);
        wake_clear(&p->want.given);
        int asked = WANT_ASKED, sent = WANT_SENT;
        if (atomic_load(&progress->cancel) &&
            (atomic_compare_exchange_strong(&p->want.phase, &asked, WANT_NONE) ||
             atomic_compare_exchange_strong(&p->want.phase, &sent, WANT_DROPPED))) {
            wake_up(&p->want.asked);
            return fault_set(fault, STATUS_CANCELLED, "loading was cancelled");
        }
    }
    *lent = p->want.lent;
    *fault = p->want.fault;
    enum status status = p->want.status;
    atomic_store(&p->want.phase, WANT_NONE);
    return status;
}

static void send_want(struct process_engine *p)
{
    int phase = atomic_load(&p->want.phase);
    struct process_want record = { { PROCESS_WANT, p->want.service }, p->want.n_bytes };
    wake_clear(&p->want.asked);
    if (phase == WANT_DROPPED) {
        record.n_bytes = 0;
        int dropped = WANT_DROPPED; /* the loader may have asked again by now */
        if (put(p, &record, sizeof record, NULL, 0))
            (void)atomic_compare_exchange_strong(&p->want.phase, &dropped, WANT_NONE);
    } else if (phase == WANT_ASKED) {
        int asked = WANT_ASKED;
        if (put(p, &record, sizeof record, NULL, 0) &&
            !atomic_compare_exchange_strong(&p->want.phase, &asked, WANT_SENT)) {
            record.n_bytes = 0; /* cancelled meanwhile */
            (void)put(p, &record, sizeof record, NULL, 0);
        }
    }
}

/* An answer that comes after the wish was dropped is closed. */
static void take_lent(struct process_engine *p, const struct process_lent *m)
{
    int sent = WANT_SENT, fd = -1;
    uint64_t file_hash;
    while (m->status == STATUS_OK && (fd = process_channel_take_fd(&p->channel, &file_hash)) >= 0 &&
           file_hash != m->file_hash)
        close(fd); /* its record found a full ring */
    bool is_wanted = atomic_load(&p->want.phase) == WANT_SENT && p->want.service == m->head.service;
    if (is_wanted) {
        p->want.status = (enum status)m->status;
        p->want.fault = m->fault;
        p->want.lent = (struct run_unit_lent){ fd, m->file_hash };
        if (m->status == STATUS_OK && fd < 0)
            p->want.status = fault_set(&p->want.fault, STATUS_IO, "no descriptor came");
        is_wanted = atomic_compare_exchange_strong(&p->want.phase, &sent, WANT_GIVEN);
    }
    if (!is_wanted && fd >= 0)
        close(fd);
    wake_up(&p->want.given);
}

/* ---- From the parent, which is trusted. ---- */

/* Returns false when the record can't be obeyed yet; then it stays in the ring. */
static bool add(struct process_engine *p, const struct process_add *m)
{
    int s = m->head.service;
    struct run_unit_joins joins = { .service = &m->service.spec,
                                    .layout = &m->service.layout,
                                    .path = m->service.path,
                                    .kv_dtype = (enum dtype)m->service.kv_dtype,
                                    .perf = m->service.perf };
    if (run_unit_presence(p->unit, s) != RUN_UNIT_NONE)
        return false;                                 /* the earlier one is still leaving */
    struct model_spec *spec = mem_take(sizeof *spec); /* for as long as the process lives */
    *spec = m->service.model;
    if (m->service.has_model)
        joins.spec = spec;
    run_unit_add_service(p->unit, s, &joins);
    p->presence[s] = RUN_UNIT_ADDING;
    return true;
}

static bool admit(struct process_engine *p, int service)
{
    enum run_unit_presence presence = run_unit_presence(p->unit, service);
    if (presence == RUN_UNIT_ADDING)
        return false;
    if (presence == RUN_UNIT_READY)
        run_unit_admit_service(p->unit, service);
    return true;
}

/* The parent removes a service only when it is not loaded, as far as it knows. */
static bool remove_service(struct process_engine *p, int service)
{
    enum run_unit_presence presence = run_unit_presence(p->unit, service);
    if (presence == RUN_UNIT_NONE || presence == RUN_UNIT_REMOVING)
        return true;
    p->presence[service] = RUN_UNIT_REMOVING;
    return run_unit_remove_service(p->unit, service);
}

static bool take(struct process_engine *p, const void *record)
{
    const struct process_record *head = record;
    switch (head->kind) {
    case PROCESS_SUBMIT: {
        const struct process_submit *m = record;
        return p->service.submit(p->service.self, &m->request, (const void *)(m + 1));
    }
    case PROCESS_CANCEL: {
        const struct process_cancel *m = record;
        p->service.cancel(p->service.self, m->id, (uint32_t)m->epoch);
        return true;
    }
    case PROCESS_LOAD:
        run_unit_load(p->unit, head->service);
        return true;
    case PROCESS_UNLOAD:
        run_unit_unload(p->unit, head->service,
                        ((const struct process_unload *)record)->even_busy != 0);
        return true;
    case PROCESS_DRAIN:
        run_unit_drain(p->unit);
        return true;
    case PROCESS_ADD:
        return add(p, record);
    case PROCESS_ADMIT:
        return admit(p, head->service);
    case PROCESS_REMOVE:
        return remove_service(p, head->service);
    default:
        CHECK(head->kind == PROCESS_LENT);
        take_lent(p, record);
        return true;
    }
}

/* Returns false when a record has to wait. */
static bool take_mail(struct process_engine *p)
{
    const void *record;
    size_t n_bytes;
    wake_clear(&p->channel.down_wake);
    while (ring_peek(p->channel.down, &record, &n_bytes)) {
        if (!take(p, record))
            return false;
        ring_pop(p->channel.down);
    }
    return true;
}

/* ---- The loop. ---- */

/* Called with every plan, on the engine's thread: notes the services of its lanes. */
static bool planned(void *self, const struct schedule_plan *plan)
{
    struct process_engine *p = self;
    for (int32_t i = 0; i < plan->n_batches; i++) {
        _Atomic uint32_t *marks = p->channel.head->marks[plan->batches[i].lane];
        uint32_t mark = plan->batches[i].service + 1u;
        if (atomic_load_explicit(&marks[0], memory_order_relaxed) == mark)
            continue;
        atomic_store_explicit(&marks[1], atomic_load(&marks[0]), memory_order_relaxed);
        atomic_store_explicit(&marks[0], mark, memory_order_relaxed);
    }
    return true;
}

/* Sleeps until something may have happened. Returns false when the parent has closed its end. */
static bool sleep_until(struct process_engine *p, int64_t wake_ns)
{
    struct pollfd fds[] = { { .fd = p->channel.down_wake.fd, .events = POLLIN },
                            { .fd = p->service.wait_fd(p->service.self), .events = POLLIN },
                            { .fd = run_unit_load_fd(p->unit), .events = POLLIN },
                            { .fd = p->want.asked.fd, .events = POLLIN },
                            { .fd = p->channel.socket } }; /* POLLHUP alone */
    int64_t left_ns = max_i64(wake_ns - time_now_ns(), 0);
    struct timespec left = { left_ns / TIME_NS_PER_S, left_ns % TIME_NS_PER_S };
    (void)ppoll(fds, COUNT_OF(fds), &left, NULL);
    return (fds[4].revents & POLLHUP) == 0;
}

static void loop(struct process_engine *p)
{
    int64_t wake_ns = 0;
    do {
        int64_t now_ns = time_now_ns();
        p->is_full = p->has_put = false;
        atomic_fetch_add_explicit(&p->channel.head->beat, 1, memory_order_relaxed);
        bool is_all = take_mail(p);
        wake_ns = min_i64(run_unit_step(p->unit, now_ns), now_ns + BEAT_NS);
        atomic_store_explicit(&p->channel.head->loading, (uint32_t)(run_unit_loading(p->unit) + 1),
                              memory_order_relaxed);
        send_changes(p);
        send_presences(p);
        send_want(p);
        send_report(p);
        if (p->has_put)
            wake_up(&p->channel.up_wake);
        if (p->is_full || !is_all)
            wake_ns = min_i64(wake_ns, now_ns + FULL_NS);
    } while (sleep_until(p, wake_ns));
}

static enum status reopen(void *self, struct compute_device **out, struct fault *fault)
{
    struct process_engine *p = self;
    const struct process_options *options = p->channel.options;
    return p->open_device(&options->device, out, fault);
}

/* The way of KV to other engines: through the parent. */
static enum status open_exchange(struct process_engine *p, struct fault *fault)
{
    const struct process_options *options = p->channel.options;
    if (!options->has_exchange)
        return STATUS_OK;
    p->pulls = bulk_pulls_open();
    p->exchange = exchange_open(&(struct exchange_options){
        .seed = rng_system(), .n_offers_max = OFFERS_MAX, .remote = bulk_pulls_remote(p->pulls) });
    p->door = bulk_door_open(
        &(struct bulk_door_options){ .exchange = p->exchange,
                                     .pulls = p->pulls,
                                     .parent_fd = PROCESS_CHILD_FDS + PROCESS_CHANNEL_FDS },
        fault);
    return p->door != NULL ? STATUS_OK : STATUS_IO;
}

static void close_exchange(struct process_engine *p)
{
    bulk_door_close(p->door);
    exchange_close(p->exchange);
    bulk_pulls_close(p->pulls);
}

static enum status open_unit(struct process_engine *p, process_engine_open_device *open_device,
                             process_engine_open_tokenizer *open_tokenizer, struct fault *fault)
{
    const struct process_options *options = p->channel.options;
    struct compute_device *device;
    p->open_device = open_device;
    enum status status = open_exchange(p, fault);
    if (status == STATUS_OK)
        status = open_device(&options->device, &device, fault);
    if (status != STATUS_OK)
        return status;
    process_options_read(&p->options, options);
    struct run_unit_options *unit = &p->options.unit;
    unit->device = device;
    unit->reopen = options->device.spec.kind == DEVICE_CUDA || options->device.spec.n_ranks > 0
                       ? reopen
                       : NULL;
    unit->reopen_self = p;
    unit->grammars = p->grammars = grammar_cache_open(GRAMMAR_CACHE_BYTES);
    unit->open_tokenizer = open_tokenizer;
    unit->host.events = p->channel.events;
    unit->host.events_wake = &p->channel.up_wake;
    unit->host.engine.exchange = p->exchange;
    unit->host.engine.planned = planned;
    unit->host.engine.planned_self = p;
    wake_open(&p->want.asked);
    wake_open(&p->want.given);
    if (options->is_lent)
        unit->lender = (struct run_unit_lender){ p, lend };
    p->unit = run_unit_open(unit);
    p->service = run_unit_service(p->unit);
    for (int s = 0; s < LIMIT_MODELS; s++)
        p->presence[s] = run_unit_presence(p->unit, s);
    return STATUS_OK;
}

int process_engine_run(process_engine_open_device *open_device,
                       process_engine_open_tokenizer *open_tokenizer)
{
    struct process_engine *p = mem_take(sizeof *p);
    struct fault fault;
    enum status status = process_channel_join(&p->channel, PROCESS_CHILD_FDS, &fault);
    if (status == STATUS_OK)
        status = open_unit(p, open_device, open_tokenizer, &fault);
    if (status != STATUS_OK) {
        fprintf(stderr, "%s\n", fault.text);
        mem_give(p);
        return 2;
    }
    const struct process_record ready = { .kind = PROCESS_READY };
    CHECK(ring_put(p->channel.up, &ready, sizeof ready, NULL, 0));
    wake_up(&p->channel.up_wake);
    loop(p);
    struct compute_device *device = run_unit_close(p->unit);
    if (device != NULL) /* else it was lost */
        device->close(device->self);
    close_exchange(p);
    grammar_cache_close(p->grammars);
    wake_close(&p->want.asked);
    wake_close(&p->want.given);
    process_channel_close(&p->channel);
    mem_give(p);
    return 0;
}
