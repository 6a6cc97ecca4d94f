/* Splits depth first: a piece goes through all later steps before its neighbour is cut.
 *
 * A step sees its piece as spans that match and spans that don't, which cover it in order. The
 * behavior determines which spans become pieces. When the steps of matching run out, the rest is
 * one span. */
#include "text/splitter.h"
#include "text/bytes.h"
#include "text/unicode.h"
#include "base/pile.h"
#include <string.h>

enum { GROWTH_MAX = 64 };

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static size_t growth_of(const struct tokenizer_step *step)
{
    if (step->kind == STEP_BYTE_LEVEL || step->kind == STEP_PREPEND)
        return 2;
    return step->kind == STEP_METASPACE ? 1 + step->content.n : 1;
}

/* Appends a step in the form in which it runs. */
static enum status add_step(struct splitter *splitter, const struct tokenizer_step *step,
                            struct pile *pile, struct fault *fault)
{
    CHECK(splitter->n_steps < SPLITTER_STEPS_MAX);
    struct splitter_step *to = &splitter->steps[splitter->n_steps++];
    to->step = *step;
    to->step.pattern.at = pile_text(pile, step->pattern.at, step->pattern.n);
    to->step.content.at = pile_text(pile, step->content.at, step->content.n);
    splitter->growth *= growth_of(step);
    if (splitter->growth > GROWTH_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "tokenizer: the pre-tokenizers may make a text %zu times as long, at most "
                         "%d are supported",
                         splitter->growth, GROWTH_MAX);
    if (step->kind != STEP_SPLIT)
        return STATUS_OK;
    return step->is_regex ? regex_open(&to->regex, to->step.pattern, fault)
                          : regex_open_text(&to->regex, to->step.pattern, fault);
}

/* Splits a step into the steps that run. */
static enum status open_step(struct splitter *splitter, const struct tokenizer_step *step,
                             struct pile *pile, struct fault *fault)
{
    const struct tokenizer_step space = { .kind = STEP_PREPEND, .content = view_text(" ") };
    const struct tokenizer_step words = { .kind = STEP_SPLIT,
                                          .pattern = view_text(GPT2),
                                          .is_regex = true };
    const struct tokenizer_step marks = { .kind = STEP_SPLIT,
                                          .pattern = step->content,
                                          .behavior = step->kind == STEP_METASPACE
                                                          ? BEHAVIOR_MERGED_WITH_NEXT
                                                          : BEHAVIOR_REMOVED };
    const struct tokenizer_step spaces = { .kind = STEP_WHITESPACE_SPLIT };
    const struct tokenizer_step signs = { .kind = STEP_PUNCTUATION };
    const struct tokenizer_step *parts[3] = { step };
    if (step->kind == STEP_BYTE_LEVEL) {
        int n = 0;
        if (step->adds_space)
            parts[n++] = &space;
        if (step->uses_regex)
            parts[n++] = &words;
        parts[n] = step;
    } else if (step->kind == STEP_METASPACE && step->splits) {
        parts[1] = &marks;
    } else if (step->kind == STEP_BERT_SPLIT) {
        parts[0] = &spaces;
        parts[1] = &signs;
    } else if (step->kind == STEP_DELIMITER) {
        parts[0] = &marks;
    }
    enum status status = STATUS_OK;
    for (int i = 0; i < 3 && parts[i] != NULL && status == STATUS_OK; i++)
        status = add_step(splitter, parts[i], pile, fault);
    return status;
}

enum status splitter_open(struct splitter *splitter, const struct tokenizer_step *steps,
                          int32_t n_steps, struct pile *pile, struct fault *fault)
{
    enum status status = STATUS_OK;
    *splitter = (struct splitter){ .growth = 1 };
    CHECK(n_steps >= 0 && n_steps <= TOKENIZER_STEPS_MAX);
    for (int32_t i = 0; i < n_steps && status == STATUS_OK; i++)
        status = open_step(splitter, &steps[i], pile, fault);
    return status;
}

void splitter_close(struct splitter *splitter)
{
    for (int32_t i = 0; i < splitter->n_steps; i++)
        regex_close(&splitter->steps[i].regex);
    *splitter = (struct splitter){ 0 };
}

