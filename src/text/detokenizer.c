/* The stream-safe detokenizer.
 *
 * held keeps at most the three bytes of an unfinished character. Byte-level vocabularies: a broken
 * sequence becomes one U+FFFD per longest prefix that could have begun a character, the way
 * browsers and Python do it. Byte tokens: one U+FFFD per byte. */
#include "text/decoder.h"
#include "text/tokenizer.h"
#include <string.h>

#define BROKEN "\xEF\xBF\xBD"

void detokenizer_init(struct detokenizer *d, const struct tokenizer *tokenizer, bool show_special)
{
    *d = (struct detokenizer){ .tokenizer = tokenizer,
                               .show_special = show_special,
                               .is_first = true };
}

/* Cuts off the characters that Strip removes at the two ends of the whole text, as far as the ends
 * are known. */
static void strip_joined(struct detokenizer *d, int32_t i, const struct tokenizer_step *step,
                         struct str *text)
{
    struct view mark = step->content;
    size_t start = 0, end = text->n, n_marks = 0;
    struct str out;
    while (d->n_left[i] > 0 && end - start >= mark.n &&
           memcmp(text->at + start, mark.at, mark.n) == 0) {
        start += mark.n;
        d->n_left[i]--;
    }
    if (start < end)
        d->n_left[i] = 0;
    while (end - start >= mark.n && memcmp(text->at + end - mark.n, mark.at, mark.n) == 0) {
        end -= mark.n;
        n_marks++;
    }
    str_init(&out);
    size_t n_kept = (size_t)d->n_kept[i], n_stop = (size_t)step->stop;
    size_t n_before = end > start ? n_kept : 0; /* they are not at the end any more */
    size_t n_behind = n_marks + n_kept - n_before;
    size_t n_keep = n_behind < n_stop ? n_behind : n_stop;
    for (size_t k = 0; k < n_before; k++)
        str_add(&out, mark.at, mark.n);
    str_add(&out, text->at + start, end - start);
    for (size_t k = n_keep; k < n_behind; k++)
        str_add(&out, mark.at, mark.n);
    d->n_kept[i] = (int32_t)n_keep;
    str_free(text);
    *text = out;
}

/* Appends the certain part of the text so far to out. text is used up. */
static void emit(struct detokenizer *d, struct str *text, struct str *out)
{
    const struct text_decoder *decoder = tokenizer_decoder(d->tokenizer);
    for (int32_t i = 0; i < decoder->n_joined_steps; i++) {
        const struct decoder_step *step = &decoder->joined_steps[i];
        if (step->step.kind == STEP_STRIP_CHARACTER)
            strip_joined(d, i, &step->step, text);
        else
            (void)text_decoder_step(step, true, text);
    }
    str_add(out, text->at != NULL ? text->at : "", text->n);
    str_clear(text);
}

static void emit_view(struct detokenizer *d, struct view text, struct str *out)
{
    struct str copy;
    if (tokenizer_decoder(d->tokenizer)->n_joined_steps == 0) {
        str_add(out, text.at, text.n);
        return;
    }
    str_init(&copy);
    str_add(&copy, text.at, text.n);
    emit(d, &copy, out);
    str_free(&copy);
}

/* Returns how many bytes at the start of broken text one U+FFFD replaces. */
static size_t broken_bytes(struct view text)
{
    size_t n = 1;
    while (n < 3 && n < text.n && utf8_decode(view_of(text.at, n + 1), NULL) < 0)
        n++;
    return n;
}

/* Appends the certain part of text. Returns how many bytes at its end are uncertain. */
static size_t add_certain(struct detokenizer *d, struct view text, struct str *out)
{
    size_t start = 0, i = 0;
    while (i < text.n) {
        struct view rest = view_of(text.at + i, text.n - i);
        int n = utf8_decode(rest, NULL);
        if (n > 0) {
            i += (size_t)n;
            continue;
        }
        emit_view(d, view_of(text.at + start, i - start), out);
        if (n < 0)
            return rest.n;
        emit_view(d, view_text(BROKEN), out);
        i += broken_bytes(rest);
        start = i;
    }
    emit_view(d, view_of(text.at + start, i - start), out);
    return 0;
}

/* Adds bytes. Their characters may begin in one token and end in another. */
static void add_bytes(struct detokenizer *d, struct view bytes, struct str *out)
{
    /* At most three held bytes meet enough new ones to end their letter, then the rest goes in
     * one piece. */
    while (d->n_held > 0 && bytes.n > 0) {
        d->held[d->n_held++] = (unsigned char)*bytes.at;
        bytes = view_of(bytes.at + 1, bytes.n - 1);
        size_t n_held = (size_t)d->n_held;
        size_t n_left = add_certain(d, view_of((const char *)d->held, n_held), out);
        memmove(d->held, d->held + n_held - n_left, n_left);
        d->n_held = (int)n_left;
    }
    size_t n_left = add_certain(d, bytes, out);
    if (n_left > 0) {
        memcpy(d->held, bytes.at + bytes.n - n_left, n_left);
        d->n_held = (int)n_left;
    }
}

/* Appends U+FFFD for each held byte, since no byte follows and each is broken. */
static void drop_held(struct detokenizer *d, struct str *out)
{
    for (; d->n_held > 0; d->n_held--)
        emit_view(d, view_text(BROKEN), out);
}

