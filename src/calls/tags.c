/* Calls in tags: each parameter stands between two marks, as it is. Its type decides what it
 * becomes in JSON: a text goes out as it comes in, everything else when it is complete. */
#include "calls/tags.h"
#include "calls/named.h"
#include <string.h>

/* Takes the name of a parameter and what stands before its value. */
static bool take_param(struct calls_parser *p, const struct calls_input *in, size_t at)
{
    const struct calls_format *format = p->style.format;
    size_t end = at;
    enum calls_match match = calls_step_find(in, at, format->param_end, &end);
    if (end - at > CALLS_NAME_BYTES_MAX || end == at)
        return end == at && match != CALLS_YES ? false : calls_step_break(p);
    if (match != CALLS_YES)
        return false;
    size_t value = end + strlen(format->param_end);
    unsigned types = calls_tools_types(p->tool, view_of(in->text.at + at, end - at));
    bool is_text = types == CALLS_TYPE_TEXT;
    if (format->is_typed) {
        enum calls_match yes = calls_step_match(in, value, "true\">");
        enum calls_match no = calls_step_match(in, value, "false\">");
        if (yes == CALLS_MAYBE || no == CALLS_MAYBE)
            return false;
        if (yes == CALLS_NO && no == CALLS_NO)
            return calls_step_break(p);
        is_text = yes == CALLS_YES;
        value += strlen(is_text ? "true\">" : "false\">");
    }
    if (format->value_open != NULL) {
        value = calls_step_blank(in, value);
        match = calls_step_match(in, value, format->value_open);
        if (match != CALLS_YES)
            return match == CALLS_MAYBE ? false : calls_step_break(p);
        value += strlen(format->value_open);
    }
    if (format->has_lines && value >= in->text.n)
        return false;
    value += format->has_lines && in->text.at[value] == '\n';
    calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, p->has_param ? ", \"" : "\"");
    calls_step_emit_escaped(in, at, end);
    calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, is_text ? "\": \"" : "\": ");
    p->has_param = true;
    p->key_at = at;
    p->key_n = end - at;
    p->is_text_value = is_text;
    p->at = p->scanned = value;
    p->state = CALLS_VALUE;
    return true;
}

static bool param_step(struct calls_parser *p, const struct calls_input *in)
{
    const struct calls_format *format = p->style.format;
    size_t at = calls_step_blank(in, p->at);
    enum calls_match open = calls_step_match(in, at, format->param_open);
    enum calls_match close = calls_step_match(in, at, format->call_close);
    if (at >= in->text.n || ((open == CALLS_MAYBE || close == CALLS_MAYBE)))
        return false;
    if (open == CALLS_YES)
        return take_param(p, in, at + strlen(format->param_open));
    p->at = at;
    if (close != CALLS_YES)
        return calls_step_break(p);
    p->at = at + strlen(format->call_close);
    calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, "}");
    calls_step_over(p, in);
    p->state = format->call_open != NULL ? CALLS_SECTION : CALLS_TEXT;
    p->scanned = p->at;
    return true;
}

static unsigned type_of(struct view value)
{
    switch (value.at[0]) {
    case '"':
        return CALLS_TYPE_TEXT;
    case '[':
        return CALLS_TYPE_ARRAY;
    case '{':
        return CALLS_TYPE_OBJECT;
    case 't':
    case 'f':
        return CALLS_TYPE_BOOL;
    case 'n':
        return CALLS_TYPE_NULL;
    default:
        return CALLS_TYPE_NUMBER;
    }
}

/* Emits a complete value that may be another type than text. Some templates write Python's
 * spellings. */
static void emit_value(struct calls_parser *p, const struct calls_input *in, size_t to)
{
    static const struct {
        const char *python, *json;
        unsigned type;
    } words[] = { { "True", "true", CALLS_TYPE_BOOL },
                  { "False", "false", CALLS_TYPE_BOOL },
                  { "None", "null", CALLS_TYPE_NULL } };
    unsigned types = p->style.format->is_typed
                         ? CALLS_TYPE_ANY
                         : calls_tools_types(p->tool, view_of(in->text.at + p->key_at, p->key_n));
    size_t from = calls_step_blank(in, p->at), end = to;
    while (end > from && calls_step_is_white(in->text.at[end - 1]))
        end--;
    struct view value = view_of(in->text.at + from, end > from ? end - from : 0);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (view_equal_text(value, words[i].python) && (types & words[i].type) != 0 &&
            types != CALLS_TYPE_ANY) {
            calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, words[i].json);
            return;
        }
    bool is_json = calls_json_is_value(value);
    bool is_quoted = is_json && value.at[0] == '"';
    bool fits = is_json && (types & type_of(value)) != 0;
    if (fits && (!is_quoted || types == CALLS_TYPE_ANY)) {
        calls_step_emit_json(in, from, end);
        return;
    }
    calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, "\"");
    calls_step_emit_escaped(in, p->at, to);
    calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, "\"");
}

/* Holds the last line end of a text back, since it may stand before the closing mark. */
static bool value_step(struct calls_parser *p, const struct calls_input *in)
{
    const struct calls_format *format = p->style.format;
    size_t from = p->scanned > p->at ? p->scanned : p->at, end = from;
    enum calls_match match = calls_step_find(in, from, format->value_close, &end);
    bool is_cut = match != CALLS_YES && in->is_end;
    p->scanned = end;
    size_t to = is_cut ? in->text.n : end;
    if (format->has_lines && !is_cut && to > p->at && in->text.at[to - 1] == '\n')
        to--;
    if (p->is_text_value) {
        calls_step_emit_escaped(in, p->at, to);
        p->at = to;
    }
    if (match != CALLS_YES)
        return false;
    if (p->is_text_value)
        calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, "\"");
    else
        emit_value(p, in, to);
    p->at = end + strlen(format->value_close);
    p->state = CALLS_PARAM;
    return true;
}

bool calls_tags_step(struct calls_parser *p, const struct calls_input *in)
{
    if (p->state == CALLS_PARAM)
        return param_step(p, in);
    if (p->state == CALLS_VALUE)
        return value_step(p, in);
    return calls_named_step(p, in);
}