void splitter_work_init(struct splitter_work *work, const struct splitter *splitter,
                        struct regex_work *regex)
{
    *work = (struct splitter_work){ .splitter = splitter, .regex = regex };
    for (int32_t i = 0; i < splitter->n_steps; i++)
        str_init(&work->buffers[i]);
}

void splitter_work_free(struct splitter_work *work)
{
    for (int32_t i = 0; i < work->splitter->n_steps; i++)
        str_free(&work->buffers[i]);
}

/* A piece before step number `stage`. */
struct piece {
    struct view text;
    size_t n_first;
};

static void run_stage(struct splitter_work *work, int32_t stage, struct piece piece);

/* The spans of one piece. Its pieces go on to step `stage`. */
struct cutting {
    struct splitter_work *work;
    int32_t stage;
    struct piece piece;
    enum step_behavior behavior;
    bool has_pending, pending_matches;
    size_t start, end; /* the pending piece */
    bool last_matches; /* does the span before this one match? */
};

static void give(struct cutting *c, size_t start, size_t end)
{
    size_t first_end = c->piece.n_first < end ? c->piece.n_first : end;
    struct piece part = { view_of(c->piece.text.at + start, end - start),
                          first_end > start ? first_end - start : 0 };
    if (end > start)
        run_stage(c->work, c->stage, part);
}

static void give_pending(struct cutting *c)
{
    if (c->has_pending)
        give(c, c->start, c->end);
    c->has_pending = false;
}

/* Adds the next span. Merging behaviors keep a piece back until the span behind it is known. */
static void add_span(struct cutting *c, size_t start, size_t end, bool matches)
{
    bool joins = false;
    switch (c->behavior) {
    case BEHAVIOR_REMOVED:
        if (!matches)
            give(c, start, end);
        return;
    case BEHAVIOR_ISOLATED:
        give(c, start, end);
        return;
    case BEHAVIOR_CONTIGUOUS:
        joins = matches == c->last_matches;
        break;
    case BEHAVIOR_MERGED_WITH_PREVIOUS:
        joins = matches && !c->last_matches;
        break;
    case BEHAVIOR_MERGED_WITH_NEXT:
        joins = !matches && c->last_matches;
        break;
    }
    if (!c->has_pending || !joins) {
        give_pending(c);
        c->has_pending = true;
        c->start = start;
    }
    c->end = end;
    c->last_matches = matches;
}

static void cut_by_regex(struct cutting *c, const struct regex *regex, bool is_inverted)
{
    struct regex_walk walk;
    size_t at = 0, bounds[2];
    regex_walk_begin(&walk, regex, c->work->regex, c->piece.text);
    while (regex_walk_next(&walk, bounds)) {
        if (bounds[0] != at)
            add_span(c, at, bounds[0], is_inverted);
        add_span(c, bounds[0], bounds[1], !is_inverted);
        at = bounds[1];
    }
    if (at != c->piece.text.n)
        add_span(c, at, c->piece.text.n, is_inverted);
    give_pending(c);
}

/* Makes every letter of the class a span, and also the text between two of them. */
static void cut_by_class(struct cutting *c, bool (*is_of_class)(uint32_t))
{
    struct view text = c->piece.text;
    size_t at = 0;
    for (size_t i = 0; i < text.n;) {
        uint32_t letter = 0;
        int n = utf8_decode(view_of(text.at + i, text.n - i), &letter);
        CHECK(n > 0);
        if (is_of_class(letter)) {
            if (at < i)
                add_span(c, at, i, false);
            at = i + (size_t)n;
            add_span(c, i, at, true);
        }
        i += (size_t)n;
    }
    if (at < text.n)
        add_span(c, at, text.n, false);
    give_pending(c);
}

static bool is_numeric(uint32_t c)
{
    return unicode_is(UNICODE_NUMERIC, c);
}

static bool is_punctuation(uint32_t c)
{
    return unicode_is(UNICODE_PUNCTUATION, c);
}

/* Makes runs of word characters and runs of others pieces. White space is dropped. */
static void cut_words(struct cutting *c)
{
    struct view text = c->piece.text;
    size_t start = 0;
    int class = 0; /* of the run from start on: 0 white space, 1 a word, 2 others */
    for (size_t i = 0; i < text.n;) {
        uint32_t letter = 0;
        int n = utf8_decode(view_of(text.at + i, text.n - i), &letter);
        CHECK(n > 0);
        int here = unicode_is(UNICODE_WORD, letter) ? 1 : utf8_is_space(letter) ? 0 : 2;
        if (here != class && class != 0)
            give(c, start, i);
        if (here != class)
            start = i;
        class = here;
        i += (size_t)n;
    }
    if (class != 0)
        give(c, start, text.n);
}

