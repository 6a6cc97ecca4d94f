/* gpt-oss's messages: a header with a channel and perhaps a recipient, then a text or arguments.
 *
 *   <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}
 *   <|channel|>analysis<|message|>reasoning<|end|>
 *   <|channel|>final<|message|>answer<|return|> */
#include "calls/harmony.h"
#include "calls/named.h"
#include <string.h>

enum { HEADER_BYTES_MAX = 512 };
static const char message_mark[] = "<|message|>", channel_mark[] = "<|channel|>";
static const char start_mark[] = "<|start|>";
static const char *const ends[] = { "<|end|>", "<|return|>", "<|call|>", start_mark };

/* Returns whether the text at `at` may be a header. An answer without one is a plain text. */
static enum calls_match match_header(const struct calls_input *in, size_t at)
{
    static const char *const begins[] = { start_mark, channel_mark, "to=" };
    enum calls_match best = CALLS_NO;
    for (size_t i = 0; i < COUNT_OF(begins) && best != CALLS_YES; i++) {
        enum calls_match match = calls_step_match(in, at, begins[i]);
        best = match > CALLS_NO ? (match == CALLS_YES ? CALLS_YES : CALLS_MAYBE) : best;
    }
    return best;
}

static struct view word_behind(struct view header, const char *mark)
{
    const char *at = memmem(header.at, header.n, mark, strlen(mark));
    if (at == NULL)
        return view_of("", 0);
    const char *end = header.at + header.n, *from = at + strlen(mark), *to = from;
    while (to < end && *to != ' ' && *to != '<' && *to != '\n')
        to++;
    return view_of(from, (size_t)(to - from));
}

static bool header_step(struct calls_parser *p, const struct calls_input *in)
{
    size_t at = calls_step_blank(in, p->at), end = 0;
    if (at >= in->text.n)
        return false;
    enum calls_match is_header = match_header(in, at);
    if (is_header == CALLS_MAYBE && !in->is_end)
        return false;
    calls_step_begin(p, p->at);
    p->scanned = p->at;
    if (is_header != CALLS_YES) {
        p->state = CALLS_BODY;
        return true;
    }
    enum calls_match match = calls_step_find(in, at, message_mark, &end);
    if (end - at > HEADER_BYTES_MAX) {
        p->at = at;
        return calls_step_break(p);
    }
    if (match != CALLS_YES)
        return false;
    struct view header = view_of(in->text.at + at, end - at);
    struct view to = word_behind(header, "to="), channel = word_behind(header, channel_mark);
    static const char prefix[] = "functions.";
    bool is_call = view_starts(to, prefix) && p->tools != NULL;
    if (is_call) {
        size_t name_at = (size_t)(to.at - in->text.at) + sizeof(prefix) - 1;
        p->at = end + sizeof(message_mark) - 1;
        p->state = CALLS_LEAD;
        if (!calls_step_name(p, in, name_at, to.n - (sizeof(prefix) - 1)))
            return calls_step_break(p);
        return true;
    }
    if (to.n > 0 && !view_starts(to, "user") && !view_starts(to, "assistant")) {
        p->at = at;
        return calls_step_break(p);
    }
    p->at = p->scanned = end + sizeof(message_mark) - 1;
    p->state = view_equal_text(channel, "analysis") ? CALLS_THOUGHT : CALLS_BODY;
    return true;
}

/* Finds the first end of a message. */
static enum calls_match find_end(const struct calls_input *in, size_t from, size_t *end,
                                 size_t *behind)
{
    while (from < in->text.n) {
        const char *at = memchr(in->text.at + from, '<', in->text.n - from);
        if (at == NULL)
            break;
        *end = (size_t)(at - in->text.at);
        enum calls_match best = CALLS_NO;
        for (size_t i = 0; i < COUNT_OF(ends); i++) {
            enum calls_match match = calls_step_match(in, *end, ends[i]);
            *behind = *end + (ends[i] == start_mark ? 0 : strlen(ends[i]));
            if (match == CALLS_YES)
                return CALLS_YES;
            best = match == CALLS_MAYBE ? CALLS_MAYBE : best;
        }
        if (best == CALLS_MAYBE)
            return CALLS_MAYBE;
        from = *end + 1;
    }
    *end = in->text.n;
    return CALLS_NO;
}

static bool body_step(struct calls_parser *p, const struct calls_input *in)
{
    bool is_thought = p->state == CALLS_THOUGHT;
    enum calls_event event = is_thought ? CALLS_EVENT_REASONING : CALLS_EVENT_TEXT;
    if (p->at < p->plain_to) {
        calls_step_emit_words(p, in, CALLS_EVENT_TEXT, p->plain_to);
        return true;
    }
    size_t from = p->scanned > p->at ? p->scanned : p->at, end = from, behind = from;
    enum calls_match match = find_end(in, from, &end, &behind);
    if (match == CALLS_MAYBE && in->is_end)
        end = in->text.n;
    p->scanned = end;
    size_t to = end;
    while (to > p->at && (match == CALLS_YES || !in->is_end || is_thought) &&
           calls_step_is_white(in->text.at[to - 1]))
        to--;
    if (to > p->at)
        calls_step_emit_words(p, in, event, to);
    if (match != CALLS_YES)
        return false;
    p->at = p->start = behind;
    p->state = CALLS_HEADER;
    return true;
}

bool calls_harmony_step(struct calls_parser *p, const struct calls_input *in)
{
    if (p->state == CALLS_HEADER)
        return header_step(p, in);
    if (p->state == CALLS_BODY || p->state == CALLS_THOUGHT)
        return body_step(p, in);
    if (p->state != CALLS_CLOSE)
        return calls_named_step(p, in);
    p->state = CALLS_BODY;
    p->scanned = p->at;
    return true;
}
