/* Reads a trace as CSV. The first line names the columns; quotes may hold commas and quotes. */
#include "workload/trace_read.h"

#include "base/mem.h"
#include "base/time.h"
#include <string.h>

enum { COLUMNS_MAX = 64 };

enum field {
    FIELD_NONE,
    FIELD_ARRIVED_S,
    FIELD_ARRIVED_MS,
    FIELD_ARRIVED_NS,
    FIELD_ARRIVED_STAMP,
    FIELD_MODEL,
    FIELD_PROMPT,
    FIELD_OUTPUT,
    FIELD_PREDICTED,
    FIELD_PRIORITY,
    FIELD_DEADLINE,
    FIELD_CANCEL,
    FIELD_TENANT,
    FIELD_PREFIX,
    FIELD_N,
};
/* The names that each publisher uses; upper and lower case differ. */
static const struct {
    const char *name;
    enum field field;
} names[] = {
    { "arrived_s", FIELD_ARRIVED_S },         /* ours */
    { "arrived_at", FIELD_ARRIVED_S },        /* Vidur */
    { "arrival_timestamp", FIELD_ARRIVED_S }, /* splitwise-sim */
    { "Timestamp", FIELD_ARRIVED_S },         /* BurstGPT */
    { "t_ms", FIELD_ARRIVED_MS },
    { "start_offset_ns", FIELD_ARRIVED_NS }, /* APEX+ */
    { "TIMESTAMP", FIELD_ARRIVED_STAMP },    /* Azure */
    { "model", FIELD_MODEL },
    { "Model", FIELD_MODEL },
    { "target", FIELD_MODEL },
    { "n_prompt", FIELD_PROMPT },
    { "ContextTokens", FIELD_PROMPT },
    { "num_prefill_tokens", FIELD_PROMPT },
    { "prompt_size", FIELD_PROMPT },
    { "input_tokens", FIELD_PROMPT }, /* APEX+, Helix */
    { "prompt_tokens", FIELD_PROMPT },
    { "Request tokens", FIELD_PROMPT },
    { "n_output", FIELD_OUTPUT },
    { "GeneratedTokens", FIELD_OUTPUT },
    { "num_decode_tokens", FIELD_OUTPUT },
    { "token_size", FIELD_OUTPUT },
    { "output_tokens", FIELD_OUTPUT },
    { "Response tokens", FIELD_OUTPUT },
    { "predicted", FIELD_PREDICTED },
    { "num_predicted_decode_tokens", FIELD_PREDICTED },
    { "priority", FIELD_PRIORITY },
    { "deadline_s", FIELD_DEADLINE },
    { "cancel_s", FIELD_CANCEL },
    { "tenant", FIELD_TENANT },
    { "prefix", FIELD_PREFIX },
};

struct reader {
    struct workload_trace *trace;
    struct workload_trace_place place;
    struct workload_trace_origin origin;
    enum field fields[COLUMNS_MAX];
    struct view labels[COLUMNS_MAX];
    size_t n_columns;
    struct str quoted; /* the content of quoted fields */
};

/* ---- Cutting a line. ---- */

/* Cuts a quoted field. Its content is collected in r->quoted, and the view is a place in it. */
static bool cut_quoted(struct reader *r, struct view *line, size_t *from)
{
    *from = r->quoted.n;
    size_t i = 1;
    for (; i < line->n; i++) {
        if (line->at[i] == '"' && (i + 1 == line->n || line->at[i + 1] != '"'))
            break;
        str_add_char(&r->quoted, line->at[i]);
        i += line->at[i] == '"';
    }
    if (i >= line->n)
        return false;
    *line = view_of(line->at + i + 1, line->n - i - 1);
    return line->n == 0 || line->at[0] == ',';
}

/* Cuts a line into fields. Returns the count, 0 when a quote does not end, COLUMNS_MAX + 1 when
 * there are more. */
static size_t cut_line(struct reader *r, struct view line, struct view *fields)
{
    size_t froms[COLUMNS_MAX], sizes[COLUMNS_MAX], n = 0;
    bool is_quoted[COLUMNS_MAX], has_more = true;
    str_clear(&r->quoted);
    for (; has_more; n++) {
        if (n == COLUMNS_MAX)
            return COLUMNS_MAX + 1;
        is_quoted[n] = line.n > 0 && line.at[0] == '"';
        if (is_quoted[n]) {
            if (!cut_quoted(r, &line, &froms[n]))
                return 0;
            sizes[n] = r->quoted.n - froms[n];
        } else {
            const char *comma = line.n > 0 ? memchr(line.at, ',', line.n) : NULL;
            fields[n] = view_of(line.at, comma != NULL ? (size_t)(comma - line.at) : line.n);
            line = view_of(line.at + fields[n].n, line.n - fields[n].n);
        }
        has_more = line.n > 0;
        if (has_more)
            line = view_of(line.at + 1, line.n - 1);
    }
    for (size_t i = 0; i < n; i++)
        if (is_quoted[i])
            fields[i] = view_of(r->quoted.at != NULL ? r->quoted.at + froms[i] : "", sizes[i]);
    return n;
}

