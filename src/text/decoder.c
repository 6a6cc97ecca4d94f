/* Sorts decoders into their places, and applies them to one token. */
#include "text/decoder.h"
#include "text/bytes.h"
#include "text/vocab.h"
#include "base/mem.h"
#include "base/pile.h"
#include <string.h>

enum {
    STRIPPED_MAX = 64,    /* characters, of one Strip */
    STEPS_BASE = 1 << 12, /* of matching, for one token */
    STEPS_PER_BYTE = 500,
};

static const char *name_of(const struct tokenizer_step *step)
{
    switch (step->kind) {
    case STEP_REPLACE:
        return "Replace";
    case STEP_BYTE_LEVEL:
        return "ByteLevel";
    case STEP_METASPACE:
        return "Metaspace";
    case STEP_BYTE_FALLBACK:
        return "ByteFallback";
    case STEP_STRIP_CHARACTER:
        return "Strip";
    case STEP_WORD_PIECE:
        return "WordPiece";
    case STEP_BPE_SUFFIX:
        return "BPEDecoder";
    default:
        return "Fuse";
    }
}

static enum status refuse(struct fault *fault, const struct tokenizer_step *step, const char *where)
{
    return fault_set(fault, STATUS_UNSUPPORTED, "tokenizer: the decoder %s %s is not supported",
                     name_of(step), where);
}

/* Returns whether the step changes each character by itself. */
static bool is_per_letter(const struct tokenizer_step *step)
{
    if (step->kind == STEP_METASPACE)
        return true;
    return step->kind == STEP_REPLACE && !step->is_regex && step->pattern.n > 0 &&
           utf8_decode(step->pattern, NULL) == (int)step->pattern.n;
}

static enum status put_step(struct decoder_step *to, const struct tokenizer_step *step,
                            struct pile *pile, struct fault *fault)
{
    to->step = *step;
    to->step.pattern.at = pile_text(pile, step->pattern.at, step->pattern.n);
    to->step.content.at = pile_text(pile, step->content.at, step->content.n);
    if (step->kind == STEP_REPLACE && step->is_regex)
        return regex_open(&to->regex, to->step.pattern, fault);
    if (step->kind == STEP_REPLACE)
        return regex_open_text(&to->regex, to->step.pattern, fault);
    return STATUS_OK;
}

static enum status put_token_step(struct text_decoder *d, const struct tokenizer_step *step,
                                  struct pile *pile, struct fault *fault)
{
    if (d->suffix.n > 0)
        return refuse(fault, step, "behind BPEDecoder");
    if (step->kind == STEP_BPE_SUFFIX) {
        if (step->content.n == 0)
            return refuse(fault, step, "with an empty suffix");
        d->suffix = view_of(pile_text(pile, step->content.at, step->content.n), step->content.n);
        return STATUS_OK;
    }
    return put_step(&d->token_steps[d->n_token_steps++], step, pile, fault);
}

static enum status put_joined_step(struct text_decoder *d, const struct tokenizer_step *step,
                                   struct pile *pile, struct fault *fault)
{
    if (step->kind == STEP_FUSE)
        return STATUS_OK;
    if (step->kind == STEP_STRIP_CHARACTER &&
        (step->start > STRIPPED_MAX || step->stop > STRIPPED_MAX))
        return refuse(fault, step, "of more than 64 characters");
    if (step->kind == STEP_REPLACE && !is_per_letter(step))
        return refuse(fault, step, "of other than one character behind Fuse or ByteLevel");
    if (step->kind != STEP_STRIP_CHARACTER && !is_per_letter(step))
        return refuse(fault, step, "behind Fuse or ByteLevel");
    if (d->n_joined_steps == DECODER_JOINED_MAX)
        return refuse(fault, step, "as the fifth behind Fuse or ByteLevel");
    return put_step(&d->joined_steps[d->n_joined_steps++], step, pile, fault);
}

static enum status open_steps(struct text_decoder *d, const struct tokenizer_steps *steps,
                              struct pile *pile, struct fault *fault)
{
    enum status status = STATUS_OK;
    bool is_joined = false;
    CHECK(steps->n_decoders >= 0 && steps->n_decoders <= TOKENIZER_STEPS_MAX);
    for (int32_t i = 0; i < steps->n_decoders && status == STATUS_OK; i++) {
        const struct tokenizer_step *step = &steps->decoders[i];
        if (is_joined) {
            status = put_joined_step(d, step, pile, fault);
        } else if (step->kind == STEP_FUSE) {
            is_joined = true;
        } else if (step->kind == STEP_BYTE_LEVEL && !d->falls_back_to_bytes && d->suffix.n == 0) {
            is_joined = true;
            d->joint = DECODER_BYTES;
        } else if (step->kind == STEP_BYTE_FALLBACK && !d->falls_back_to_bytes &&
                   d->suffix.n == 0) {
            d->falls_back_to_bytes = true;
        } else if (!d->falls_back_to_bytes && step->kind != STEP_BYTE_LEVEL &&
                   step->kind != STEP_BYTE_FALLBACK) {
            status = put_token_step(d, step, pile, fault);
        } else if (is_per_letter(step)) {
            status = put_step(&d->byte_steps[d->n_byte_steps++], step, pile, fault);
        } else {
            status = refuse(fault, step, "between ByteFallback and Fuse, or behind BPEDecoder,");
        }
    }
    return status;
}