/* Adds a byte token. Broken bytes become one U+FFFD each, and the bytes behind them are tried
 * anew. */
static void add_byte(struct detokenizer *d, unsigned char byte, struct str *out)
{
    d->in_run = d->has_text = true;
    if (d->is_broken) {
        emit_view(d, view_text(BROKEN), out);
        return;
    }
    d->held[d->n_held++] = byte;
    while (d->n_held > 0) {
        int n = utf8_decode(view_of((const char *)d->held, (size_t)d->n_held), NULL);
        if (n < 0)
            return;
        struct str text;
        str_init(&text);
        if (n > 0)
            str_add(&text, (const char *)d->held, (size_t)n);
        else
            str_add_text(&text, BROKEN);
        text_decoder_bytes(tokenizer_decoder(d->tokenizer), d->is_first_run, &text);
        emit(d, &text, out);
        str_free(&text);
        n = n > 0 ? n : 1;
        d->n_held -= n;
        memmove(d->held, d->held + n, (size_t)d->n_held);
    }
}

static void add_text(struct detokenizer *d, int32_t id, struct view piece, struct str *out)
{
    const struct text_decoder *decoder = tokenizer_decoder(d->tokenizer);
    drop_held(d, out);
    if (d->owes_space)
        emit_view(d, view_text(" "), out);
    d->owes_space = decoder->kinds[id] == DECODER_ENDS_WORD;
    d->in_run = d->is_first_run = false;
    if (decoder->first_space != DECODER_KEEPS_SPACE && !d->has_text) {
        bool skips = decoder->begins_with_space[id];
        piece = view_of(piece.at + skips, piece.n - skips);
        d->has_text = piece.n > 0 || (skips && decoder->first_space == DECODER_SKIPS_SPACE);
    }
    if (piece.n > 0)
        emit_view(d, piece, out);
}

/* Begins a text. When it continues another one, nothing is stripped from its start. */
static void begin(struct detokenizer *d, const struct text_decoder *decoder)
{
    d->has_begun = true;
    d->has_text = !d->is_first;
    for (int32_t i = 0; i < decoder->n_joined_steps && d->is_first; i++)
        d->n_left[i] = decoder->joined_steps[i].step.start;
}

void detokenizer_add(struct detokenizer *d, int32_t id, struct str *out)
{
    const struct text_decoder *decoder = tokenizer_decoder(d->tokenizer);
    if (!tokenizer_shows(d->tokenizer, id, d->show_special))
        return;
    if (!d->has_begun)
        begin(d, decoder);
    bool is_first = d->is_first, is_byte = decoder->kinds[id] == DECODER_BYTE;
    struct view piece = decoder->pieces[id];
    struct str first;
    str_init(&first);
    if (is_first) {
        is_byte = text_decoder_piece(decoder, id, true, &first);
        piece = view_of(first.at, first.n);
    }
    d->is_first = false;
    d->is_first_run = d->is_first_run || (is_first && is_byte);
    if (decoder->joint == DECODER_BYTES)
        add_bytes(d, piece, out);
    else if (is_byte)
        add_byte(d, (unsigned char)*piece.at, out);
    else
        add_text(d, id, piece, out);
    str_free(&first);
}

void detokenizer_end(struct detokenizer *d, struct str *out)
{
    if (tokenizer_decoder(d->tokenizer)->joint == DECODER_BYTES && d->n_held > 0)
        d->n_held = 1;
    drop_held(d, out);
}

static bool is_byte_token(const struct detokenizer *d, int32_t id)
{
    const struct text_decoder *decoder = tokenizer_decoder(d->tokenizer);
    if (!d->is_first)
        return decoder->kinds[id] == DECODER_BYTE;
    struct str first;
    str_init(&first);
    bool is_byte = text_decoder_piece(decoder, id, true, &first);
    str_free(&first);
    return is_byte;
}

/* Returns whether the run of byte tokens that begins at ids[0] consists of whole characters. */
static bool is_whole_run(const struct detokenizer *d, const int32_t *ids, int32_t n)
{
    const struct text_decoder *decoder = tokenizer_decoder(d->tokenizer);
    struct str bytes, first;
    str_init(&bytes);
    str_init(&first);
    (void)text_decoder_piece(decoder, ids[0], d->is_first, &first);
    str_add(&bytes, first.at, first.n);
    for (int32_t i = 1; i < n; i++) {
        if (!tokenizer_shows(d->tokenizer, ids[i], d->show_special))
            continue;
        if (decoder->kinds[ids[i]] != DECODER_BYTE)
            break;
        str_add(&bytes, decoder->pieces[ids[i]].at, 1);
    }
    bool is_whole = utf8_is_valid(view_of(bytes.at, bytes.n));
    str_free(&bytes);
    str_free(&first);
    return is_whole;
}

void tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, int32_t n,
                      bool show_special, struct str *out)
{
    struct detokenizer d;
    detokenizer_init(&d, tokenizer, show_special);
    for (int32_t i = 0; i < n; i++) {
        if (!d.in_run && tokenizer_shows(tokenizer, ids[i], show_special) &&
            is_byte_token(&d, ids[i]))
            d.is_broken = !is_whole_run(&d, ids + i, n - i);
        detokenizer_add(&d, ids[i], out);
    }
    detokenizer_end(&d, out);
}
