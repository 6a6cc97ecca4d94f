/* Functions that the readers of traces share: places in a text, figures as people write them, and
 * the checks of a row. They are private to this room. */
#pragma once
#include "workload/trace.h"

#define WORKLOAD_TRACE_NS_MAX (INT64_C(100) * 366 * 86400 * 1000000000) /* a century */

/* The place of a reader, for faults. */
struct workload_trace_place {
    const char *name;
    size_t line;
    struct fault *fault;
};
/* "name:line: <fmt>". Returns STATUS_BAD_INPUT. */
enum status workload_trace_read_bad(const struct workload_trace_place *place, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

/* Reads the next line of a text, without its end. Returns false at the end of the text. */
bool workload_trace_read_line(struct view *text, struct view *line);

/* Read a field's value. Each returns false when the field is not such a value. */
bool workload_trace_read_i64(struct view field, int64_t min, int64_t max, int64_t *out);
bool workload_trace_read_u64(struct view field, uint64_t *out);
bool workload_trace_read_f64(struct view field, double *out);

/* A time on the clock of the machine that wrote the file: seconds of any size, and 0 <= ns < 1e9
 * beyond. */
struct workload_trace_time {
    int64_t s, ns;
};
/* A decimal number of units of 1, 1e6 or 1e9 nanoseconds, of either sign, rounded down to a
 * nanosecond. It never passes through a double, which is 240 ns coarse for seconds since 1970. */
bool workload_trace_read_time(struct view field, int64_t unit_ns, struct workload_trace_time *out);
/* Reads a span: a time of this kind, >= 0 and at most a century. */
bool workload_trace_read_ns(struct view field, int64_t unit_ns, int64_t *out);
/* Reads "2023-11-16 18:17:03.9799600", also with T, and with Z or +00:00 behind it. */
bool workload_trace_read_stamp(struct view field, struct workload_trace_time *out);

/* Computes nanoseconds since the first time that was passed. Returns false over a century before or
 * after it. */
struct workload_trace_origin {
    struct workload_trace_time first;
    bool is_known;
};
bool workload_trace_read_since(struct workload_trace_origin *origin,
                               struct workload_trace_time time, int64_t *ns);

/* Shortens a field of a faulty file to a word for a fault: at most 40 printable characters. */
struct workload_trace_word {
    char text[48];
};
struct workload_trace_word workload_trace_read_word(struct view field);

/* Adds a row whose figures are each within their bounds. Rows without work are skipped. */
enum status workload_trace_read_row(struct workload_trace *trace,
                                    const struct workload_trace_row *row,
                                    const struct workload_trace_place *place) MUST_USE;
/* Ends a prefix whose blocks were added behind prefix_at: notes their length, and checks that they
 * fit the prompt. */
enum status workload_trace_read_prefix(struct workload_trace *trace, struct workload_trace_row *row,
                                       int64_t prefix_tokens,
                                       const struct workload_trace_place *place) MUST_USE;

enum status workload_trace_csv(struct workload_trace *trace, const char *name, struct view text,
                               struct fault *fault) MUST_USE;
enum status workload_trace_jsonl(struct workload_trace *trace, const char *name, struct view text,
                                 struct fault *fault) MUST_USE;
