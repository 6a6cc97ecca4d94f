/* Reasoning ahead of an answer, as a head in front of the text of the answer's grammar. */
#include "grammar/grammar.h"

#include <string.h>

enum { MARK_BYTES_MAX = 63 };

struct head {
    int32_t n_max;
    uint8_t kind, jumps, n_open, n_close;
};

void grammar_thought_write(const struct grammar_thought *thought, struct str *out)
{
    CHECK(thought->open.n <= MARK_BYTES_MAX && thought->close.n <= MARK_BYTES_MAX);
    const struct head head = { .n_max = thought->n_max,
                               .kind = (uint8_t)thought->kind,
                               .jumps = thought->jumps,
                               .n_open = (uint8_t)thought->open.n,
                               .n_close = (uint8_t)thought->close.n };
    str_add(out, (const char *)&head, sizeof(head));
    str_add(out, thought->open.at, thought->open.n);
    str_add(out, thought->close.at, thought->close.n);
    str_add(out, thought->text.at, thought->text.n);
}

bool grammar_thought_read(struct view text, struct grammar_thought *out)
{
    struct head head;
    if (text.n < sizeof(head))
        return false;
    memcpy(&head, text.at, sizeof(head));
    size_t n = sizeof(head) + head.n_open + head.n_close;
    if (head.n_open > MARK_BYTES_MAX || head.n_close > MARK_BYTES_MAX || n > text.n ||
        head.kind >= GRAMMAR_THOUGHT || head.n_max < -1 || head.jumps > 1)
        return false;
    *out = (struct grammar_thought){
        .open = view_of(text.at + sizeof(head), head.n_open),
        .close = view_of(text.at + sizeof(head) + head.n_open, head.n_close),
        .n_max = head.n_max,
        .jumps = head.jumps != 0,
        .kind = (enum grammar_kind)head.kind,
        .text = view_of(text.at + n, text.n - n),
    };
    return true;
}