static void replace_all(struct str *text, struct view what, struct view with)
{
    struct str out;
    str_init(&out);
    size_t at = 0;
    const char *found;
    while (text->n - at >= what.n &&
           (found = memmem(text->at + at, text->n - at, what.at, what.n)) != NULL) {
        size_t start = (size_t)(found - text->at);
        str_add(&out, text->at + at, start - at);
        str_add(&out, with.at, with.n);
        at = start + what.n;
    }
    str_add(&out, text->at + at, text->n - at);
    str_free(text);
    *text = out;
}

/* Returns false when the steps of matching ran out. They are few, since a token is short. */
static bool replace_matches(struct str *text, const struct decoder_step *step)
{
    struct regex_work work;
    struct regex_walk walk;
    struct str out;
    size_t at = 0, bounds[2];
    struct view content = step->step.content;
    if (text->n == 0)
        return true;
    str_init(&out);
    regex_work_init(&work);
    work.n_steps_left = STEPS_BASE + STEPS_PER_BYTE * (int64_t)text->n;
    regex_walk_begin(&walk, &step->regex, &work, view_of(text->at, text->n));
    while (regex_walk_next(&walk, bounds)) {
        str_add(&out, text->at + at, bounds[0] - at);
        str_add(&out, content.at, content.n);
        at = bounds[1];
    }
    str_add(&out, text->at + at, text->n - at);
    bool is_whole = !work.is_spent;
    regex_work_free(&work);
    str_free(text);
    *text = out;
    return is_whole;
}

static void strip(struct str *text, const struct tokenizer_step *step)
{
    struct view mark = step->content;
    size_t start = 0, end = text->n;
    for (int32_t i = 0;
         i < step->start && end - start >= mark.n && memcmp(text->at + start, mark.at, mark.n) == 0;
         i++)
        start += mark.n;
    for (int32_t i = 0; i < step->stop && end - start >= mark.n &&
                        memcmp(text->at + end - mark.n, mark.at, mark.n) == 0;
         i++)
        end -= mark.n;
    memmove(text->at, text->at + start, end - start);
    text->n = end - start;
    text->at[text->n] = '\0';
}

