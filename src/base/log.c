/* Log lines on stderr.
 *
 * For people:      14:03:59.123 info  engine: loaded m.gguf
 * As JSON:         {"time":"2025-01-31T14:03:59.123Z","level":"info","part":"engine","text":"loaded
 * m.gguf"} Under systemd:   <6>engine: loaded m.gguf          (the journal stamps the time; known
 * by JOURNAL_STREAM) A line is one write of at most 2 kB, so lines of several threads and processes
 * never mix. */
#include "base/log.h"
#include "base/file.h"
#include "base/str.h"
#include "base/json_out.h"
#include "base/time.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOG_TEXT_BYTES 2048

static _Atomic int level_now = LOG_INFO;
static _Atomic bool is_json = false;

static const struct {
    const char *name, *padded;
    int journal; /* syslog's number */
} levels[] = {
    [LOG_DEBUG] = { "debug", "debug", 7 },
    [LOG_INFO] = { "info", "info ", 6 },
    [LOG_WARN] = { "warn", "warn ", 4 },
    [LOG_ERROR] = { "error", "error", 3 },
};

void log_set(enum log_level level_min, bool as_json)
{
    atomic_store(&level_now, (int)level_min);
    atomic_store(&is_json, as_json);
}

static void stamp(char *out, size_t n, const char *fmt, const char *tail)
{
    int64_t now = time_unix_ns();
    time_t seconds = (time_t)(now / TIME_NS_PER_S);
    struct tm tm;
    char date[40];
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof(date), fmt, &tm);
    snprintf(out, n, "%s.%03d%s", date, (int)(now % TIME_NS_PER_S / TIME_NS_PER_MS), tail);
}

/* Ignores the result: a log line that cannot be written is never a reason to stop. */
static void put(const char *line, size_t n)
{
    (void)file_put(STDERR_FILENO, line, n);
}

static void put_json(enum log_level level, const char *part, const char *text)
{
    struct str line;
    struct json_out json;
    char time[64];
    stamp(time, sizeof(time), "%Y-%m-%dT%H:%M:%S", "Z");
    str_init(&line);
    json_out_init(&json, &line);
    json_out_open(&json, '{');
    json_out_key_text(&json, "time", time);
    json_out_key_text(&json, "level", levels[level].name);
    json_out_key_text(&json, "part", part);
    json_out_key_text(&json, "text", text);
    json_out_close(&json, '}');
    str_add_char(&line, '\n');
    put(line.at, line.n);
    str_free(&line);
}

void log_line(enum log_level level, const char *part, const char *fmt, ...)
{
    if ((int)level < atomic_load_explicit(&level_now, memory_order_relaxed))
        return;
    char text[LOG_TEXT_BYTES], line[LOG_TEXT_BYTES + 128];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0)
        return;
    if (atomic_load_explicit(&is_json, memory_order_relaxed)) {
        put_json(level, part, text);
        return;
    }
    utf8_tame(text); /* one line, and no escape sequences from a name that a client chose */
    if (getenv("JOURNAL_STREAM") != NULL) {
        n = snprintf(line, sizeof(line), "<%d>%.64s: %s\n", levels[level].journal, part, text);
    } else {
        char time[64];
        stamp(time, sizeof(time), "%H:%M:%S", "");
        n = snprintf(line, sizeof(line), "%s %s %.64s: %s\n", time, levels[level].padded, part,
                     text);
    }
    if (n > 0)
        put(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}