/* ---- The head. ---- */

static enum field field_of(struct view label)
{
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (view_equal_text(label, names[i].name))
            return names[i].field;
    return FIELD_NONE;
}

static bool is_arrival(enum field field)
{
    return field >= FIELD_ARRIVED_S && field <= FIELD_ARRIVED_STAMP;
}

static enum status read_head(struct reader *r, struct view line)
{
    struct view labels[COLUMNS_MAX];
    bool has[FIELD_N] = { false };
    r->n_columns = cut_line(r, line, labels);
    if (r->n_columns == 0)
        return workload_trace_read_bad(&r->place, "a quote that does not end");
    if (r->n_columns > COLUMNS_MAX)
        return workload_trace_read_bad(&r->place, "more than %d columns", COLUMNS_MAX);
    for (size_t i = 0; i < r->n_columns; i++) {
        enum field field = field_of(labels[i]);
        enum field what = is_arrival(field) ? FIELD_ARRIVED_S : field;
        if (field != FIELD_NONE && has[what])
            return workload_trace_read_bad(&r->place, "column %s repeats another one",
                                           workload_trace_read_word(labels[i]).text);
        has[what] = true;
        r->fields[i] = field;
        for (size_t k = 0; k < COUNT_OF(names); k++) /* a label that outlives the line */
            if (field != FIELD_NONE && view_equal_text(labels[i], names[k].name))
                r->labels[i] = view_text(names[k].name);
    }
    if (!has[FIELD_PROMPT] || !has[FIELD_OUTPUT])
        return workload_trace_read_bad(
            &r->place, "no column of %s tokens: expected %s, or a published trace's name for it",
            has[FIELD_PROMPT] ? "output" : "prompt", has[FIELD_PROMPT] ? "n_output" : "n_prompt");
    r->trace->has_times = has[FIELD_ARRIVED_S];
    r->trace->has_predicted = has[FIELD_PREDICTED];
    return STATUS_OK;
}

/* ---- Rows. ---- */

static enum status not_a(const struct reader *r, size_t column, struct view field,
                         const char *expected)
{
    return workload_trace_read_bad(&r->place, "%s is \"%s\", expected %s", r->labels[column].at,
                                   workload_trace_read_word(field).text, expected);
}

/* Reads "512:17;18;19". The column of the prompt may come later, so the blocks are checked with the
 * row. */
static enum status read_prefix(struct reader *r, size_t column, struct view field,
                               int64_t *prefix_tokens)
{
    static const char expected[] = "tokens of a block : their names, like 512:17;18";
    const char *colon = field.n > 0 ? memchr(field.at, ':', field.n) : NULL;
    uint64_t name;
    if (colon == NULL || !workload_trace_read_i64(view_of(field.at, (size_t)(colon - field.at)), 1,
                                                  LIMIT_CONTEXT, prefix_tokens))
        return not_a(r, column, field, expected);
    struct view rest = view_of(colon + 1, field.n - (size_t)(colon + 1 - field.at));
    while (rest.n > 0 && r->trace->n_blocks < WORKLOAD_TRACE_BLOCKS_MAX) {
        const char *end = memchr(rest.at, ';', rest.n);
        size_t n = end != NULL ? (size_t)(end - rest.at) : rest.n;
        if (!workload_trace_read_u64(view_of(rest.at, n), &name))
            return not_a(r, column, field, expected);
        workload_trace_add_block(r->trace, name);
        n += end != NULL;
        rest = view_of(rest.at + n, rest.n - n);
    }
    return STATUS_OK;
}

static enum status read_tokens(struct reader *r, size_t column, struct view field, int32_t *out)
{
    int64_t n;
    if (!workload_trace_read_i64(field, 0, LIMIT_CONTEXT, &n))
        return not_a(r, column, field, "a whole number from 0 to 1048576");
    *out = (int32_t)n;
    return STATUS_OK;
}

static enum status read_small(struct reader *r, size_t column, struct view field,
                              struct workload_trace_row *row)
{
    bool is_tenant = r->fields[column] == FIELD_TENANT;
    int64_t n;
    if (!workload_trace_read_i64(field, is_tenant ? 0 : INT16_MIN,
                                 is_tenant ? UINT16_MAX : INT16_MAX, &n))
        return not_a(r, column, field,
                     is_tenant ? "a whole number from 0 to 65535"
                               : "a whole number from -32768 to 32767");
    if (is_tenant)
        row->tenant = (uint16_t)n;
    else
        row->priority = (int16_t)n;
    return STATUS_OK;
}

