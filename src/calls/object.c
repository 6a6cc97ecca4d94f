/* Calls as JSON objects: {"name": ..., "arguments": {...}}, in any order of keys, with others
 * beside them, alone, in a row or in an array. */
#include "calls/object.h"
#include <string.h>

enum { KEY_BYTES_MAX = 64 };

static bool is_one_of(struct view v, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (view_equal_text(v, names[i]))
            return true;
    return false;
}

static bool is_name_key(struct view key)
{
    static const char *const names[] = { "name", "tool_name" };
    return is_one_of(key, names, COUNT_OF(names));
}

static bool is_args_key(struct view key)
{
    static const char *const names[] = { "arguments", "parameters" };
    return is_one_of(key, names, COUNT_OF(names));
}

/* Matches a short string without escapes at a position. *end is behind its quote. */
static enum calls_match match_string(const struct calls_input *in, size_t at, size_t n_max,
                                     size_t *end)
{
    if (at >= in->text.n)
        return CALLS_MAYBE;
    if (in->text.at[at] != '"')
        return CALLS_NO;
    for (size_t i = at + 1; i < in->text.n; i++) {
        char c = in->text.at[i];
        *end = i + 1;
        if (c == '"')
            return CALLS_YES;
        if (c == '\\' || (unsigned char)c < 0x20 || i - at > n_max)
            return CALLS_NO;
    }
    return CALLS_MAYBE;
}

static bool section_step(struct calls_parser *p, const struct calls_input *in)
{
    const struct calls_format *format = p->style.format;
    size_t at = calls_step_blank(in, p->at);
    char c = at < in->text.n ? in->text.at[at] : '\0';
    if (at >= in->text.n)
        return false;
    if (c == '[' && !p->in_array && !p->has_calls) {
        p->in_array = true;
        p->at = at + 1;
        return true;
    }
    if (c == '{') {
        calls_step_begin(p, p->has_calls ? at : p->start);
        p->at = at + 1;
        p->state = CALLS_ITEM;
        return true;
    }
    if (c == ',' && p->in_array && p->has_calls) {
        p->at = at + 1;
        return true;
    }
    if (c == ']' && p->in_array && (p->has_calls || format->open != NULL)) {
        p->at = at + 1;
        p->state = CALLS_TAIL;
        return true;
    }
    p->at = at;
    return calls_step_break(p);
}

/* Behind the last object: the closing mark, or another object, or other text. */
static bool tail_step(struct calls_parser *p, const struct calls_input *in)
{
    const struct calls_format *format = p->style.format;
    size_t at = calls_step_blank(in, p->at);
    const char *closes[] = { format->close, format->close_too };
    for (size_t i = 0; i < COUNT_OF(closes); i++) {
        enum calls_match match = calls_step_match(in, at, closes[i]);
        if (match == CALLS_MAYBE)
            return false;
        if (match == CALLS_YES) {
            p->at = at + strlen(closes[i]);
            p->state = CALLS_TEXT;
            p->scanned = p->at;
            return true;
        }
    }
    if (at >= in->text.n)
        return false;
    bool has_sign = in->text.at[at] == ';' || in->text.at[at] == ',';
    size_t next = has_sign ? calls_step_blank(in, at + 1) : at;
    if (next >= in->text.n)
        return false;
    p->state = in->text.at[next] == '{' && !p->in_array ? CALLS_SECTION : CALLS_TEXT;
    if (p->state == CALLS_SECTION)
        p->at = next;
    p->scanned = p->at;
    return true;
}

static bool take_name(struct calls_parser *p, const struct calls_input *in, size_t at)
{
    size_t end = 0;
    enum calls_match match = match_string(in, at, CALLS_NAME_BYTES_MAX, &end);
    if (match == CALLS_MAYBE)
        return false;
    if (match == CALLS_NO || p->name_n > 0 || !calls_step_name(p, in, at + 1, end - at - 2))
        return calls_step_break(p);
    p->at = end;
    p->state = CALLS_AFTER;
    if (p->args_n > 0) {
        calls_step_tell(p, in);
        calls_step_emit_json(in, p->args_at, p->args_at + p->args_n);
        calls_step_over(p, in);
    }
    return true;
}

