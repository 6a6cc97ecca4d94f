/* Writing and reading the engine's log: see log.h. */
#include "engine/log.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOG_BUFFER_BYTES = 1 << 18, LOG_HEAD_BYTES = 16 };

struct engine_log {
    int fd;
    bool is_over;   /* full, or the disk failed: nothing more is written */
    bool is_failed; /* something could not be written */
    int64_t n_bytes, n_bytes_max, flushed_ns;
    uint64_t check;
    unsigned char *record; /* payload of the record that is being made */
    size_t n_record, n_record_max, n_buffered;
    unsigned char buffer[LOG_BUFFER_BYTES];
};

static uint64_t check_of(const unsigned char *head, const unsigned char *payload, size_t n_bytes,
                         uint64_t before)
{
    uint64_t check = hash_fast(head, 8, before).low;
    return n_bytes > 0 ? hash_fast(payload, n_bytes, check).low : check;
}

/* Makes the kind's word with a check of the payload's size, so that a damaged size is not taken for
 * the log's end. */
static uint32_t first_word(uint32_t kind, uint32_t n_bytes)
{
    return kind | ((n_bytes + 1) * 0x9e3779b1u & 0xffff0000u);
}

/* ---- Writing. ---- */

enum status engine_log_open(struct engine_log **out, const char *path, int64_t n_bytes_max,
                            struct fault *fault)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return fault_set(fault, STATUS_IO, "%.150s: %s", path, strerror(errno));
    struct engine_log *log = mem_take(sizeof(*log));
    log->fd = fd;
    log->n_bytes_max = n_bytes_max;
    *out = log;
    return STATUS_OK;
}

enum status engine_log_open_numbered(struct engine_log **out, const char *file, int engine,
                                     int64_t n_bytes_max, struct fault *fault)
{
    char path[4096];
    int n = engine == 0 ? snprintf(path, sizeof path, "%s", file)
                        : snprintf(path, sizeof path, "%s.%d", file, engine);
    if (n >= (int)sizeof path)
        return fault_set(fault, STATUS_TOO_LARGE, "log_engine: a path of %d bytes", n);
    return engine_log_open(out, path, n_bytes_max, fault);
}

static void flush(struct engine_log *log)
{
    if (!log->is_failed && !file_put(log->fd, log->buffer, log->n_buffered)) {
        log_line(LOG_ERROR, "engine", "the engine's log ends early: %s", strerror(errno));
        log->is_over = log->is_failed = true;
    }
    log->n_buffered = 0;
}

static void buffer(struct engine_log *log, const void *bytes, size_t n)
{
    log->n_bytes += (int64_t)n;
    while (n > 0 && !log->is_over) {
        size_t n_now = LOG_BUFFER_BYTES - log->n_buffered;
        n_now = n < n_now ? n : n_now;
        memcpy(log->buffer + log->n_buffered, bytes, n_now);
        bytes = (const unsigned char *)bytes + n_now;
        log->n_buffered += n_now;
        n -= n_now;
        if (log->n_buffered == LOG_BUFFER_BYTES)
            flush(log);
    }
}

void engine_log_add(struct engine_log *log, const void *bytes, size_t n)
{
    if (log->n_record + n > log->n_record_max) {
        size_t n_max = 2 * (log->n_record + n);
        log->record = mem_grow(log->record, log->n_record_max, n_max);
        log->n_record_max = n_max;
    }
    if (n > 0)
        memcpy(log->record + log->n_record, bytes, n);
    log->n_record += n;
}

static void put(struct engine_log *log, enum engine_log_kind kind, const unsigned char *payload,
                size_t n)
{
    static const unsigned char zeros[8];
    unsigned char head[LOG_HEAD_BYTES];
    const uint32_t words[2] = { first_word(kind, (uint32_t)n), (uint32_t)n };
    memcpy(head, words, 8);
    log->check = check_of(head, payload, n, log->check);
    memcpy(head + 8, &log->check, 8);
    buffer(log, head, sizeof(head));
    buffer(log, payload, n);
    buffer(log, zeros, (size_t)align_up_u64(n, 8) - n);
}

void engine_log_put(struct engine_log *log, enum engine_log_kind kind)
{
    size_t n = log->n_record;
    CHECK(n <= ENGINE_LOG_RECORD_MAX);
    log->n_record = 0;
    if (log->is_over)
        return;
    if (log->n_bytes + (int64_t)n + 2 * LOG_HEAD_BYTES + 8 <= log->n_bytes_max) {
        put(log, kind, log->record, n);
        return;
    }
    log_line(LOG_WARN, "engine", "the engine's log is full after %lld bytes",
             (long long)log->n_bytes);
    put(log, ENGINE_LOG_FULL, NULL, 0);
    flush(log);
    log->is_over = true;
}

