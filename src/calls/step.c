/* Marks, white space, output, and the begin and end of calls. */
#include "calls/step.h"
#include <stdio.h>
#include <string.h>

bool calls_step_is_white(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

enum calls_match calls_step_match(const struct calls_input *in, size_t at, const char *mark)
{
    if (mark == NULL || at > in->text.n)
        return CALLS_NO;
    size_t n = strlen(mark), n_left = in->text.n - at;
    if (memcmp(in->text.at + at, mark, n < n_left ? n : n_left) != 0)
        return CALLS_NO;
    return n <= n_left ? CALLS_YES : CALLS_MAYBE;
}

size_t calls_step_blank(const struct calls_input *in, size_t at)
{
    while (at < in->text.n && calls_step_is_white(in->text.at[at]))
        at++;
    return at;
}

enum calls_match calls_step_find(const struct calls_input *in, size_t from, const char *mark,
                                 size_t *end)
{
    const char *text = in->text.at;
    while (from < in->text.n) {
        const char *at = memchr(text + from, mark[0], in->text.n - from);
        if (at == NULL)
            break;
        *end = (size_t)(at - text);
        enum calls_match match = calls_step_match(in, *end, mark);
        if (match != CALLS_NO)
            return match;
        from = *end + 1;
    }
    *end = in->text.n;
    return CALLS_NO;
}

void calls_step_emit(const struct calls_input *in, enum calls_event event, size_t from, size_t to)
{
    if (to > from)
        in->sink->take(in->sink->self, event, view_of(in->text.at + from, to - from));
}

void calls_step_emit_text(const struct calls_input *in, enum calls_event event, const char *text)
{
    in->sink->take(in->sink->self, event, view_text(text));
}

static void emit_escape(const struct calls_input *in, char c)
{
    char text[8];
    if (c == '"' || c == '\\')
        (void)snprintf(text, sizeof(text), "\\%c", c);
    else if (c == '\n')
        (void)snprintf(text, sizeof(text), "\\n");
    else if (c == '\t')
        (void)snprintf(text, sizeof(text), "\\t");
    else
        (void)snprintf(text, sizeof(text), "\\u%04x", (unsigned)(unsigned char)c);
    calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, text);
}

void calls_step_emit_escaped(const struct calls_input *in, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        char c = in->text.at[i];
        if ((unsigned char)c >= 0x20 && c != '"' && c != '\\')
            continue;
        calls_step_emit(in, CALLS_EVENT_ARGUMENTS, from, i);
        emit_escape(in, c);
        from = i + 1;
    }
    calls_step_emit(in, CALLS_EVENT_ARGUMENTS, from, to);
}

enum calls_json_end calls_step_take_json(struct calls_json *json, const struct calls_input *in,
                                         size_t *at)
{
    enum calls_json_end end = CALLS_JSON_MORE;
    while (*at < in->text.n && end == CALLS_JSON_MORE) {
        size_t to = *at, n = 0;
        while (to < in->text.n && (unsigned char)in->text.at[to] >= 0x20)
            to++;
        bool is_control = to == *at, in_string = calls_json_in_string(json);
        end = calls_json_take(json, view_of(in->text.at + *at, is_control ? 1 : to - *at), &n);
        if (is_control && in_string && n > 0)
            emit_escape(in, in->text.at[*at]);
        else
            calls_step_emit(in, CALLS_EVENT_ARGUMENTS, *at, *at + n);
        *at += n;
    }
    return end;
}

void calls_step_emit_json(const struct calls_input *in, size_t from, size_t to)
{
    struct calls_json json;
    const struct calls_input part = { view_of(in->text.at, to), in->is_end, in->sink };
    calls_json_init(&json);
    (void)calls_step_take_json(&json, &part, &from);
}

void calls_step_emit_words(struct calls_parser *p, const struct calls_input *in,
                           enum calls_event event, size_t to)
{
    bool is_thought = event == CALLS_EVENT_REASONING;
    bool has_before = is_thought ? p->has_thought : p->has_text;
    bool trims = is_thought || (!p->keeps_space && (p->has_thought || p->n_calls > 0));
    size_t from = p->at;
    if (!has_before && trims)
        while (from < to && calls_step_is_white(in->text.at[from]))
            from++;
    if (to > from && is_thought)
        p->has_thought = true;
    else if (to > from)
        p->has_text = true;
    calls_step_emit(in, event, from, to);
    p->at = to > p->at ? to : p->at;
}

void calls_step_begin(struct calls_parser *p, size_t at)
{
    p->start = at;
    p->is_told = p->is_over = p->has_param = false;
    p->name_n = p->args_n = 0;
    p->n_nested = 0;
    p->tool = NULL;
}

bool calls_step_name(struct calls_parser *p, const struct calls_input *in, size_t at, size_t n)
{
    p->name_at = at;
    p->name_n = n;
    p->tool = calls_tools_find(p->tools, view_of(in->text.at + at, n));
    return n > 0 && (p->tool != NULL || p->tools->n == 0);
}

void calls_step_tell(struct calls_parser *p, const struct calls_input *in)
{
    p->is_told = true;
    p->has_calls = true;
    p->n_calls++;
    calls_step_emit(in, CALLS_EVENT_CALL, p->name_at, p->name_at + p->name_n);
}

void calls_step_over(struct calls_parser *p, const struct calls_input *in)
{
    if (!p->is_over) {
        p->n_whole++;
        calls_step_emit_text(in, CALLS_EVENT_END, "");
    }
    p->is_over = true;
}

bool calls_step_break(struct calls_parser *p)
{
    bool is_whole = p->is_told && p->is_over;
    p->state = p->style.format->kind == CALLS_HARMONY ? CALLS_BODY : CALLS_TEXT;
    p->plain_to = p->at;
    if (!is_whole) {
        p->plain_to = p->at > p->start ? p->at : p->start + 1;
        p->at = p->start;
    }
    p->scanned = p->plain_to;
    return true;
}
