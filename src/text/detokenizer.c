/* The stream-safe detokenizer.
 *
 * held keeps at most the three bytes of an unfinished sequence. A broken sequence becomes one
 * U+FFFD per longest prefix that could have begun a letter, the way browsers and Python do it. */
#include "text/tokenizer.h"
#include <string.h>

void detokenizer_init(struct detokenizer *d, const struct tokenizer *tokenizer, bool show_special)
{
    *d = (struct detokenizer){ .tokenizer = tokenizer,
                               .show_special = show_special,
                               .is_first = true };
}

/* How many bytes at the start of broken text one U+FFFD stands for. */
static size_t broken_bytes(struct view text)
{
    size_t n = 1;
    while (n < 3 && n < text.n && utf8_decode(view_of(text.at, n + 1), NULL) < 0)
        n++;
    return n;
}

/* Appends what is certain of text and returns how many bytes at its end are not. */
static size_t add_certain(struct view text, struct str *out)
{
    size_t start = 0, i = 0;
    while (i < text.n) {
        struct view rest = view_of(text.at + i, text.n - i);
        int n = utf8_decode(rest, NULL);
        if (n > 0) {
            i += (size_t)n;
            continue;
        }
        str_add(out, text.at + start, i - start);
        if (n < 0)
            return rest.n;
        str_add(out, "\xEF\xBF\xBD", 3);
        i += broken_bytes(rest);
        start = i;
    }
    str_add(out, text.at + start, i - start);
    return 0;
}

static void add_bytes(struct detokenizer *d, struct view bytes, struct str *out)
{
    /* At most three held bytes meet enough new ones to end their letter, then the rest goes in
     * one piece. */
    while (d->n_held > 0 && bytes.n > 0) {
        d->held[d->n_held++] = (unsigned char)*bytes.at;
        bytes = view_of(bytes.at + 1, bytes.n - 1);
        size_t n_held = (size_t)d->n_held;
        size_t n_left = add_certain(view_of((const char *)d->held, n_held), out);
        memmove(d->held, d->held + n_held - n_left, n_left);
        d->n_held = (int)n_left;
    }
    size_t n_left = add_certain(bytes, out);
    if (n_left > 0) {
        memcpy(d->held, bytes.at + bytes.n - n_left, n_left);
        d->n_held = (int)n_left;
    }
}

void detokenizer_add(struct detokenizer *d, int32_t id, struct str *out)
{
    struct view piece = tokenizer_piece(d->tokenizer, id, d->show_special);
    if (piece.n == 0)
        return;
    if (d->is_first && *piece.at == ' ' && tokenizer_strips_first_space(d->tokenizer))
        piece = view_of(piece.at + 1, piece.n - 1);
    d->is_first = false;
    add_bytes(d, piece, out);
}

void detokenizer_end(struct detokenizer *d, struct str *out)
{
    if (d->n_held > 0)
        str_add(out, "\xEF\xBF\xBD", 3);
    d->n_held = 0;
}