static enum status read_model(struct reader *r, size_t column, struct view field,
                              struct workload_trace_row *row)
{
    int32_t model = workload_trace_model(r->trace, field);
    if (model < 0)
        return not_a(r, column, field, "one of at most 1024 models, of at most 127 bytes");
    row->model = (uint16_t)model;
    return STATUS_OK;
}

static enum status read_span(struct reader *r, size_t column, struct view field, int64_t *ns)
{
    if (!workload_trace_read_ns(field, TIME_NS_PER_S, ns))
        return not_a(r, column, field, "a number of seconds >= 0");
    return STATUS_OK;
}

static enum status read_arrival(struct reader *r, size_t column, struct view field, int64_t *ns)
{
    enum field what = r->fields[column];
    bool is_stamp = what == FIELD_ARRIVED_STAMP;
    int64_t unit_ns = what == FIELD_ARRIVED_NS   ? 1
                      : what == FIELD_ARRIVED_MS ? TIME_NS_PER_MS
                                                 : TIME_NS_PER_S;
    struct workload_trace_time time;
    if (!(is_stamp ? workload_trace_read_stamp(field, &time)
                   : workload_trace_read_time(field, unit_ns, &time)))
        return not_a(r, column, field,
                     is_stamp ? "a time like 2023-11-16 18:17:03.98" : "a number");
    if (!workload_trace_read_since(&r->origin, time, ns))
        return not_a(r, column, field, "a time within a century of the first");
    return STATUS_OK;
}

static enum status read_field(struct reader *r, size_t column, struct view field,
                              struct workload_trace_row *row)
{
    switch (r->fields[column]) {
    case FIELD_PROMPT:
        return read_tokens(r, column, field, &row->n_prompt);
    case FIELD_OUTPUT:
        return read_tokens(r, column, field, &row->n_output);
    case FIELD_PREDICTED:
        return field.n == 0 ? STATUS_OK : read_tokens(r, column, field, &row->n_predicted);
    case FIELD_PRIORITY:
    case FIELD_TENANT:
        return field.n == 0 ? STATUS_OK : read_small(r, column, field, row);
    case FIELD_MODEL:
        return read_model(r, column, field, row);
    case FIELD_DEADLINE:
        return field.n == 0 ? STATUS_OK : read_span(r, column, field, &row->deadline_ns);
    case FIELD_CANCEL:
        return field.n == 0 ? STATUS_OK : read_span(r, column, field, &row->cancel_ns);
    case FIELD_ARRIVED_S:
    case FIELD_ARRIVED_MS:
    case FIELD_ARRIVED_NS:
    case FIELD_ARRIVED_STAMP:
        return read_arrival(r, column, field, &row->arrived_ns);
    case FIELD_NONE:
    case FIELD_PREFIX:
    case FIELD_N:
        break;
    }
    return STATUS_OK;
}

static enum status read_row(struct reader *r, struct view line)
{
    struct view fields[COLUMNS_MAX];
    struct workload_trace_row row = { .deadline_ns = TIME_NEVER,
                                      .cancel_ns = TIME_NEVER,
                                      .prefix_at = r->trace->n_blocks };
    int64_t prefix_tokens = 0;
    size_t n = cut_line(r, line, fields);
    if (n == 0)
        return workload_trace_read_bad(&r->place, "a quote that does not end");
    if (n != r->n_columns)
        return workload_trace_read_bad(
            &r->place, "%zu fields, but the first line names %zu columns", n, r->n_columns);
    for (size_t i = 0; i < n; i++) {
        enum status status = read_field(r, i, fields[i], &row);
        if (status == STATUS_OK && r->fields[i] == FIELD_PREFIX && fields[i].n > 0)
            status = read_prefix(r, i, fields[i], &prefix_tokens);
        if (status != STATUS_OK)
            return status;
    }
    enum status status = workload_trace_read_prefix(r->trace, &row, prefix_tokens, &r->place);
    return status == STATUS_OK ? workload_trace_read_row(r->trace, &row, &r->place) : status;
}

enum status workload_trace_csv(struct workload_trace *trace, const char *name, struct view text,
                               struct fault *fault)
{
    struct reader *r = mem_take(sizeof(*r));
    struct view line = view_of("", 0);
    *r = (struct reader){ .trace = trace, .place = { name, 1, fault } };
    str_init(&r->quoted);
    workload_trace_read_line(&text, &line);
    enum status status = read_head(r, line);
    while (status == STATUS_OK && workload_trace_read_line(&text, &line)) {
        r->place.line++;
        if (line.n > 0)
            status = read_row(r, line);
    }
    str_free(&r->quoted);
    mem_give(r);
    return status;
}