static struct piece made_of(const struct str *out, size_t n_first)
{
    return (struct piece){ view_of(out->at, out->n), n_first };
}

/* Puts a space before the piece, unless it begins with one. */
static void run_prepend(struct splitter_work *work, int32_t stage, struct piece piece)
{
    struct str *out = &work->buffers[stage];
    if (*piece.text.at != ' ') {
        str_clear(out);
        str_add_char(out, ' ');
        str_add(out, piece.text.at, piece.text.n);
        piece = made_of(out, piece.n_first > 0 ? piece.n_first + 1 : 0);
    }
    run_stage(work, stage + 1, piece);
}

static void run_metaspace(struct splitter_work *work, int32_t stage, struct piece piece)
{
    const struct tokenizer_step *step = &work->splitter->steps[stage].step;
    struct view mark = step->content, text = piece.text;
    struct str *out = &work->buffers[stage];
    bool is_marked = *text.at == ' ' || (text.n >= mark.n && memcmp(text.at, mark.at, mark.n) == 0);
    bool adds =
        step->scheme == SCHEME_ALWAYS || (step->scheme == SCHEME_FIRST && piece.n_first > 0);
    size_t n_first = 0, kept = 0;
    str_clear(out);
    if (adds && !is_marked)
        str_add(out, mark.at, mark.n);
    for (size_t i = 0; i <= text.n; i++) {
        bool is_space = i < text.n && text.at[i] == ' ';
        if (is_space || i == text.n || i == piece.n_first) {
            str_add(out, text.at + kept, i - kept);
            kept = i;
        }
        if (i == piece.n_first && i > 0)
            n_first = out->n;
        if (is_space) {
            str_add(out, mark.at, mark.n);
            kept = i + 1;
        }
    }
    run_stage(work, stage + 1, made_of(out, n_first));
}

static void run_byte_level(struct splitter_work *work, int32_t stage, struct piece piece)
{
    struct str *out = &work->buffers[stage];
    size_t n_first = piece.n_first < piece.text.n ? piece.n_first : piece.text.n;
    str_clear(out);
    text_bytes_spell(view_of(piece.text.at, n_first), out);
    size_t n_spelled = out->n;
    text_bytes_spell(view_of(piece.text.at + n_first, piece.text.n - n_first), out);
    run_stage(work, stage + 1, made_of(out, n_spelled));
}

static void run_stage(struct splitter_work *work, int32_t stage, struct piece piece)
{
    if (stage == work->splitter->n_steps) {
        work->word(work->of, piece.text);
        return;
    }
    const struct splitter_step *step = &work->splitter->steps[stage];
    struct cutting c = { .work = work, .stage = stage + 1, .piece = piece };
    c.behavior = step->step.behavior;
    switch (step->step.kind) {
    case STEP_SPLIT:
        cut_by_regex(&c, &step->regex, step->step.is_inverted);
        break;
    case STEP_DIGITS:
        cut_by_class(&c, is_numeric);
        break;
    case STEP_PUNCTUATION:
        cut_by_class(&c, is_punctuation);
        break;
    case STEP_WHITESPACE_SPLIT:
        c.behavior = BEHAVIOR_REMOVED;
        cut_by_class(&c, utf8_is_space);
        break;
    case STEP_WHITESPACE:
        cut_words(&c);
        break;
    case STEP_PREPEND:
        run_prepend(work, stage, piece);
        break;
    case STEP_METASPACE:
        run_metaspace(work, stage, piece);
        break;
    default:
        CHECK(step->step.kind == STEP_BYTE_LEVEL);
        run_byte_level(work, stage, piece);
    }
}

void splitter_run(struct splitter_work *work, struct view text, size_t n_first)
{
    if (text.n > 0)
        run_stage(work, 0, (struct piece){ text, n_first });
}

void splitter_add_bytes(struct splitter_work *work, struct view bytes)
{
    struct str *out = &work->buffers[0];
    str_clear(out);
    text_bytes_spell(bytes, out);
    work->word(work->of, view_of(out->at, out->n));
}
