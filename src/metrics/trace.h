/* A trace of the batches of engines over time, for chrome://tracing and https://ui.perfetto.dev.
 *
 * It is in Chrome's trace-event format, one JSON array: a row (thread) per lane of each engine
 * (process), and a complete event ("ph": "X") per batch with its service, kind, requests and
 * tokens. Times are microseconds with three digits, of the engines' clock. Engines may write from
 * several threads. metrics_trace_close closes the array; viewers also read one without its end. */
#pragma once
#include "base/status.h"

struct metrics_trace;
struct metrics_trace_batch {
    uint16_t engine, lane;
    const char *service, *kind; /* kind: "prefill", "decode", "mixed", "copy out", "copy in" */
    int32_t n_items;
    int64_t n_tokens; /* computed, over all rounds; pads and invalid ones count separately */
    int64_t n_pad_tokens, n_invalid_tokens;
    int32_t n_rounds;
    int64_t begin_ns, end_ns;
};
/* Creates the file. At most n_bytes_max bytes are written; further batches are left out. */
enum status metrics_trace_open(struct metrics_trace **trace, const char *path, int64_t n_bytes_max,
                               struct fault *fault) MUST_USE;
/* Names the row. Call it once, before the first batch on it. */
void metrics_trace_lane(struct metrics_trace *trace, uint16_t engine, uint16_t lane,
                        const char *name);
void metrics_trace_add(struct metrics_trace *trace, const struct metrics_trace_batch *batch);
/* NULL: nothing to do. Returns false when not all of it could be written, which was logged. */
bool metrics_trace_close(struct metrics_trace *trace);
