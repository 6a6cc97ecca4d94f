/* A trace's rows: gathered, sorted, written in our formats. */
#include "sim/trace.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

void sim_trace_init(struct sim_trace *trace)
{
    memset(trace, 0, sizeof(*trace));
}

void sim_trace_free(struct sim_trace *trace)
{
    mem_give(trace->rows);
    mem_give(trace->blocks);
    sim_trace_init(trace);
}

int32_t sim_trace_model(struct sim_trace *trace, struct view name)
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

void sim_trace_add(struct sim_trace *trace, const struct sim_trace_row *row)
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

void sim_trace_add_block(struct sim_trace *trace, uint64_t name)
{
    if (trace->n_blocks == trace->blocks_capacity) {
        size_t capacity = trace->blocks_capacity > 0 ? 2 * trace->blocks_capacity : 1024;
        trace->blocks =
            mem_grow(trace->blocks, trace->blocks_capacity * sizeof(name), capacity * sizeof(name));
        trace->blocks_capacity = capacity;
    }
    trace->blocks[trace->n_blocks++] = name;
}

/* ---- Sorting: merges runs of doubling length, so what is equal keeps its order. ---- */

static void merge(const struct sim_trace_row *from, struct sim_trace_row *to, size_t n_left,
                  size_t n)
{
    size_t a = 0, b = n_left;
    for (size_t i = 0; i < n; i++) {
        bool takes_left = b == n || (a < n_left && from[a].arrived_ns <= from[b].arrived_ns);
        to[i] = takes_left ? from[a++] : from[b++];
    }
}

void sim_trace_sort(struct sim_trace *trace)
{
    size_t n = trace->n_rows, i = 1;
    while (i < n && trace->rows[i - 1].arrived_ns <= trace->rows[i].arrived_ns)
        i++;
    if (i >= n)
        return;
    struct sim_trace_row *from = trace->rows;
    struct sim_trace_row *to = mem_take(n * sizeof(*to));
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t n_pair = n - at < 2 * width ? n - at : 2 * width;
            merge(from + at, to + at, width < n_pair ? width : n_pair, n_pair);
        }
        struct sim_trace_row *swap = from;
        from = to;
        to = swap;
    }
    mem_give(to);
    trace->rows = from;
    trace->rows_capacity = n;
}

/* ---- Writing. ---- */

enum column { COLUMN_PREDICTED, COLUMN_PRIORITY, COLUMN_DEADLINE, COLUMN_CANCEL, COLUMN_TENANT };

static bool uses(const struct sim_trace *trace, enum column column)
{
    for (size_t i = 0; i < trace->n_rows; i++) {
        const struct sim_trace_row *row = &trace->rows[i];
        if ((column == COLUMN_PREDICTED && row->n_predicted != 0) ||
            (column == COLUMN_PRIORITY && row->priority != 0) ||
            (column == COLUMN_DEADLINE && row->deadline_ns != TIME_NEVER) ||
            (column == COLUMN_CANCEL && row->cancel_ns != TIME_NEVER) ||
            (column == COLUMN_TENANT && row->tenant != 0))
            return true;
    }
    return false;
}

struct layout {
    bool has_model, has[5], has_prefix;
};

static struct layout layout_of(const struct sim_trace *trace)
{
    struct layout layout = { .has_model = trace->has_models, .has_prefix = trace->n_blocks > 0 };
    for (int i = 0; i < 5; i++)
        layout.has[i] = uses(trace, (enum column)i);
    return layout;
}

static void print_head(const struct layout *layout, struct str *out)
{
    static const char *const names[5] = { "predicted", "priority", "deadline_s", "cancel_s",
                                          "tenant" };
    str_add_text(out, layout->has_model ? "arrived_s,model,n_prompt,n_output"
                                        : "arrived_s,n_prompt,n_output");
    for (int i = 0; i < 5; i++)
        if (layout->has[i])
            str_printf(out, ",%s", names[i]);
    str_add_text(out, layout->has_prefix ? ",prefix\n" : "\n");
}

static void print_seconds(struct str *out, int64_t ns)
{
    str_printf(out, "%lld.%09lld", (long long)(ns / TIME_NS_PER_S),
               (long long)(ns % TIME_NS_PER_S));
}

