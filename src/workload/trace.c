/* A trace's rows: gathered and sorted. */
#include "workload/trace.h"

#include "base/mem.h"
#include <string.h>

void workload_trace_init(struct workload_trace *trace)
{
    memset(trace, 0, sizeof(*trace));
}

void workload_trace_free(struct workload_trace *trace)
{
    mem_give(trace->rows);
    mem_give(trace->blocks);
    workload_trace_init(trace);
}

int32_t workload_trace_model(struct workload_trace *trace, struct view name)
{
    for (uint32_t i = 0; i < trace->n_models; i++)
        if (view_equal_text(name, trace->models[i]))
            return (int32_t)i;
    if (trace->n_models == LIMIT_SERVICES || name.n >= LIMIT_NAME_BYTES ||
        (name.n > 0 && memchr(name.at, '\0', name.n) != NULL))
        return -1;
    if (name.n > 0)
        memcpy(trace->models[trace->n_models], name.at, name.n);
    return (int32_t)trace->n_models++;
}

void workload_trace_add(struct workload_trace *trace, const struct workload_trace_row *row)
{
    if (trace->n_rows == trace->rows_capacity) {
        size_t capacity = trace->rows_capacity > 0 ? 2 * trace->rows_capacity : 1024;
        trace->rows =
            mem_grow(trace->rows, trace->rows_capacity * sizeof(*row), capacity * sizeof(*row));
        trace->rows_capacity = capacity;
    }
    if (trace->n_models == 0)
        trace->n_models = 1; /* the nameless one */
    trace->rows[trace->n_rows++] = *row;
}

void workload_trace_add_block(struct workload_trace *trace, uint64_t name)
{
    if (trace->n_blocks == trace->blocks_capacity) {
        size_t capacity = trace->blocks_capacity > 0 ? 2 * trace->blocks_capacity : 1024;
        trace->blocks =
            mem_grow(trace->blocks, trace->blocks_capacity * sizeof(name), capacity * sizeof(name));
        trace->blocks_capacity = capacity;
    }
    trace->blocks[trace->n_blocks++] = name;
}

/* ---- Sorting: merges runs of doubling length, so that equal rows keep their order. ---- */

static void merge(const struct workload_trace_row *from, struct workload_trace_row *to,
                  size_t n_left, size_t n)
{
    size_t a = 0, b = n_left;
    for (size_t i = 0; i < n; i++) {
        bool takes_left = b == n || (a < n_left && from[a].arrived_ns <= from[b].arrived_ns);
        to[i] = takes_left ? from[a++] : from[b++];
    }
}

void workload_trace_sort(struct workload_trace *trace)
{
    size_t n = trace->n_rows, i = 1;
    while (i < n && trace->rows[i - 1].arrived_ns <= trace->rows[i].arrived_ns)
        i++;
    if (i >= n)
        return;
    struct workload_trace_row *from = trace->rows;
    struct workload_trace_row *to = mem_take(n * sizeof(*to));
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t n_pair = n - at < 2 * width ? n - at : 2 * width;
            merge(from + at, to + at, width < n_pair ? width : n_pair, n_pair);
        }
        struct workload_trace_row *swap = from;
        from = to;
        to = swap;
    }
    mem_give(to);
    trace->rows = from;
    trace->rows_capacity = n;
}
