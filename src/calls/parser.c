/* Text, reasoning, and the choice of the step for everything else. */
#include "calls/parser.h"
#include "calls/harmony.h"
#include "calls/named.h"
#include "calls/object.h"
#include "calls/python.h"
#include "calls/tags.h"
#include <string.h>

void calls_parser_init(struct calls_parser *parser, const struct calls_style *style,
                       const struct calls_tools *tools, bool starts_in_reasoning)
{
    *parser = (struct calls_parser){ .style = *style, .tools = tools };
    if (style->format->kind == CALLS_HARMONY)
        parser->state = CALLS_HEADER;
    else if (starts_in_reasoning)
        parser->state = CALLS_REASONING;
    else if (style->format->is_headed && tools != NULL)
        parser->state = CALLS_HEAD;
}

bool calls_parser_starts_in_reasoning(const struct calls_style *style, struct view prompt)
{
    if (style->think_open == NULL)
        return false;
    size_t n = strlen(style->think_open);
    while (prompt.n > 0 && calls_step_is_white(prompt.at[prompt.n - 1]))
        prompt.n--;
    return prompt.n >= n && memcmp(prompt.at + prompt.n - n, style->think_open, n) == 0;
}

enum mark { OPEN, OPEN_TOO, NOISE, NOISE_TOO, THINK_OPEN, THINK_CLOSE, BARE, MARKS };

static bool is_blank(const struct calls_input *in, size_t from, size_t to)
{
    size_t end = calls_step_blank(in, from);
    return end >= to;
}

/* Collects the marks that may come in plain text. Reasoning is looked for at the start alone. */
static void marks_of(const struct calls_parser *p, const char *marks[MARKS])
{
    const struct calls_format *format = p->style.format;
    bool is_start = !p->has_text && p->n_calls == 0;
    memset(marks, 0, sizeof(*marks) * MARKS);
    if (p->tools != NULL) {
        marks[OPEN] = format->open;
        marks[OPEN_TOO] = format->open_too;
    }
    marks[NOISE] = format->noise[0];
    marks[NOISE_TOO] = format->noise[1];
    if (is_start && !p->has_thought) {
        marks[THINK_OPEN] = p->style.think_open;
        marks[THINK_CLOSE] = p->style.think_close;
    }
    if (is_start && p->tools != NULL && format->is_bare)
        marks[BARE] = format->kind == CALLS_PYTHON ? "[" : "{[";
}

/* The white space before the mark is part of the section: it comes back when the section turns out
 * to be text. */
static void enter_section(struct calls_parser *p)
{
    const struct calls_format *format = p->style.format;
    calls_step_begin(p, p->at);
    p->has_calls = p->in_array = false;
    bool is_head =
        (format->kind == CALLS_NAMED || format->kind == CALLS_TAGS) && format->call_open == NULL;
    p->state = is_head ? CALLS_HEAD : CALLS_SECTION;
}

static bool take_mark(struct calls_parser *p, enum mark mark, size_t at, const char *text)
{
    size_t n = mark == BARE ? 0 : strlen(text);
    if (mark == OPEN || mark == OPEN_TOO || mark == BARE)
        enter_section(p);
    p->at = at + n;
    p->scanned = p->at;
    if (mark == THINK_OPEN)
        p->state = CALLS_REASONING;
    if (mark == THINK_CLOSE)
        p->has_thought = true;
    return true;
}

/* Looks for a mark at one position. */
static enum calls_match match_any(const struct calls_parser *p, const struct calls_input *in,
                                  const char *const marks[MARKS], size_t at, enum mark *found)
{
    enum calls_match best = CALLS_NO;
    char c = in->text.at[at];
    bool is_first = p->at == at || is_blank(in, p->at, at);
    for (int i = 0; i < MARKS; i++) {
        bool needs_start = i == THINK_OPEN || i == THINK_CLOSE || i == BARE;
        if (marks[i] == NULL || (needs_start && !is_first))
            continue;
        enum calls_match match =
            i == BARE          ? (c != '\0' && strchr(marks[i], c) != NULL ? CALLS_YES : CALLS_NO)
            : c == marks[i][0] ? calls_step_match(in, at, marks[i])
                               : CALLS_NO;
        if (match == CALLS_YES) {
            *found = (enum mark)i;
            return CALLS_YES;
        }
        if (match == CALLS_MAYBE)
            best = CALLS_MAYBE;
    }
    return best;
}