bool engine_log_close(struct engine_log *log)
{
    if (log == NULL)
        return true;
    flush(log);
    (void)close(log->fd);
    mem_give(log->record);
    bool is_written = !log->is_failed;
    mem_give(log);
    return is_written;
}

/* ---- The engine's records. ---- */

void engine_log_opened(const struct engine *e)
{
    const struct engine_options *o = &e->options;
    if (o->log == NULL)
        return;
    struct engine_log_opened opened;
    memset(&opened, 0, sizeof(opened)); /* its padding too */
    memcpy(opened.magic, "shoalog", 8);
    opened.version = ENGINE_LOG_VERSION;
    opened.request_bytes = sizeof(struct request);
    opened.perf_bytes = sizeof(struct perf);
    opened.spec_bytes = sizeof(struct service_spec);
    opened.layout_bytes = sizeof(struct kv_layout);
    opened.config_bytes = sizeof(struct schedule_config);
    opened.n_requests_max = o->n_requests_max;
    snprintf(opened.policy, sizeof(opened.policy), "%s", o->policy->name);
    opened.swap_bytes = o->swap_bytes;
    opened.swap_bytes_per_s = o->swap_bytes_per_s;
    opened.memory_bytes = o->memory_bytes;
    opened.body_bytes = o->body_bytes;
    opened.kv_unit_bytes = o->kv_unit_bytes;
    opened.kv_bytes_max = o->kv_bytes_max;
    opened.n_tokens_max = o->n_tokens_max;
    opened.n_lanes = o->n_lanes;
    opened.n_services = o->n_services;
    opened.n_services_max = o->n_services_max;
    opened.kv_bounds = o->kv_bounds;
    opened.id = o->id;
    opened.has_prefix_cache = !o->has_prefix_cache ? 0 : o->exec.has_row_classes ? 2 : 1;
    opened.is_virtual = o->is_virtual;
    opened.kv_kind = o->kv_kind;
    opened.n_rows_max = o->exec.has_vectors ? o->exec.n_rows_max : 0;
    engine_log_add(o->log, &opened, sizeof(opened));
    engine_log_add(o->log, e->specs, (size_t)o->n_services * sizeof(*e->specs));
    for (int i = 0; i < o->n_services; i++)
        engine_log_add(o->log, kv_layout(e->kv, i), sizeof(struct kv_layout));
    engine_log_add(o->log, e->lane_shares, (size_t)o->n_lanes * sizeof(*e->lane_shares));
    engine_log_add(o->log, &e->config, sizeof(e->config));
    engine_log_put(o->log, ENGINE_LOG_OPENED);
}

void engine_log_submit(const struct engine *e, const struct request *request,
                       const struct request_body *body, int64_t now_ns)
{
    const struct engine_log_word word = { .now_ns = now_ns };
    struct engine_log *log = e->options.log;
    if (log == NULL)
        return;
    engine_log_add(log, &word, sizeof(word));
    engine_log_add(log, request, sizeof(*request));
    if (body != NULL && !e->options.is_virtual)
        engine_log_add(log, body, body->n_bytes);
    engine_log_put(log, ENGINE_LOG_SUBMIT);
}

void engine_log_word(const struct engine *e, enum engine_log_kind kind,
                     const struct engine_log_word *word)
{
    if (e->options.log == NULL)
        return;
    engine_log_add(e->options.log, word, sizeof(*word));
    engine_log_put(e->options.log, kind);
}

void engine_log_perf(const struct engine *e, int service, const struct perf *perf, int64_t now_ns)
{
    const struct engine_log_word word = { .now_ns = now_ns, .service = service };
    if (e->options.log == NULL)
        return;
    engine_log_add(e->options.log, &word, sizeof(word));
    engine_log_add(e->options.log, perf, sizeof(*perf));
    engine_log_put(e->options.log, ENGINE_LOG_OPEN);
}

void engine_log_added(const struct engine *e, int service, const struct service_spec *spec,
                      const struct kv_layout *layout, int64_t now_ns)
{
    const struct engine_log_word word = { .now_ns = now_ns, .service = service };
    if (e->options.log == NULL)
        return;
    engine_log_add(e->options.log, &word, sizeof(word));
    engine_log_add(e->options.log, spec, sizeof(*spec));
    engine_log_add(e->options.log, layout, sizeof(*layout));
    engine_log_put(e->options.log, ENGINE_LOG_ADDED);
}

/* Flushes the buffer now and then, so that little is lost if the process dies. */
void engine_log_step(const struct engine *e, int64_t now_ns)
{
    struct engine_log *log = e->options.log;
    if (log == NULL)
        return;
    if (now_ns - log->flushed_ns >= 100 * TIME_NS_PER_MS) {
        flush(log);
        log->flushed_ns = now_ns;
    }
    engine_log_word(e, ENGINE_LOG_STEP, &(struct engine_log_word){ .now_ns = now_ns });
}

