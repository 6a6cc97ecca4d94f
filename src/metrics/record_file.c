/* Files of records: one table of columns writes and reads both forms.
 *
 * Input may come from anywhere: numbers are parsed whole, every record must be consistent (arrived
 * <= first <= end, counts from 0 to RECORD_TOKENS_MAX), and the fault names the line. */
#include "metrics/record.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_I64, COLUMN_I32, COLUMN_U16, COLUMN_SERVICE, COLUMN_WHY, COLUMN_TPOT };
static const struct column {
    const char *name;
    int type;
    size_t offset;
    bool is_required;
} columns[] = {
    { "id", COLUMN_I64, offsetof(struct record, id), true },
    { "service", COLUMN_SERVICE, offsetof(struct record, service), true },
    { "engine", COLUMN_U16, offsetof(struct record, engine), false },
    { "why", COLUMN_WHY, offsetof(struct record, why), true },
    { "http_status", COLUMN_I32, offsetof(struct record, http_status), false },
    { "arrived_ns", COLUMN_I64, offsetof(struct record, arrived_ns), true },
    { "first_ns", COLUMN_I64, offsetof(struct record, first_ns), true },
    { "end_ns", COLUMN_I64, offsetof(struct record, end_ns), true },
    { "solo_ns", COLUMN_I64, offsetof(struct record, solo_ns), false },
    { "tpot_ns", COLUMN_TPOT, 0, false },
    { "gap_ns_max", COLUMN_I64, offsetof(struct record, gap_ns_max), false },
    { "late_ns", COLUMN_I64, offsetof(struct record, late_ns), false },
    { "n_prompt", COLUMN_I32, offsetof(struct record, n_prompt), true },
    { "n_output", COLUMN_I32, offsetof(struct record, n_output), true },
    { "n_wanted", COLUMN_I32, offsetof(struct record, n_wanted), false },
    { "n_predicted", COLUMN_I32, offsetof(struct record, n_predicted), false },
    { "n_cached", COLUMN_I32, offsetof(struct record, n_cached), false },
    { "n_preempted", COLUMN_I32, offsetof(struct record, n_preempted), false },
    { "n_slices", COLUMN_I32, offsetof(struct record, n_slices), false },
    { "n_batches", COLUMN_I32, offsetof(struct record, n_batches), false },
    { "n_batch_rows", COLUMN_I32, offsetof(struct record, n_batch_rows), false },
    { "n_swapped", COLUMN_I32, offsetof(struct record, n_swapped), false },
    { "n_early", COLUMN_I32, offsetof(struct record, n_early), false },
    { "n_pad", COLUMN_I64, offsetof(struct record, n_pad), false },
    { "n_invalid", COLUMN_I64, offsetof(struct record, n_invalid), false },
};
enum { N_COLUMNS = COUNT_OF(columns), FIELD_BYTES = 512 };
#define FILE_BYTES_MAX ((size_t)8 << 30)

enum record_form metrics_record_form_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    bool is_jsonl = dot != NULL && (strcmp(dot, ".jsonl") == 0 || strcmp(dot, ".ndjson") == 0);
    return is_jsonl ? RECORD_JSONL : RECORD_CSV;
}

/* ---- Writing. ---- */

static int64_t number_of(const struct record *r, const struct column *column)
{
    const char *at = (const char *)r + column->offset;
    int64_t wide;
    int32_t narrow;
    uint16_t small;
    switch (column->type) {
    case COLUMN_I64:
        memcpy(&wide, at, sizeof(wide));
        return wide;
    case COLUMN_I32:
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    case COLUMN_TPOT:
        return r->n_output > 1 ? (r->end_ns - r->first_ns) / (r->n_output - 1) : 0;
    default:
        memcpy(&small, at, sizeof(small));
        return small;
    }
}

static const char *text_of(const struct record_set *set, const struct record *r, int type)
{
    if (type == COLUMN_WHY)
        return metrics_record_why_name(r->why);
    return r->service < set->n_services ? set->names[r->service] : "";
}

/* Adds a field, quoted if necessary. */
static void add_field(struct str *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        str_add_text(out, text);
        return;
    }
    str_add_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            str_add_char(out, '"');
        str_add_char(out, *text);
    }
    str_add_char(out, '"');
}

static void write_csv(const struct record_set *set, struct str *out)
{
    for (size_t c = 0; c < N_COLUMNS; c++)
        str_printf(out, "%s%s", c > 0 ? "," : "", columns[c].name);
    str_add_char(out, '\n');
    for (size_t i = 0; i < set->n; i++) {
        for (size_t c = 0; c < N_COLUMNS; c++) {
            int type = columns[c].type;
            if (c > 0)
                str_add_char(out, ',');
            if (type == COLUMN_SERVICE || type == COLUMN_WHY)
                add_field(out, text_of(set, &set->at[i], type));
            else
                str_printf(out, "%lld", (long long)number_of(&set->at[i], &columns[c]));
        }
        str_add_char(out, '\n');
    }
}