/* Returns the end of the words before `to`, without the white space behind them. */
static size_t words_end(const struct calls_parser *p, const struct calls_input *in, size_t to)
{
    while (to > p->at && calls_step_is_white(in->text.at[to - 1]))
        to--;
    return to;
}

/* White space at the end is held back, since it is dropped before a mark. When all is over, it
 * belongs to the text, unless calls came before. */
static bool text_step(struct calls_parser *p, const struct calls_input *in)
{
    const char *marks[MARKS];
    enum mark found = OPEN;
    if (p->at < p->plain_to) {
        calls_step_emit_words(p, in, CALLS_EVENT_TEXT, p->plain_to);
        return true;
    }
    marks_of(p, marks);
    size_t i = p->scanned > p->at ? p->scanned : p->at;
    while (i < in->text.n && p->at < in->text.n) {
        enum calls_match match = match_any(p, in, marks, i, &found);
        if (match == CALLS_MAYBE && !in->is_end)
            break;
        if (match == CALLS_YES) {
            size_t end = words_end(p, in, i);
            if (end > p->at)
                calls_step_emit_words(p, in, CALLS_EVENT_TEXT, end);
            return take_mark(p, found, i, marks[found]);
        }
        i++;
        if (!p->has_text && !calls_step_is_white(in->text.at[i - 1])) {
            p->scanned = i; /* the first word: marks of the start do not count any more */
            calls_step_emit_words(p, in, CALLS_EVENT_TEXT, i);
            marks_of(p, marks);
        }
    }
    p->scanned = i;
    size_t end = words_end(p, in, i);
    if (in->is_end && p->n_calls == 0)
        end = in->text.n;
    if (end > p->at)
        calls_step_emit_words(p, in, CALLS_EVENT_TEXT, end);
    return false;
}

static bool reasoning_step(struct calls_parser *p, const struct calls_input *in)
{
    size_t from = p->scanned > p->at ? p->scanned : p->at, end = 0;
    enum calls_match match = calls_step_find(in, from, p->style.think_close, &end);
    if (match == CALLS_MAYBE && in->is_end)
        end = in->text.n;
    p->scanned = end;
    size_t to = words_end(p, in, end);
    if (to > p->at)
        calls_step_emit_words(p, in, CALLS_EVENT_REASONING, to);
    if (match != CALLS_YES)
        return false;
    p->has_thought = true;
    p->at = p->scanned = end + strlen(p->style.think_close);
    p->state = p->style.format->is_headed && p->tools != NULL ? CALLS_HEAD : CALLS_TEXT;
    return true;
}

static bool step(struct calls_parser *p, const struct calls_input *in)
{
    if (p->state == CALLS_TEXT)
        return text_step(p, in);
    if (p->state == CALLS_REASONING)
        return reasoning_step(p, in);
    switch (p->style.format->kind) {
    case CALLS_OBJECT:
        return calls_object_step(p, in);
    case CALLS_NAMED:
        return calls_named_step(p, in);
    case CALLS_TAGS:
        return calls_tags_step(p, in);
    case CALLS_PYTHON:
        return calls_python_step(p, in);
    default:
        return calls_harmony_step(p, in);
    }
}

/* The text ended inside of something. Returns true when that becomes text, which is parsed now. */
static bool finish(struct calls_parser *p, const struct calls_input *in)
{
    bool is_within = p->state != CALLS_TEXT && p->state != CALLS_REASONING &&
                     p->state != CALLS_TAIL && p->state != CALLS_CLOSE && p->state != CALLS_BODY &&
                     p->state != CALLS_THOUGHT;
    if (!is_within || p->is_told || (p->state == CALLS_SECTION && p->has_calls) ||
        p->start >= in->text.n || (p->state == CALLS_HEADER && p->at >= in->text.n))
        return false;
    p->at = in->text.n;
    return calls_step_break(p);
}

void calls_parser_go(struct calls_parser *parser, struct view text, bool is_end,
                     const struct calls_sink *sink)
{
    const struct calls_input in = { text, is_end, sink };
    do {
        while (step(parser, &in)) {}
    } while (is_end && finish(parser, &in));
}
