/* A trace of what engines computed and when, for chrome://tracing and https://ui.perfetto.dev.
 *
 * Chrome's trace-event format, one JSON array: a row (thread) per lane of each engine (process),
 * a complete event ("ph": "X") per batch with its service, kind, requests and tokens. Times are
 * microseconds with three digits, of the clock that the engines were given. Engines may write from
 * several threads. The array is closed by metrics_trace_close; viewers also read one that is not.
 */
#pragma once
#include "base/status.h"
#include "core/pads.h"

struct metrics_trace;
struct metrics_trace_batch {
    uint16_t engine, lane;
    const char *service, *kind; /* kind: "prefill", "decode", "mixed", "copy out", "copy in" */
    int32_t n_items;
    int64_t n_tokens;     /* computed, over all rounds; pads and invalid ones counted apart */
    struct pads_sum lost; /* the latter */
    int32_t n_rounds;
    int64_t begin_ns, end_ns;
};
/* The file is made anew; at most n_bytes_max bytes are written, then batches are left out. */
enum status metrics_trace_open(struct metrics_trace **trace, const char *path, int64_t n_bytes_max,
                               struct fault *fault) MUST_USE;
/* Names the row; call once before the first batch on it. */
void metrics_trace_lane(struct metrics_trace *trace, uint16_t engine, uint16_t lane,
                        const char *name);
void metrics_trace_add(struct metrics_trace *trace, const struct metrics_trace_batch *batch);
/* NULL: nothing to do. False: not all of it could be written, as was logged. */
bool metrics_trace_close(struct metrics_trace *trace);
