/* Reads a trace as JSON objects, one per line: our own, and Mooncake's {timestamp in ms,
 * input_length, output_length, hash_ids of 512 tokens each}. */
#include "workload/trace_read.h"

#include "base/time.h"
#include <jansson.h>
#include <string.h>

enum { MOONCAKE_TOKENS = 512 };

struct reader {
    struct workload_trace *trace;
    struct workload_trace_place place;
    struct workload_trace_origin origin;
};

/* Returns the value of the first key that the object has; NULL: none, or null. */
static json_t *find(json_t *object, const char *key, const char *other)
{
    json_t *value = json_object_get(object, key);
    if (value == NULL && other != NULL)
        value = json_object_get(object, other);
    return json_is_null(value) ? NULL : value;
}

/* Reads a whole number in [min, max], or the default if it is absent. */
static enum status whole(const struct reader *r, json_t *value, const char *key,
                         const int64_t bounds[2], int64_t *out)
{
    if (value == NULL)
        return STATUS_OK;
    if (!json_is_integer(value) || json_integer_value(value) < bounds[0] ||
        json_integer_value(value) > bounds[1])
        return workload_trace_read_bad(&r->place, "%s is not a whole number from %lld to %lld", key,
                                       (long long)bounds[0], (long long)bounds[1]);
    *out = json_integer_value(value);
    return STATUS_OK;
}

static enum status seconds(const struct reader *r, json_t *value, const char *key, int64_t *out)
{
    if (value == NULL)
        return STATUS_OK;
    double x = json_number_value(value) * 1e9;
    if (!json_is_number(value) || !(x >= 0) || x > (double)WORKLOAD_TRACE_NS_MAX)
        return workload_trace_read_bad(&r->place, "%s is not a number >= 0, or over a century",
                                       key);
    *out = (int64_t)(x + 0.5);
    return STATUS_OK;
}

/* Returns the position of the first '"' from `at` on that ends a string. */
static size_t end_of_string(struct view line, size_t at)
{
    while (at < line.n && line.at[at] != '"')
        at += line.at[at] == '\\' ? 2 : 1;
    return at;
}

/* Returns the digits of a member's number as they stand in the line, because jansson only has a
 * double of them. The line is known to be an object. A key that is written with escapes is not
 * found (empty). */
static struct view digits_of(struct view line, const char *key)
{
    static const char spaces[] = " \t\r";
    int depth = 0;
    for (size_t i = 0; i < line.n; i++) {
        char c = line.at[i];
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (c != '"')
            continue;
        struct view name = view_of(line.at + i + 1, 0);
        i = end_of_string(line, i + 1);
        name.n = (size_t)(line.at + i - name.at);
        size_t at = i + 1;
        while (at < line.n && strchr(spaces, line.at[at]) != NULL)
            at++;
        if (depth != 1 || at >= line.n || line.at[at] != ':' || !view_equal_text(name, key))
            continue;
        size_t end = ++at;
        while (end < line.n && line.at[end] != ',' && line.at[end] != '}')
            end++;
        return view_of(line.at + at, end - at);
    }
    return view_of("", 0);
}

static enum status arrival(struct reader *r, struct view line, const char *key, int64_t unit_ns,
                           int64_t *ns)
{
    struct workload_trace_time time;
    if (!workload_trace_read_time(digits_of(line, key), unit_ns, &time))
        return workload_trace_read_bad(&r->place, "%s is not a number", key);
    if (!workload_trace_read_since(&r->origin, time, ns))
        return workload_trace_read_bad(&r->place, "%s is over a century from the first", key);
    return STATUS_OK;
}

static enum status times(struct reader *r, struct view line, json_t *object,
                         struct workload_trace_row *row)
{
    bool is_ours = find(object, "arrived_s", NULL) != NULL;
    bool has_time = is_ours || find(object, "timestamp", NULL) != NULL;
    enum status status = STATUS_OK;
    if (r->trace->n_rows + r->trace->n_skipped > 0 && has_time != r->trace->has_times)
        return workload_trace_read_bad(&r->place, "a request %s a time after others %s",
                                       has_time ? "with" : "without",
                                       has_time ? "without" : "with");
    r->trace->has_times = has_time;
    if (has_time)
        status = arrival(r, line, is_ours ? "arrived_s" : "timestamp",
                         is_ours ? TIME_NS_PER_S : TIME_NS_PER_MS, &row->arrived_ns);
    if (status == STATUS_OK)
        status = seconds(r, find(object, "deadline_s", NULL), "deadline_s", &row->deadline_ns);
    if (status == STATUS_OK)
        status = seconds(r, find(object, "cancel_s", NULL), "cancel_s", &row->cancel_ns);
    return status;
}