static void clean_up(struct str *text)
{
    static const char *const pairs[][2] = {
        { " .", "." },   { " ?", "?" },     { " !", "!" },     { " ,", "," },
        { " ' ", "'" },  { " n't", "n't" }, { " 'm", "'m" },   { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        replace_all(text, view_text(pairs[i][0]), view_text(pairs[i][1]));
}

static void put_before(struct str *text, const char *what)
{
    struct str out;
    str_init(&out);
    str_add_text(&out, what);
    str_add(&out, text->at, text->n);
    str_free(text);
    *text = out;
}

static void word_piece(struct str *text, const struct tokenizer_step *step, bool is_first)
{
    struct view prefix = step->content;
    bool goes_on = text->n >= prefix.n && memcmp(text->at, prefix.at, prefix.n) == 0;
    if (!is_first && goes_on) {
        memmove(text->at, text->at + prefix.n, text->n - prefix.n);
        text->n -= prefix.n;
        text->at[text->n] = '\0';
    } else if (!is_first) {
        put_before(text, " ");
    }
    if (step->cleans_up)
        clean_up(text);
}

bool text_decoder_step(const struct decoder_step *step, bool is_first, struct str *text)
{
    bool drops = is_first && step->step.scheme != SCHEME_NEVER;
    switch (step->step.kind) {
    case STEP_REPLACE:
        return replace_matches(text, step);
    case STEP_METASPACE:
        replace_all(text, step->step.content, view_text(drops ? "" : " "));
        break;
    case STEP_STRIP_CHARACTER:
        strip(text, &step->step);
        break;
    default:
        CHECK(step->step.kind == STEP_WORD_PIECE);
        word_piece(text, &step->step, is_first);
    }
    return true;
}

void text_decoder_bytes(const struct text_decoder *d, bool is_first, struct str *text)
{
    for (int32_t i = 0; i < d->n_byte_steps; i++)
        (void)text_decoder_step(&d->byte_steps[i], is_first, text);
}

static bool ends_word(const struct text_decoder *d, const struct str *text)
{
    size_t n = d->suffix.n;
    return n > 0 && text->n >= n && memcmp(text->at + text->n - n, d->suffix.at, n) == 0;
}

/* Reads "<0xNN>" as the library's ByteFallback does: a number of two places, perhaps "+N". Returns
 * -1 for other texts. */
static int byte_of(const struct str *text)
{
    char name[6];
    if (text->n != sizeof(name))
        return -1;
    memcpy(name, text->at, sizeof(name));
    if (name[3] == '+')
        name[3] = '0';
    return text_bytes_named(view_of(name, sizeof(name)));
}

bool text_decoder_piece(const struct text_decoder *d, int32_t id, bool is_first, struct str *out)
{
    str_clear(out);
    str_add(out, d->texts[id].at, d->texts[id].n);
    if (d->is_kept != NULL && d->is_kept[id])
        return false;
    if (d->joint == DECODER_SPACED && !is_first)
        put_before(out, " ");
    for (int32_t i = 0; i < d->n_token_steps; i++)
        (void)text_decoder_step(&d->token_steps[i], is_first, out);
    if (ends_word(d, out)) {
        out->n -= d->suffix.n;
        out->at[out->n] = '\0';
    }
    int byte = d->falls_back_to_bytes ? byte_of(out) : -1;
    if (byte >= 0) {
        str_clear(out);
        str_add_char(out, (char)byte);
    } else {
        text_decoder_bytes(d, is_first, out);
    }
    if (d->joint == DECODER_BYTES) {
        struct str bytes;
        str_init(&bytes);
        if (text_bytes_read(view_of(out->at, out->n), &bytes)) {
            str_clear(out);
            str_add(out, bytes.at, bytes.n);
        }
        str_free(&bytes);
    }
    return byte >= 0 || (!d->falls_back_to_bytes && d->kinds[id] == DECODER_BYTE);
}

/* Finds the kind of a token before bytes are read. Sets out to its text after the token steps. */
static enum status find_kind(const struct text_decoder *d, int32_t id, struct str *out,
                             enum decoder_kind *kind, struct fault *fault)
{
    *kind = DECODER_TEXT;
    str_clear(out);
    str_add(out, d->texts[id].at, d->texts[id].n);
    for (int32_t i = 0; i < d->n_token_steps; i++)
        if (!text_decoder_step(&d->token_steps[i], false, out))
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "tokenizer: the decoder Replace takes too many steps for token %d",
                             id);
    if (d->falls_back_to_bytes && byte_of(out) >= 0)
        *kind = DECODER_BYTE;
    if (d->suffix.n == 0 || out->n < d->suffix.n)
        return STATUS_OK;
    if (ends_word(d, out)) {
        *kind = DECODER_ENDS_WORD;
        out->n -= d->suffix.n;
    }
    if (memmem(out->at, out->n, d->suffix.at, d->suffix.n) != NULL)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: token %d has the decoder BPEDecoder's suffix inside", id);
    return STATUS_OK;
}

void text_decoder_keep(struct text_decoder *d, int32_t id)
{
    d->is_kept[id] = true;
    d->pieces[id] = d->texts[id];
}

enum status text_decoder_open(struct text_decoder *d, const struct tokenizer_steps *steps,
                              const struct view *texts, int32_t n_tokens, struct pile *pile,
                              struct fault *fault)
{
    *d = (struct text_decoder){ .texts = texts, .n_tokens = n_tokens };
    if (!steps->has_decoder)
        d->joint = DECODER_SPACED;
    enum status status = open_steps(d, steps, pile, fault);
    d->pieces = pile_take(pile, (size_t)n_tokens * sizeof(*d->pieces));
    d->kinds = pile_take(pile, (size_t)n_tokens);
    d->is_kept = pile_take(pile, (size_t)n_tokens);
    struct str piece;
    str_init(&piece);
    for (int32_t id = 0; id < n_tokens && status == STATUS_OK; id++) {
        enum decoder_kind kind;
        status = find_kind(d, id, &piece, &kind, fault);
        d->kinds[id] = (uint8_t)kind;
        (void)text_decoder_piece(d, id, false, &piece);
        d->pieces[id] = view_of(pile_text(pile, piece.at, piece.n), piece.n);
    }
    str_free(&piece);
    return status;
}

void text_decoder_close(struct text_decoder *d)
{
    for (int32_t i = 0; i < d->n_token_steps; i++)
        regex_close(&d->token_steps[i].regex);
    for (int32_t i = 0; i < d->n_byte_steps; i++)
        regex_close(&d->byte_steps[i].regex);
    for (int32_t i = 0; i < d->n_joined_steps; i++)
        regex_close(&d->joined_steps[i].regex);
    *d = (struct text_decoder){ 0 };
}

void text_decoder_open_plain(struct text_decoder *d, const struct view *texts, const uint8_t *types,
                             int32_t n_tokens, struct pile *pile)
{
    *d = (struct text_decoder){ .texts = texts, .n_tokens = n_tokens };
    d->pieces = pile_take(pile, (size_t)n_tokens * sizeof(*d->pieces));
    d->kinds = pile_take(pile, (size_t)n_tokens);
    struct str mended;
    str_init(&mended);
    for (int32_t id = 0; id < n_tokens; id++) {
        d->pieces[id] = texts[id];
        d->kinds[id] = types[id] == TEXT_BYTE ? DECODER_BYTE : DECODER_TEXT;
        if (d->kinds[id] == DECODER_BYTE || utf8_is_valid(texts[id]))
            continue;
        str_clear(&mended);
        text_bytes_mend(texts[id], &mended);
        d->pieces[id] = view_of(pile_text(pile, mended.at, mended.n), mended.n);
    }
    d->texts = d->pieces;
    str_free(&mended);
}