static bool take_arguments(struct calls_parser *p, const struct calls_input *in, size_t at)
{
    if (in->text.at[at] != '{' || p->is_told || p->args_n > 0)
        return calls_step_break(p);
    p->at = p->args_at = at;
    calls_json_init(&p->json);
    p->state = p->name_n > 0 ? CALLS_ARGS : CALLS_LATE;
    if (p->name_n > 0)
        calls_step_tell(p, in);
    return true;
}

/* A key, its colon and the first byte of its value are taken in one step. */
static bool item_step(struct calls_parser *p, const struct calls_input *in)
{
    size_t at = calls_step_blank(in, p->at), end = 0;
    if (at < in->text.n && in->text.at[at] == '}') {
        p->state = CALLS_AFTER;
        return true;
    }
    enum calls_match match = match_string(in, at, CALLS_NAME_BYTES_MAX, &end);
    if (match == CALLS_NO)
        return calls_step_break(p);
    size_t colon = calls_step_blank(in, end);
    if (match == CALLS_MAYBE || colon >= in->text.n)
        return false;
    size_t value = calls_step_blank(in, colon + 1);
    if (in->text.at[colon] != ':')
        return calls_step_break(p);
    if (value >= in->text.n)
        return false;
    struct view key = view_of(in->text.at + at + 1, end - at - 2);
    if (p->style.format->is_short) {
        if (p->name_n > 0 || !calls_step_name(p, in, at + 1, key.n))
            return calls_step_break(p);
        return take_arguments(p, in, value);
    }
    if (is_name_key(key))
        return take_name(p, in, value);
    if (is_args_key(key))
        return take_arguments(p, in, value);
    p->at = value;
    if (view_equal_text(key, "function") && in->text.at[value] == '{' && p->n_nested == 0) {
        p->n_nested++;
        p->at++;
        return true;
    }
    calls_json_init(&p->json);
    p->state = CALLS_SKIP;
    return true;
}

static bool after_step(struct calls_parser *p, const struct calls_input *in)
{
    size_t at = calls_step_blank(in, p->at);
    if (at >= in->text.n)
        return false;
    char c = in->text.at[at];
    if (c == ',') {
        p->at = at + 1;
        p->state = CALLS_ITEM;
        return true;
    }
    bool is_last = c == '}' && p->n_nested == 0;
    if (c != '}' || (is_last && !p->is_told && (p->name_n == 0 || p->style.format->is_bare)))
        return calls_step_break(p);
    p->at = at + 1;
    if (!is_last) {
        p->n_nested--;
        return true;
    }
    if (!p->is_told) { /* a call without arguments */
        calls_step_tell(p, in);
        calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, "{}");
    }
    calls_step_over(p, in);
    p->state = p->in_array ? CALLS_SECTION : CALLS_TAIL;
    return true;
}

/* A value that is told, kept for later, or skipped. */
static bool value_step(struct calls_parser *p, const struct calls_input *in)
{
    size_t n = 0;
    struct view rest = view_of(in->text.at + p->at, in->text.n - p->at);
    enum calls_json_end end = p->state == CALLS_ARGS ? calls_step_take_json(&p->json, in, &p->at)
                                                     : calls_json_take(&p->json, rest, &n);
    p->at += n;
    if (end == CALLS_JSON_MORE)
        return false;
    if (end == CALLS_JSON_BAD)
        return calls_step_break(p);
    if (p->state == CALLS_ARGS)
        calls_step_over(p, in);
    if (p->state == CALLS_LATE)
        p->args_n = p->at - p->args_at;
    p->state = CALLS_AFTER;
    return true;
}

bool calls_object_step(struct calls_parser *p, const struct calls_input *in)
{
    switch (p->state) {
    case CALLS_SECTION:
        return section_step(p, in);
    case CALLS_TAIL:
        return tail_step(p, in);
    case CALLS_ITEM:
        return item_step(p, in);
    case CALLS_AFTER:
        return after_step(p, in);
    default:
        return value_step(p, in);
    }
}
