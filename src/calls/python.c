/* Calls in Python's form: [name(key='text', other=[1, 2], flag=True)]. Arguments become JSON as
 * they come in, and everything that goes out is checked as JSON. */
#include "calls/python.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES_MAX = 64 };

/* Emits a piece of the arguments. Returns false when no JSON can have it there. */
static bool emit(struct calls_parser *p, const struct calls_input *in, struct view bytes)
{
    size_t n = 0;
    if (calls_json_take(&p->json, bytes, &n) == CALLS_JSON_BAD || n < bytes.n)
        return false;
    if (bytes.n > 0)
        in->sink->take(in->sink->self, CALLS_EVENT_ARGUMENTS, bytes);
    return true;
}

/* Emits what a comma that was seen stands before. */
static bool emit_value_begin(struct calls_parser *p, const struct calls_input *in, const char *text)
{
    bool is_fine = !p->python.wants_comma || emit(p, in, view_text(", "));
    p->python.wants_comma = false;
    return is_fine && emit(p, in, view_text(text));
}

static size_t word_end(const struct calls_input *in, size_t at, const char *more)
{
    while (at < in->text.n) {
        char c = in->text.at[at];
        if (!isalnum((unsigned char)c) && (c == '\0' || strchr(more, c) == NULL))
            break;
        at++;
    }
    return at;
}

/* Before a call: a bracket, a comma, a name with its parenthesis, or the end. */
static bool section_step(struct calls_parser *p, const struct calls_input *in)
{
    const struct calls_format *format = p->style.format;
    size_t at = calls_step_blank(in, p->at);
    if (at >= in->text.n)
        return false;
    char c = in->text.at[at];
    if ((c == '[' && !p->in_array && !p->has_calls) || (c == ',' && p->has_calls)) {
        p->in_array = p->in_array || c == '[';
        p->at = at + 1;
        return true;
    }
    if (c == ']' && p->in_array && p->has_calls) {
        p->at = p->scanned = at + 1;
        p->state = format->close != NULL ? CALLS_TAIL : CALLS_TEXT;
        return true;
    }
    size_t end = word_end(in, at, "_.-");
    if (end < in->text.n && in->text.at[end] == '(' && end > at) {
        calls_step_begin(p, p->has_calls ? at : p->start);
        p->at = at;
        if (end - at > CALLS_NAME_BYTES_MAX || !calls_step_name(p, in, at, end - at))
            return calls_step_break(p);
        calls_step_tell(p, in);
        calls_json_init(&p->json);
        p->python.quote = 0;
        p->python.wants_comma = false;
        p->at = end + 1;
        p->state = CALLS_KEYWORD;
        return emit(p, in, view_text("{")) || calls_step_break(p);
    }
    if (end >= in->text.n && end - at <= CALLS_NAME_BYTES_MAX)
        return false;
    p->at = at;
    return calls_step_break(p);
}

static bool tail_step(struct calls_parser *p, const struct calls_input *in)
{
    size_t at = calls_step_blank(in, p->at);
    enum calls_match match = calls_step_match(in, at, p->style.format->close);
    if (match == CALLS_MAYBE)
        return false;
    if (match == CALLS_YES)
        p->at = at + strlen(p->style.format->close);
    p->scanned = p->at;
    p->state = CALLS_TEXT;
    return true;
}

static bool keyword_step(struct calls_parser *p, const struct calls_input *in)
{
    size_t at = calls_step_blank(in, p->at);
    if (at >= in->text.n)
        return false;
    p->at = at;
    if (in->text.at[at] == ',' && p->has_param) {
        p->python.wants_comma = true;
        p->at = at + 1;
        return true;
    }
    if (in->text.at[at] == ')') {
        if (!emit(p, in, view_text("}")))
            return calls_step_break(p);
        p->at = at + 1;
        calls_step_over(p, in);
        p->state = CALLS_SECTION;
        return true;
    }
    size_t end = word_end(in, at, "_"), sign = calls_step_blank(in, end);
    if (sign >= in->text.n && end - at <= WORD_BYTES_MAX)
        return false;
    char key[WORD_BYTES_MAX + 8];
    if (sign >= in->text.n || in->text.at[sign] != '=' || end == at || end - at > WORD_BYTES_MAX)
        return calls_step_break(p);
    (void)snprintf(key, sizeof(key), "\"%.*s\": ", (int)(end - at), in->text.at + at);
    if (!emit_value_begin(p, in, key))
        return calls_step_break(p);
    p->has_param = true;
    p->at = sign + 1;
    p->state = CALLS_PYVALUE;
    return true;
}

/* Writes an escape of Python's as JSON. Returns the bytes that it takes in the text; 0: more text
 * is needed. */