int32_t engine_log_items(const struct engine_flight *flight, bool is_failed)
{
    return is_failed || flight->batch.kind != BATCH_COMPUTE ? 0 : flight->batch.n_items;
}

void engine_log_done(const struct engine *e, const struct engine_exec_done *done)
{
    struct engine_log *log = e->options.log;
    if (log == NULL)
        return;
    const struct engine_flight *flight = engine_commit_flight(e, done->batch);
    CHECK(flight != NULL);
    struct engine_log_done head = { .begin_ns = done->begin_ns,
                                    .end_ns = done->end_ns,
                                    .batch = done->batch,
                                    .n_steps = done->n_steps,
                                    .n_items = engine_log_items(flight, done->is_failed),
                                    .is_failed =
                                        (uint32_t)done->is_failed + (uint32_t)done->is_lost,
                                    .has_logprobs = done->logprobs != NULL };
    for (int32_t i = 0; i < head.n_items && e->bodies != NULL; i++)
        head.n_tokens += done->n_new[i];
    engine_log_add(log, &head, sizeof(head));
    if (head.n_items > 0)
        engine_log_add(log, done->n_new, (size_t)head.n_items * sizeof(int32_t));
    for (int32_t i = 0; i < head.n_items && e->bodies != NULL; i++) {
        const struct request *r = &e->requests[flight->batch.items[i].slot];
        engine_log_add(log, engine_bodies_at(e->bodies, r->body).tokens + r->n_tokens,
                       (size_t)done->n_new[i] * sizeof(int32_t));
    }
    engine_log_put(log, ENGINE_LOG_DONE);
}

void engine_log_plan(const struct engine *e, const struct schedule_plan *plan)
{
    if (e->options.log != NULL)
        engine_log_word(e, ENGINE_LOG_PLAN,
                        &(struct engine_log_word){ .id = engine_log_plan_hash(plan) });
}

/* Hashes all of a plan, field by field, since structures have padding. */
uint64_t engine_log_plan_hash(const struct schedule_plan *plan)
{
    int64_t head[6] = { plan->n_batches,      plan->n_items,  plan->n_rounds,
                        (int64_t)plan->until, plan->until_ns, plan->n_preempts };
    uint64_t hash = hash_fast(head, sizeof(head), 1).low;
    for (int32_t i = 0; i < plan->n_batches; i++) {
        const struct batch *b = &plan->batches[i];
        int64_t batch[6] = { b->service,         b->lane,        b->kind,
                             b->pads.row_tokens, b->pads.n_rows, b->n_items };
        hash = hash_fast(batch, sizeof(batch), hash).low;
        hash = hash_fast(b->items, (size_t)b->n_items * sizeof(*b->items), hash).low;
    }
    size_t n = (size_t)plan->n_preempts;
    hash = hash_fast(plan->preempts, n * sizeof(*plan->preempts), hash).low;
    return hash_fast(plan->swaps, n * sizeof(*plan->swaps), hash).low;
}

/* ---- Reading. ---- */

enum engine_log_read engine_log_next(struct engine_log_reader *reader,
                                     struct engine_log_record *record)
{
    size_t n_left = reader->n_bytes - reader->next;
    const unsigned char *head = reader->at + reader->next;
    uint32_t words[2];
    uint64_t check;
    if (n_left == 0)
        return ENGINE_LOG_END;
    if (n_left < LOG_HEAD_BYTES)
        return ENGINE_LOG_CUT;
    memcpy(words, head, 8);
    memcpy(&check, head + 8, 8);
    uint32_t kind = words[0] & 0xffff;
    if (kind >= ENGINE_LOG_KINDS || words[1] > ENGINE_LOG_RECORD_MAX ||
        words[0] != first_word(kind, words[1]))
        return ENGINE_LOG_BROKEN;
    size_t n_padded = (size_t)align_up_u64(words[1], 8);
    if (n_left - LOG_HEAD_BYTES < n_padded)
        return ENGINE_LOG_CUT;
    *record =
        (struct engine_log_record){ (enum engine_log_kind)kind, head + LOG_HEAD_BYTES, words[1] };
    reader->check = check_of(head, record->payload, words[1], reader->check);
    if (reader->check != check)
        return ENGINE_LOG_BROKEN;
    for (size_t i = words[1]; i < n_padded; i++)
        if (record->payload[i] != 0)
            return ENGINE_LOG_BROKEN;
    reader->next += LOG_HEAD_BYTES + n_padded;
    return ENGINE_LOG_RECORD;
}
