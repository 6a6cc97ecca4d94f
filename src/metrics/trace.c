/* Chrome's trace-event format: see trace.h. */
#include "metrics/trace.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/team.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TRACE_BUFFER_BYTES = 1 << 16 };

struct metrics_trace {
    int fd;
    struct lock *lock;
    struct str text; /* not written yet */
    int64_t n_bytes, n_bytes_max;
    bool is_over, is_failed, has_event;
};

enum status metrics_trace_open(struct metrics_trace **out, const char *path, int64_t n_bytes_max,
                               struct fault *fault)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return fault_set(fault, STATUS_IO, "%.150s: %s", path, strerror(errno));
    struct metrics_trace *trace = mem_take(sizeof(*trace));
    trace->fd = fd;
    trace->n_bytes_max = n_bytes_max;
    trace->lock = lock_open();
    str_init(&trace->text);
    str_add_char(&trace->text, '[');
    *out = trace;
    return STATUS_OK;
}

static void flush(struct metrics_trace *trace)
{
    if (!trace->is_failed && !file_put(trace->fd, trace->text.at, trace->text.n)) {
        log_line(LOG_ERROR, "trace", "the trace ends early: %s", strerror(errno));
        trace->is_over = trace->is_failed = true;
    }
    trace->n_bytes += (int64_t)trace->text.n;
    trace->text.n = 0;
}

/* Begins an event's object. Returns false when the trace has no room for it. */
static bool begin(struct metrics_trace *trace, struct json_out *json)
{
    if (!trace->is_over && trace->n_bytes + (int64_t)trace->text.n + 512 > trace->n_bytes_max) {
        log_line(LOG_WARN, "trace", "the trace is full: it ends here");
        trace->is_over = true;
    }
    if (trace->is_over)
        return false;
    str_add_text(&trace->text, trace->has_event ? ",\n" : "\n");
    trace->has_event = true;
    json_out_init(json, &trace->text);
    json_out_open(json, '{');
    return true;
}

/* Writes nanoseconds as microseconds with three digits: exact, unlike a double. */
static void member_us(struct metrics_trace *trace, struct json_out *json, const char *key,
                      int64_t ns)
{
    json_out_key_i64(json, key, ns / 1000);
    char digits[8];
    snprintf(digits, sizeof(digits), ".%03d", (int)(ns % 1000));
    str_add_text(&trace->text, digits);
}

static void end(struct metrics_trace *trace, struct json_out *json)
{
    json_out_close(json, '}');
    if (trace->text.n >= TRACE_BUFFER_BYTES)
        flush(trace);
}

static void name_row(struct metrics_trace *trace, const char *what, const char *name, int pid,
                     int tid)
{
    struct json_out json;
    if (!begin(trace, &json))
        return;
    json_out_key_text(&json, "name", what);
    json_out_key_text(&json, "ph", "M");
    json_out_key_i64(&json, "pid", pid);
    json_out_key_i64(&json, "tid", tid);
    json_out_key(&json, "args");
    json_out_open(&json, '{');
    json_out_key_text(&json, "name", name);
    json_out_close(&json, '}');
    end(trace, &json);
}

void metrics_trace_lane(struct metrics_trace *trace, uint16_t engine, uint16_t lane,
                        const char *name)
{
    char process[32];
    snprintf(process, sizeof(process), "engine %d", engine);
    lock_take(trace->lock);
    name_row(trace, "process_name", process, engine, lane);
    name_row(trace, "thread_name", name, engine, lane);
    lock_put(trace->lock);
}

static void add(struct metrics_trace *trace, const struct metrics_trace_batch *b)
{
    struct json_out json;
    if (!begin(trace, &json))
        return;
    json_out_key_text(&json, "name", b->service);
    json_out_key_text(&json, "cat", b->kind);
    json_out_key_text(&json, "ph", "X");
    json_out_key_i64(&json, "pid", b->engine);
    json_out_key_i64(&json, "tid", b->lane);
    member_us(trace, &json, "ts", b->begin_ns);
    member_us(trace, &json, "dur", max_i64(b->end_ns - b->begin_ns, 0));
    json_out_key(&json, "args");
    json_out_open(&json, '{');
    json_out_key_text(&json, "kind", b->kind);
    json_out_key_i64(&json, "items", b->n_items);
    json_out_key_i64(&json, "tokens", b->n_tokens);
    json_out_key_i64(&json, "rounds", b->n_rounds);
    if (b->n_pad_tokens > 0 || b->n_invalid_tokens > 0) {
        json_out_key_i64(&json, "pad_tokens", b->n_pad_tokens);
        json_out_key_i64(&json, "invalid_tokens", b->n_invalid_tokens);
    }
    json_out_close(&json, '}');
    end(trace, &json);
}

void metrics_trace_add(struct metrics_trace *trace, const struct metrics_trace_batch *batch)
{
    lock_take(trace->lock);
    add(trace, batch);
    lock_put(trace->lock);
}

bool metrics_trace_close(struct metrics_trace *trace)
{
    if (trace == NULL)
        return true;
    str_add_text(&trace->text, "\n]\n");
    if (trace->n_bytes + (int64_t)trace->text.n <= trace->n_bytes_max + 512)
        flush(trace);
    (void)close(trace->fd);
    lock_close(trace->lock);
    str_free(&trace->text);
    bool is_written = !trace->is_failed;
    mem_give(trace);
    return is_written;
}