static size_t read_escape(const struct calls_input *in, size_t at, char out[16])
{
    size_t n_left = in->text.n - at;
    char c = n_left > 1 ? in->text.at[at + 1] : '\0';
    size_t n_hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    char hex[9] = "";
    if (n_left < 2 + n_hex)
        return 0;
    for (size_t i = 0; i < n_hex; i++)
        hex[i] = in->text.at[at + 2 + i];
    if (n_hex > 0 && strspn(hex, "0123456789abcdefABCDEF") == n_hex) {
        unsigned long code = strtoul(hex, NULL, 16);
        if (n_hex < 8)
            (void)snprintf(out, 16, "\\u%04lx", code & 0xffff);
        else
            (void)snprintf(out, 16, "\\u%04lx\\u%04lx", 0xd800 + (((code - 0x10000) >> 10) & 0x3ff),
                           0xdc00 + (code & 0x3ff));
        return 2 + n_hex;
    }
    const char *json = c == 'n'    ? "\\n"
                       : c == 't'  ? "\\t"
                       : c == 'r'  ? "\\r"
                       : c == '"'  ? "\\\""
                       : c == '\'' ? "'"
                       : c == '\n' ? ""
                                   : "\\\\";
    bool is_known = c != '\0' && strchr("ntr\"'\n\\", c) != NULL;
    (void)snprintf(out, 16, "%s", json);
    return is_known ? 2 : 1; /* Python keeps the backslash of an escape that it does not know */
}

/* Inside of a string. */
static bool string_step(struct calls_parser *p, const struct calls_input *in)
{
    size_t at = p->at;
    char quote = (char)p->python.quote, out[16] = "";
    while (at < in->text.n && in->text.at[at] != quote && in->text.at[at] != '\\' &&
           in->text.at[at] != '"' && (unsigned char)in->text.at[at] >= 0x20)
        at++;
    if (at > p->at) {
        if (!emit(p, in, view_of(in->text.at + p->at, at - p->at)))
            return calls_step_break(p);
        p->at = at;
        return true;
    }
    if (at >= in->text.n)
        return false;
    char c = in->text.at[at];
    size_t n = 1;
    if (c == quote)
        (void)snprintf(out, sizeof(out), "\"");
    else if (c == '"')
        (void)snprintf(out, sizeof(out), "\\\"");
    else if (c == '\\')
        n = read_escape(in, at, out);
    else
        (void)snprintf(out, sizeof(out), "\\u%04x", (unsigned)(unsigned char)c);
    if (n == 0)
        return false;
    if (!emit(p, in, view_text(out)))
        return calls_step_break(p);
    if (c == quote)
        p->python.quote = 0;
    p->at = at + n;
    return true;
}

static bool word_step(struct calls_parser *p, const struct calls_input *in)
{
    static const char *const words[][2] = { { "True", "true" },   { "False", "false" },
                                            { "None", "null" },   { "true", "true" },
                                            { "false", "false" }, { "null", "null" } };
    size_t end = word_end(in, p->at, "_.+-");
    char word[WORD_BYTES_MAX + 1] = "";
    if (end >= in->text.n && end - p->at <= WORD_BYTES_MAX)
        return false;
    if (end == p->at || end - p->at > WORD_BYTES_MAX)
        return calls_step_break(p);
    memcpy(word, in->text.at + p->at, end - p->at);
    const char *json = word;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(word, words[i][0]) == 0)
            json = words[i][1];
    if (!calls_json_is_value(view_text(json)) || !emit_value_begin(p, in, json))
        return calls_step_break(p);
    p->at = end;
    return true;
}

static bool value_step(struct calls_parser *p, const struct calls_input *in)
{
    if (p->python.quote != 0)
        return string_step(p, in);
    size_t at = calls_step_blank(in, p->at);
    if (at >= in->text.n)
        return false;
    char c = in->text.at[at];
    p->at = at;
    if (p->json.depth <= 1 && (c == ',' || c == ')')) {
        p->state = CALLS_KEYWORD;
        return true;
    }
    const char *json = c == '{'   ? "{"
                       : c == '[' ? "["
                       : c == '(' ? "["
                       : c == '}' ? "}"
                       : c == ']' ? "]"
                       : c == ')' ? "]"
                       : c == ':' ? ": "
                                  : NULL;
    bool is_begin = c == '{' || c == '[' || c == '(';
    bool is_fine = true;
    if (c == '"' || c == '\'') {
        p->python.quote = (uint8_t)c;
        is_fine = emit_value_begin(p, in, "\"");
    } else if (c == ',') {
        is_fine = !p->python.wants_comma;
        p->python.wants_comma = true;
    } else if (is_begin) {
        is_fine = emit_value_begin(p, in, json);
    } else if (json != NULL) {
        p->python.wants_comma = c == ':' && p->python.wants_comma; /* one may stand at the end */
        is_fine = emit(p, in, view_text(json));
    } else {
        return word_step(p, in);
    }
    if (!is_fine)
        return calls_step_break(p);
    p->at = at + 1;
    return true;
}

bool calls_python_step(struct calls_parser *p, const struct calls_input *in)
{
    switch (p->state) {
    case CALLS_SECTION:
        return section_step(p, in);
    case CALLS_TAIL:
        return tail_step(p, in);
    case CALLS_KEYWORD:
        return keyword_step(p, in);
    default:
        return value_step(p, in);
    }
}