static enum status figures(struct reader *r, json_t *object, struct workload_trace_row *row)
{
    static const int64_t tokens[2] = { 0, LIMIT_CONTEXT }, small[2] = { INT16_MIN, INT16_MAX },
                         tenants[2] = { 0, UINT16_MAX };
    json_t *prompt = find(object, "n_prompt", "input_length");
    json_t *output = find(object, "n_output", "output_length");
    int64_t x[5] = { 0, 0, 0, 0, 0 };
    if (prompt == NULL || output == NULL)
        return workload_trace_read_bad(&r->place, "no %s",
                                       prompt == NULL ? "n_prompt" : "n_output");
    enum status status = whole(r, prompt, "n_prompt", tokens, &x[0]);
    if (status == STATUS_OK)
        status = whole(r, output, "n_output", tokens, &x[1]);
    if (status == STATUS_OK)
        status = whole(r, find(object, "predicted", NULL), "predicted", tokens, &x[2]);
    if (status == STATUS_OK)
        status = whole(r, find(object, "priority", NULL), "priority", small, &x[3]);
    if (status == STATUS_OK)
        status = whole(r, find(object, "tenant", NULL), "tenant", tenants, &x[4]);
    row->n_prompt = (int32_t)x[0];
    row->n_output = (int32_t)x[1];
    row->n_predicted = (int32_t)x[2];
    row->priority = (int16_t)x[3];
    row->tenant = (uint16_t)x[4];
    r->trace->has_predicted |= row->n_predicted > 0;
    return status;
}

static enum status model(struct reader *r, json_t *object, struct workload_trace_row *row)
{
    json_t *value = find(object, "model", NULL);
    if (value == NULL) {
        row->model = (uint16_t)max_i32(workload_trace_model(r->trace, view_of("", 0)), 0);
        return STATUS_OK;
    }
    int32_t index = !json_is_string(value)
                        ? -1
                        : workload_trace_model(r->trace, view_of(json_string_value(value),
                                                                 json_string_length(value)));
    if (index < 0)
        return workload_trace_read_bad(&r->place, "model is not one of at most 1024 names");
    row->model = (uint16_t)index;
    return STATUS_OK;
}

static enum status prefix(struct reader *r, json_t *object, struct workload_trace_row *row)
{
    static const int64_t bounds[2] = { 1, LIMIT_CONTEXT };
    json_t *list = find(object, "prefix", "hash_ids");
    int64_t prefix_tokens = MOONCAKE_TOKENS;
    enum status status =
        whole(r, find(object, "prefix_tokens", NULL), "prefix_tokens", bounds, &prefix_tokens);
    if (status != STATUS_OK || list == NULL)
        return status;
    if (!json_is_array(list))
        return workload_trace_read_bad(&r->place, "the prefix is not a list of names of blocks");
    for (size_t i = 0; i < json_array_size(list) && r->trace->n_blocks < WORKLOAD_TRACE_BLOCKS_MAX;
         i++) {
        json_t *name = json_array_get(list, i);
        if (!json_is_integer(name))
            return workload_trace_read_bad(&r->place,
                                           "the prefix holds what is not a whole number");
        workload_trace_add_block(r->trace, (uint64_t)json_integer_value(name));
    }
    return workload_trace_read_prefix(r->trace, row, prefix_tokens, &r->place);
}

static enum status read_row(struct reader *r, struct view line)
{
    json_error_t error;
    struct workload_trace_row row = { .deadline_ns = TIME_NEVER,
                                      .cancel_ns = TIME_NEVER,
                                      .prefix_at = r->trace->n_blocks };
    json_t *object = json_loadb(line.at, line.n, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(object)) {
        json_decref(object);
        return workload_trace_read_bad(&r->place, "not a JSON object");
    }
    enum status status = times(r, line, object, &row);
    if (status == STATUS_OK)
        status = figures(r, object, &row);
    if (status == STATUS_OK)
        status = model(r, object, &row);
    if (status == STATUS_OK)
        status = prefix(r, object, &row);
    if (status == STATUS_OK)
        status = workload_trace_read_row(r->trace, &row, &r->place);
    json_decref(object);
    return status;
}

enum status workload_trace_jsonl(struct workload_trace *trace, const char *name, struct view text,
                                 struct fault *fault)
{
    struct reader r = { .trace = trace, .place = { name, 0, fault } };
    struct view line;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && workload_trace_read_line(&text, &line)) {
        r.place.line++;
        if (line.n > 0)
            status = read_row(&r, line);
    }
    return status;
}