void metrics_record_write(const struct record_set *set, enum record_form form, struct str *out)
{
    if (form == RECORD_CSV) {
        write_csv(set, out);
        return;
    }
    for (size_t i = 0; i < set->n; i++) {
        struct json_out json;
        json_out_init(&json, out);
        json_out_open(&json, '{');
        for (size_t c = 0; c < N_COLUMNS; c++) {
            int type = columns[c].type;
            json_out_key(&json, columns[c].name);
            if (type == COLUMN_SERVICE || type == COLUMN_WHY)
                json_out_text(&json, text_of(set, &set->at[i], type));
            else
                json_out_i64(&json, number_of(&set->at[i], &columns[c]));
        }
        json_out_close(&json, '}');
        str_add_char(out, '\n');
    }
}

/* ---- Reading. ---- */

struct reading {
    struct record_set *set;
    int64_t line;
    struct fault *fault;
};

static enum status bad(const struct reading *reading, const char *what, const char *why)
{
    return fault_set(reading->fault, STATUS_BAD_INPUT, "records: line %lld: %.80s %s",
                     (long long)reading->line, what, why);
}

static enum status set_number(const struct reading *reading, struct record *r,
                              const struct column *column, int64_t value)
{
    char *at = (char *)r + column->offset;
    int64_t max = column->type == COLUMN_I32   ? RECORD_TOKENS_MAX
                  : column->type == COLUMN_U16 ? UINT16_MAX
                                               : INT64_MAX / 4;
    int32_t narrow = (int32_t)value;
    uint16_t small = (uint16_t)value;
    if (value < 0 || value > max)
        return bad(reading, column->name, "is out of range");
    if (column->type == COLUMN_I64)
        memcpy(at, &value, sizeof(value));
    else if (column->type == COLUMN_I32)
        memcpy(at, &narrow, sizeof(narrow));
    else if (column->type == COLUMN_U16)
        memcpy(at, &small, sizeof(small));
    return STATUS_OK;
}

static enum status set_text(const struct reading *reading, struct record *r,
                            const struct column *column, struct view text)
{
    if (column->type == COLUMN_WHY) {
        for (int i = 0; i < RECORD_WHY_N; i++) {
            if (view_equal_text(text, metrics_record_why_name((enum record_why)i))) {
                r->why = (uint8_t)i;
                return STATUS_OK;
            }
        }
        return bad(reading, column->name, "is not a known end");
    }
    if (text.n == 0 || text.n >= LIMIT_NAME_BYTES || !utf8_is_valid(text) ||
        memchr(text.at, '\0', text.n) != NULL)
        return bad(reading, column->name, "is not a name");
    int32_t service = metrics_record_service(reading->set, text);
    if (service < 0)
        return bad(reading, column->name, "is one service too many");
    r->service = (uint16_t)service;
    return STATUS_OK;
}

/* Keeps a record if it is consistent. */
static enum status keep(const struct reading *reading, const struct record *r)
{
    if (r->end_ns < r->arrived_ns)
        return bad(reading, "the request", "ends before it arrives");
    if (r->first_ns != 0 && (r->first_ns < r->arrived_ns || r->first_ns > r->end_ns))
        return bad(reading, "first_ns", "lies outside of the request");
    if ((r->first_ns == 0) != (r->n_output == 0))
        return bad(reading, "first_ns", "and n_output contradict each other");
    metrics_record_add(reading->set, r);
    return STATUS_OK;
}

static int column_named(struct view name)
{
    for (size_t c = 0; c < N_COLUMNS; c++)
        if (view_equal_text(name, columns[c].name))
            return (int)c;
    return -1;
}

static enum status all_required(const struct reading *reading, const bool *is_there)
{
    for (size_t c = 0; c < N_COLUMNS; c++)
        if (columns[c].is_required && !is_there[c])
            return bad(reading, columns[c].name, "is missing");
    return STATUS_OK;
}

/* Reads the next field of a CSV line, unquoted, into out. *rest moves behind it and its comma.
 * Returns false when its quotes are wrong or it is too long. */
static bool next_field(struct view *rest, char out[FIELD_BYTES], size_t *n)
{
    bool is_quoted = rest->n > 0 && rest->at[0] == '"';
    size_t at = is_quoted ? 1 : 0;
    for (*n = 0; *n < FIELD_BYTES - 1; at++) {
        bool is_over = at == rest->n;
        if (!is_quoted && (is_over || rest->at[at] == ','))
            break;
        if (is_over)
            return false;
        if (is_quoted && rest->at[at] == '"') {
            at++;
            if (at == rest->n || rest->at[at] == ',')
                break;
            if (rest->at[at] != '"')
                return false;
        }
        out[(*n)++] = rest->at[at];
    }
    if (*n == FIELD_BYTES - 1)
        return false;
    out[*n] = '\0';
    size_t step = at < rest->n ? at + 1 : at;
    *rest = view_of(rest->at + step, rest->n - step);
    return true;
}

struct header {
    int of[N_COLUMNS]; /* column of each field */
    size_t n;
};

static bool ends_in_comma(struct view line)
{
    return line.n > 0 && line.at[line.n - 1] == ',';
}