static void print_csv_text(struct str *out, const char *text)
{
    if (strpbrk(text, "\",\r\n") == NULL) {
        str_add_text(out, text);
        return;
    }
    str_add_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            str_add_char(out, '"');
        str_add_char(out, *text == '\n' || *text == '\r' ? ' ' : *text);
    }
    str_add_char(out, '"');
}

static void print_after(struct str *out, bool has_column, int64_t ns)
{
    if (!has_column)
        return;
    str_add_char(out, ',');
    if (ns != TIME_NEVER)
        print_seconds(out, ns);
}

static void print_csv(const struct sim_trace *trace, const struct layout *layout,
                      const struct sim_trace_row *row, struct str *out)
{
    print_seconds(out, row->arrived_ns);
    str_add_char(out, ',');
    if (layout->has_model) {
        print_csv_text(out, trace->models[row->model]);
        str_add_char(out, ',');
    }
    str_printf(out, "%d,%d", row->n_prompt, row->n_output);
    if (layout->has[COLUMN_PREDICTED])
        str_printf(out, ",%d", row->n_predicted);
    if (layout->has[COLUMN_PRIORITY])
        str_printf(out, ",%d", row->priority);
    print_after(out, layout->has[COLUMN_DEADLINE], row->deadline_ns);
    print_after(out, layout->has[COLUMN_CANCEL], row->cancel_ns);
    if (layout->has[COLUMN_TENANT])
        str_printf(out, ",%u", row->tenant);
    if (layout->has_prefix)
        str_add_char(out, ',');
    for (uint32_t i = 0; i < row->n_prefix; i++) {
        if (i == 0)
            str_printf(out, "%d:", trace->prefix_tokens);
        str_printf(out, "%s%llu", i > 0 ? ";" : "",
                   (unsigned long long)trace->blocks[row->prefix_at + i]);
    }
    str_add_char(out, '\n');
}

static void print_jsonl(const struct sim_trace *trace, const struct layout *layout,
                        const struct sim_trace_row *row, struct str *out)
{
    struct json_out json;
    str_add_text(out, "{\"arrived_s\":");
    print_seconds(out, row->arrived_ns);
    if (layout->has_model) {
        str_add_text(out, ",\"model\":");
        json_out_init(&json, out);
        json_out_text(&json, trace->models[row->model]);
    }
    str_printf(out, ",\"n_prompt\":%d,\"n_output\":%d", row->n_prompt, row->n_output);
    if (row->n_predicted != 0)
        str_printf(out, ",\"predicted\":%d", row->n_predicted);
    if (row->priority != 0)
        str_printf(out, ",\"priority\":%d", row->priority);
    if (row->deadline_ns != TIME_NEVER) {
        str_add_text(out, ",\"deadline_s\":");
        print_seconds(out, row->deadline_ns);
    }
    if (row->cancel_ns != TIME_NEVER) {
        str_add_text(out, ",\"cancel_s\":");
        print_seconds(out, row->cancel_ns);
    }
    if (row->tenant != 0)
        str_printf(out, ",\"tenant\":%u", row->tenant);
    for (uint32_t i = 0; i < row->n_prefix; i++) {
        if (i == 0)
            str_printf(out, ",\"prefix_tokens\":%d,\"prefix\":[", trace->prefix_tokens);
        str_printf(out, "%s%lld", i > 0 ? "," : "", (long long)trace->blocks[row->prefix_at + i]);
    }
    str_add_text(out, row->n_prefix > 0 ? "]}\n" : "}\n");
}

void sim_trace_print(const struct sim_trace *trace, bool is_jsonl, struct str *out)
{
    struct layout layout = layout_of(trace);
    if (!is_jsonl)
        print_head(&layout, out);
    for (size_t i = 0; i < trace->n_rows; i++) {
        if (is_jsonl)
            print_jsonl(trace, &layout, &trace->rows[i], out);
        else
            print_csv(trace, &layout, &trace->rows[i], out);
    }
}

enum status sim_trace_write(const struct sim_trace *trace, const char *path, struct fault *fault)
{
    size_t n = strlen(path);
    struct str text;
    str_init(&text);
    sim_trace_print(trace, n > 6 && strcmp(path + n - 6, ".jsonl") == 0, &text);
    enum status status = file_write(path, text.at != NULL ? text.at : "", text.n, fault);
    str_free(&text);
    return status;
}
