/* Calls whose name stands before the arguments: marks, the name, a mark, and JSON. The head is the
 * same for calls in tags. */
#include "calls/named.h"
#include <string.h>

enum { LEAD_BYTES_MAX = 128 };

/* Between calls: another one, the end of the section, or other text. */
static bool section_step(struct calls_parser *p, const struct calls_input *in)
{
    const struct calls_format *format = p->style.format;
    size_t at = calls_step_blank(in, p->at);
    enum calls_match open = calls_step_match(in, at, format->call_open);
    enum calls_match close = calls_step_match(in, at, format->close);
    if (at >= in->text.n)
        return false;
    if (open == CALLS_YES) {
        calls_step_begin(p, p->has_calls ? at : p->start);
        p->at = at + strlen(format->call_open);
        p->state = CALLS_HEAD;
        return true;
    }
    if (close == CALLS_YES) {
        p->at = p->scanned = at + strlen(format->close);
        p->state = CALLS_TEXT;
        return true;
    }
    if (open == CALLS_MAYBE || close == CALLS_MAYBE)
        return false;
    if (p->has_calls) {
        p->state = CALLS_TEXT;
        p->scanned = p->at;
        return true;
    }
    p->at = at;
    return calls_step_break(p);
}

/* Finds the end of a name: a mark that is taken, or a line end or '<' that stays. */
static enum calls_match find_name_end(const struct calls_parser *p, const struct calls_input *in,
                                      size_t *end, size_t *behind)
{
    const char *mark = p->style.format->name_end;
    enum calls_match match = CALLS_NO;
    if (mark != NULL) {
        match = calls_step_find(in, p->at, mark, end);
        *behind = *end + strlen(mark);
    } else {
        for (*end = p->at; *end < in->text.n && match == CALLS_NO; ++*end)
            if (in->text.at[*end] == '<' || (in->text.at[*end] == '\n' && *end > p->at))
                match = CALLS_YES;
        *behind = *end -= match == CALLS_YES;
    }
    if (match != CALLS_YES && *end - p->at <= CALLS_NAME_BYTES_MAX)
        return CALLS_MAYBE;
    return *end - p->at > CALLS_NAME_BYTES_MAX ? CALLS_NO : match;
}

static struct view trimmed(struct view name)
{
    while (name.n > 0 && calls_step_is_white(name.at[name.n - 1]))
        name.n--;
    while (name.n > 0 && calls_step_is_white(name.at[0]))
        name = view_of(name.at + 1, name.n - 1);
    return name;
}

/* Returns the name inside of its marks: some models write functions.NAME:0 for NAME. */
static struct view plain_name(const struct calls_parser *p, struct view name)
{
    static const char prefix[] = "functions.";
    name = trimmed(name);
    if (calls_tools_find(p->tools, name) != NULL)
        return name;
    if (view_starts(name, prefix))
        name = view_of(name.at + sizeof(prefix) - 1, name.n - (sizeof(prefix) - 1));
    size_t n = name.n;
    while (n > 0 && name.at[n - 1] >= '0' && name.at[n - 1] <= '9')
        n--;
    if (n > 1 && n < name.n && name.at[n - 1] == ':')
        name.n = n - 1;
    return name;
}

static bool head_step(struct calls_parser *p, const struct calls_input *in)
{
    const struct calls_format *format = p->style.format;
    size_t end = p->at, behind = p->at;
    enum calls_match match = find_name_end(p, in, &end, &behind);
    if (match == CALLS_MAYBE)
        return false;
    struct view name = plain_name(p, view_of(in->text.at + p->at, end - p->at));
    if (match == CALLS_YES && format->is_headed && view_equal_text(name, "all")) {
        p->at = p->scanned = p->start = behind;
        p->state = CALLS_TEXT;
        return true;
    }
    size_t at = name.n > 0 ? (size_t)(name.at - in->text.at) : p->at;
    if (match == CALLS_NO || !calls_step_name(p, in, at, name.n))
        return calls_step_break(p);
    p->at = behind;
    p->state = format->kind == CALLS_TAGS ? CALLS_PARAM : CALLS_LEAD;
    if (format->kind == CALLS_TAGS) {
        calls_step_tell(p, in);
        calls_step_emit_text(in, CALLS_EVENT_ARGUMENTS, "{");
    }
    return true;
}

/* Between a name and its arguments other marks may stand. */
static bool lead_step(struct calls_parser *p, const struct calls_input *in)
{
    const char *mark = p->style.format->args_open;
    size_t at = p->at;
    if (mark != NULL) {
        enum calls_match match = calls_step_find(in, p->at, mark, &at);
        if (match != CALLS_YES && at - p->at <= LEAD_BYTES_MAX)
            return false;
        if (match != CALLS_YES)
            return calls_step_break(p);
        at += strlen(mark);
    }
    at = calls_step_blank(in, at);
    if (at >= in->text.n)
        return false;
    if (in->text.at[at] != '{')
        return calls_step_break(p);
    p->at = at;
    calls_step_tell(p, in);
    calls_json_init(&p->json);
    p->state = CALLS_ARGS;
    return true;
}

static bool args_step(struct calls_parser *p, const struct calls_input *in)
{
    enum calls_json_end end = calls_step_take_json(&p->json, in, &p->at);
    if (end == CALLS_JSON_BAD)
        return calls_step_break(p);
    if (end == CALLS_JSON_DONE) {
        calls_step_over(p, in);
        p->state = CALLS_CLOSE;
    }
    return end == CALLS_JSON_DONE;
}

static bool close_step(struct calls_parser *p, const struct calls_input *in)
{
    const struct calls_format *format = p->style.format;
    size_t at = calls_step_blank(in, p->at);
    enum calls_match match = calls_step_match(in, at, format->call_close);
    if (match == CALLS_MAYBE)
        return false;
    if (match == CALLS_YES)
        p->at = at + strlen(format->call_close);
    p->state = format->call_open != NULL ? CALLS_SECTION : CALLS_TEXT;
    p->scanned = p->at;
    return true;
}

bool calls_named_step(struct calls_parser *p, const struct calls_input *in)
{
    switch (p->state) {
    case CALLS_SECTION:
        return section_step(p, in);
    case CALLS_HEAD:
        return head_step(p, in);
    case CALLS_LEAD:
        return lead_step(p, in);
    case CALLS_ARGS:
        return args_step(p, in);
    default:
        return close_step(p, in);
    }
}