static enum status read_header(const struct reading *reading, struct view line,
                               struct header *header)
{
    char field[FIELD_BYTES];
    bool is_there[N_COLUMNS] = { false };
    size_t n;
    header->n = 0;
    if (ends_in_comma(line))
        return bad(reading, "the line of names", "ends in a comma");
    while (line.n > 0) {
        if (!next_field(&line, field, &n))
            return bad(reading, "a name", "is quoted wrongly or too long");
        int c = strlen(field) == n ? column_named(view_of(field, n)) : -1;
        if (c < 0)
            return bad(reading, field, "is not a column of records");
        if (is_there[c])
            return bad(reading, field, "appears twice");
        is_there[c] = true;
        header->of[header->n++] = c;
    }
    return all_required(reading, is_there);
}

static enum status read_row(const struct reading *reading, struct view line,
                            const struct header *header)
{
    char field[FIELD_BYTES];
    struct record r = { 0 };
    size_t n;
    if (ends_in_comma(line))
        return bad(reading, "the line", "ends in a comma");
    for (size_t f = 0; f < header->n; f++) {
        const struct column *column = &columns[header->of[f]];
        int64_t value;
        enum status status;
        if (line.n == 0)
            return bad(reading, column->name, "is missing");
        if (!next_field(&line, field, &n))
            return bad(reading, column->name, "is quoted wrongly or too long");
        if (column->type == COLUMN_SERVICE || column->type == COLUMN_WHY)
            status = set_text(reading, &r, column, view_of(field, n));
        else if (strlen(field) != n || !parse_i64(field, &value))
            status = bad(reading, column->name, "is not a whole number");
        else
            status = set_number(reading, &r, column, value);
        if (status != STATUS_OK)
            return status;
    }
    if (line.n > 0)
        return bad(reading, "the line", "has more fields than there are names");
    return keep(reading, &r);
}

static enum status read_object(const struct reading *reading, struct view line)
{
    struct record r = { 0 };
    bool is_there[N_COLUMNS] = { false };
    const char *key;
    json_t *value;
    enum status status = STATUS_OK;
    json_t *object = json_loadb(line.at, line.n, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return bad(reading, "the line", "is not a JSON object");
    }
    json_object_foreach(object, key, value) {
        int c = column_named(view_text(key));
        bool is_text =
            c >= 0 && (columns[c].type == COLUMN_SERVICE || columns[c].type == COLUMN_WHY);
        if (c < 0)
            status = bad(reading, key, "is not a column of records");
        else if (is_text && json_is_string(value))
            status = set_text(reading, &r, &columns[c],
                              view_of(json_string_value(value), json_string_length(value)));
        else if (!is_text && json_is_integer(value))
            status = set_number(reading, &r, &columns[c], json_integer_value(value));
        else
            status = bad(reading, key, is_text ? "is not a text" : "is not a whole number");
        if (status != STATUS_OK)
            break;
        is_there[c] = true;
    }
    json_decref(object);
    if (status == STATUS_OK)
        status = all_required(reading, is_there);
    return status == STATUS_OK ? keep(reading, &r) : status;
}

enum status metrics_record_read(struct record_set *set, enum record_form form, struct view text,
                                struct fault *fault)
{
    struct reading reading = { .set = set, .fault = fault };
    struct header header = { .n = 0 };
    enum status status = STATUS_OK;
    for (size_t at = 0; at < text.n && status == STATUS_OK;) {
        const char *end = memchr(text.at + at, '\n', text.n - at);
        size_t next = end != NULL ? (size_t)(end - text.at) + 1 : text.n;
        struct view line = view_of(text.at + at, next - at - (end != NULL));
        if (line.n > 0 && line.at[line.n - 1] == '\r')
            line.n--;
        reading.line++;
        at = next;
        if (form == RECORD_CSV && header.n == 0)
            status = read_header(&reading, line, &header);
        else if (line.n > 0)
            status = form == RECORD_CSV ? read_row(&reading, line, &header)
                                        : read_object(&reading, line);
    }
    if (status == STATUS_OK && form == RECORD_CSV && header.n == 0)
        status = bad(&reading, "the line of names", "is missing");
    return status;
}

enum status metrics_record_save(const struct record_set *set, const char *path, struct fault *fault)
{
    struct str out;
    str_init(&out);
    metrics_record_write(set, metrics_record_form_of(path), &out);
    enum status status = file_write(path, out.at != NULL ? out.at : "", out.n, fault);
    str_free(&out);
    return status;
}

enum status metrics_record_load(struct record_set *set, const char *path, struct fault *fault)
{
    char *content;
    size_t n;
    struct fault inner;
    enum status status = file_read(path, FILE_BYTES_MAX, &content, &n, fault);
    if (status != STATUS_OK)
        return status;
    status = metrics_record_read(set, metrics_record_form_of(path), view_of(content, n), &inner);
    mem_give(content);
    return status == STATUS_OK ? status : fault_set(fault, status, "%.120s: %s", path, inner.text);
}
