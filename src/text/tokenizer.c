/* The tokenizer's interface: opens the parts and leads a text through them.
 *
 * The order is the library's. Added tokens are found in the raw text. The text between them is
 * normalized, and added tokens are found in the result. The text between those is split into words,
 * and the model takes each word apart. SentencePiece's own vocabularies do the rest by themselves
 * (text/spm.c). Byte-level vocabularies take a run of bytes that is not UTF-8 as a word of its own,
 * so encoding and decoding give the same bytes. */
#include "text/tokenizer.h"
#include "text/added.h"
#include "text/bpe.h"
#include "text/decoder.h"
#include "text/implied.h"
#include "text/normalizer.h"
#include "text/splitter.h"
#include "text/spm.h"
#include "text/unigram_words.h"
#include "text/wordpiece.h"
#include "base/mem.h"
#include <string.h>

struct tokenizer {
    enum tokenizer_kind kind;
    struct pile pile;
    struct text_vocab vocab;
    struct text_added added, plain; /* searched with and without PARSE_SPECIAL */
    bool hides_skipped; /* special tokens are searched even when they are text (text/added.c) */
    struct normalizer normalizer;
    struct splitter splitter;
    struct text_bpe bpe;
    struct text_unigram_words unigram;
    struct text_wordpiece wordpiece;
    struct text_spm spm;
    struct text_decoder decoder;
    struct view *texts; /* (n_tokens) for the decoders */
    uint8_t *is_hidden; /* (n_tokens) shown only with special tokens */
    const int32_t *before, *behind;
    int32_t n_before, n_behind;
    enum tokenizer_pair pair;
    bool is_byte_level;
};

/* The data of one call. */
struct encoding {
    const struct tokenizer *tokenizer;
    bool skips_special;
    struct text_merge merge;
    struct unigram_work division;
    struct text_spm_work spm;
    struct regex_work regex;
    struct normalizer_work normal;
    struct splitter_work splitter;
    struct str text; /* whole characters only, or SentencePiece's input */
    struct text_ids ids;
};

static bool is_id(int32_t id, int32_t n_tokens)
{
    return id >= -1 && id < n_tokens;
}

static enum status check_ids(const struct tokenizer_options *options,
                             const struct tokenizer_steps *steps, struct fault *fault)
{
    int32_t n = options->n_tokens;
    if (!is_id(options->bos_id, n) || !is_id(options->eos_id, n) || !is_id(options->unknown_id, n))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "tokenizer: bos %d, eos %d or unknown %d is not one of the %d tokens",
                         options->bos_id, options->eos_id, options->unknown_id, n);
    for (int32_t i = 0; i < steps->n_before + steps->n_behind; i++) {
        int32_t id = i < steps->n_before ? steps->before[i] : steps->behind[i - steps->n_before];
        if (id < 0 || id >= n)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "tokenizer: token %d, which is put around texts, is not one of the %d "
                             "tokens",
                             id, n);
    }
    for (int32_t i = 0; i < steps->n_added; i++)
        if (steps->added[i].id < 0 || steps->added[i].id >= n)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "tokenizer: the added token %d is not one of the %d tokens",
                             steps->added[i].id, n);
    return STATUS_OK;
}

static enum status open_model(struct tokenizer *t, const struct tokenizer_options *options,
                              const struct tokenizer_steps *steps, struct fault *fault)
{
    int32_t unknown_id = options->unknown_id;
    if (t->kind == TOKENIZER_SPM)
        return text_spm_open(&t->spm, &t->vocab, options, fault);
    if (t->kind == TOKENIZER_UNIGRAM)
        return text_unigram_words_open(&t->unigram, &t->vocab, steps, unknown_id, fault);
    if (t->kind == TOKENIZER_WORDPIECE)
        return text_wordpiece_open(&t->wordpiece, &t->vocab, steps, unknown_id, fault);
    struct view prefix = steps->word_prefix, suffix = steps->word_suffix;
    const struct text_bpe_options bpe = {
        .n_merges = options->steps != NULL ? steps->n_merges : options->n_merges,
        .merges = steps->merges,
        .merge_texts = options->merges,
        .unknown_id = unknown_id,
        .falls_back_to_bytes = steps->falls_back_to_bytes,
        .fuses_unknown = steps->fuses_unknown,
        .ignores_merges = steps->ignores_merges,
        .prefix = view_of(pile_text(&t->pile, prefix.at, prefix.n), prefix.n),
        .suffix = view_of(pile_text(&t->pile, suffix.at, suffix.n), suffix.n),
    };
    return text_bpe_open(&t->bpe, &t->vocab, &bpe, fault);
}

/* Returns the text of an added token, or its normal form. */
static struct view added_text(struct tokenizer *t, int32_t id, bool is_normalized,
                              struct normalizer_work *work)
{
    struct view text = t->kind == TOKENIZER_SPM ? t->spm.pieces[id] : t->vocab.tokens[id];
    if (!is_normalized || text.n == 0 || !utf8_is_valid(text))
        return text;
    normalizer_run(&t->normalizer, work, text);
    return view_of(pile_text(&t->pile, work->text.at, work->text.n), work->text.n);
}

static enum status open_added(struct tokenizer *t, const struct tokenizer_steps *steps,
                              bool is_implied, struct fault *fault)
{
    int32_t n = steps->n_added, n_plain = 0;
    struct view *texts = pile_take(&t->pile, ((size_t)n + 1) * sizeof(*texts));
    struct tokenizer_added *plain = pile_take(&t->pile, ((size_t)n + 1) * sizeof(*plain));
    struct regex_work regex;
    struct normalizer_work work;
    size_t n_bytes = 0;
    for (int32_t i = 0; i < n; i++)
        n_bytes += 2 * t->vocab.tokens[steps->added[i].id].n;
    regex_work_init(&regex);
    regex_work_grant(&regex, n_bytes);
    normalizer_work_init(&work, &regex);
    for (int32_t i = 0; i < n; i++) {
        int32_t id = steps->added[i].id;
        unsigned flags = steps->added[i].flags;
        texts[i] = added_text(t, id, (flags & ADDED_NORMALIZED) != 0, &work);
        if (t->kind != TOKENIZER_SPM)
            t->texts[id] = added_text(t, id, (flags & ADDED_WAS_NORMALIZED) != 0, &work);
    }
    bool is_whole = !regex.is_spent && !work.is_too_long;
    normalizer_work_free(&work);
    regex_work_free(&regex);
    if (!is_whole)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: to normalize the added tokens takes too many steps");
    t->hides_skipped = !is_implied;
    enum status status = text_added_open(&t->added, steps->added, texts, n, is_implied, fault);
    if (status != STATUS_OK || !is_implied)
        return status;
    for (int32_t i = 0; i < n; i++) {
        if (steps->added[i].flags & ADDED_SPECIAL)
            continue;
        texts[n_plain] = texts[i];
        plain[n_plain++] = steps->added[i];
    }
    return text_added_open(&t->plain, plain, texts, n_plain, is_implied, fault);
}

/* Finds the tokens that are hidden because their text is that of a special token. */
static void find_hidden(struct tokenizer *t, const struct tokenizer_options *options,
                        const struct tokenizer_steps *steps)
{
    int32_t n_tokens = t->vocab.n_tokens, n = 0;
    if (options->steps == NULL) {
        for (int32_t id = 0; id < n_tokens; id++)
            t->is_hidden[id] =
                t->vocab.types[id] == TEXT_CONTROL || t->vocab.types[id] == TEXT_UNKNOWN;
        return;
    }
    struct view *specials = mem_take(((size_t)steps->n_added + 1) * sizeof(*specials));
    int32_t *ids = mem_take(((size_t)steps->n_added + 1) * sizeof(*ids));
    for (int32_t i = 0; i < steps->n_added; i++)
        if (steps->added[i].flags & ADDED_SPECIAL)
            specials[n++] = t->vocab.tokens[steps->added[i].id];
    struct text_prefixes set;
    text_prefixes_open(&set, specials, ids, n, false);
    for (int32_t id = 0; id < n_tokens; id++) {
        int32_t i = text_prefixes_longest(&set, t->texts[id]);
        t->is_hidden[id] = i >= 0 && set.texts[i].n == t->texts[id].n;
    }
    text_prefixes_close(&set);
    mem_give(specials);
    mem_give(ids);
}

static bool has_byte_level(const struct tokenizer_step *steps, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (steps[i].kind == STEP_BYTE_LEVEL)
            return true;
    return false;
}

static void copy_ends(struct tokenizer *t, const struct tokenizer_steps *steps)
{
    size_t n_before = (size_t)steps->n_before, n_behind = (size_t)steps->n_behind;
    int32_t *ids = pile_take(&t->pile, (n_before + n_behind + 1) * sizeof(*ids));
    if (n_before > 0)
        memcpy(ids, steps->before, n_before * sizeof(*ids));
    if (n_behind > 0)
        memcpy(ids + n_before, steps->behind, n_behind * sizeof(*ids));
    t->before = ids;
    t->behind = ids + n_before;
    t->n_before = steps->n_before;
    t->n_behind = steps->n_behind;
    t->pair = steps->pair;
}

static enum status open_parts(struct tokenizer *t, const struct tokenizer_options *options,
                              const struct tokenizer_steps *steps, struct fault *fault)
{
    bool is_spm = t->kind == TOKENIZER_SPM, is_implied = options->steps == NULL;
    size_t n = (size_t)t->vocab.n_tokens;
    enum status status = check_ids(options, steps, fault);
    if (status == STATUS_OK)
        status = open_model(t, options, steps, fault);
    if (status == STATUS_OK)
        status = normalizer_open(&t->normalizer, steps->normalizers, steps->n_normalizers, &t->pile,
                                 fault);
    if (status == STATUS_OK)
        status = splitter_open(&t->splitter, steps->splitters, steps->n_splitters, &t->pile, fault);
    t->texts = pile_take(&t->pile, n * sizeof(*t->texts));
    t->is_hidden = pile_take(&t->pile, n);
    memcpy(t->texts, t->vocab.tokens, n * sizeof(*t->texts));
    if (status == STATUS_OK)
        status = open_added(t, steps, is_implied, fault);
    if (status != STATUS_OK)
        return status;
    find_hidden(t, options, steps);
    copy_ends(t, steps);
    t->is_byte_level = has_byte_level(steps->normalizers, steps->n_normalizers) ||
                       has_byte_level(steps->splitters, steps->n_splitters);
    if (!is_spm) {
        status = text_decoder_open(&t->decoder, steps, t->texts, (int32_t)n, &t->pile, fault);
        for (size_t id = 0; id < n && status == STATUS_OK && is_implied; id++)
            if (t->vocab.types[id] != TEXT_NORMAL) /* llama.cpp writes them unchanged */
                text_decoder_keep(&t->decoder, (int32_t)id);
        return status;
    }
    text_decoder_open_plain(&t->decoder, t->texts, t->vocab.types, (int32_t)n, &t->pile);
    const struct tokenizer_sentence *sentence = &t->spm.sentence;
    if (sentence->removes_spaces)
        t->decoder.first_space = DECODER_SKIPS_EACH_SPACE;
    else if (sentence->adds_prefix)
        t->decoder.first_space = DECODER_SKIPS_SPACE;
    t->decoder.begins_with_space = pile_take(&t->pile, n);
    text_spm_find_spaces(&t->spm, t->decoder.begins_with_space);
    return STATUS_OK;
}

enum status tokenizer_open(struct tokenizer **out, const struct tokenizer_options *options,
                           struct fault *fault)
{
    *out = NULL;
    struct tokenizer *t = mem_take(sizeof(*t));
    struct tokenizer_steps implied = { 0 };
    const struct tokenizer_steps *steps = options->steps != NULL ? options->steps : &implied;
    t->kind = options->kind;
    pile_init(&t->pile);
    enum status status = text_vocab_open(&t->vocab, options, fault);
    if (status == STATUS_OK && options->steps == NULL) {
        if (t->kind == TOKENIZER_SPM)
            text_implied_spm(&implied, options, &t->pile);
        else
            status = text_implied_bpe(&implied, options, &t->pile, fault);
        text_implied_ends(&implied, options, &t->pile);
    }
    if (status == STATUS_OK)
        status = open_parts(t, options, steps, fault);
    if (status != STATUS_OK)
        tokenizer_close(t);
    else
        *out = t;
    return status;
}

void tokenizer_close(struct tokenizer *t)
{
    if (t == NULL)
        return;
    text_bpe_close(&t->bpe);
    text_unigram_words_close(&t->unigram);
    text_wordpiece_close(&t->wordpiece);
    text_spm_close(&t->spm);
    normalizer_close(&t->normalizer);
    splitter_close(&t->splitter);
    text_added_close(&t->added);
    text_added_close(&t->plain);
    text_decoder_close(&t->decoder);
    text_vocab_close(&t->vocab);
    pile_free(&t->pile);
    mem_give(t);
}

int32_t tokenizer_n_tokens(const struct tokenizer *t)
{
    return t->vocab.n_tokens;
}

static void add_word(void *of, struct view word)
{
    struct encoding *e = of;
    const struct tokenizer *t = e->tokenizer;
    if (t->kind == TOKENIZER_UNIGRAM)
        text_unigram_words_encode(&t->unigram, &e->division, word, &e->ids);
    else if (t->kind == TOKENIZER_WORDPIECE)
        text_wordpiece_encode(&t->wordpiece, word, &e->ids);
    else
        text_bpe_encode(&t->bpe, &e->merge, word, &e->ids);
}

/* Returns the length of the longest prefix of text that is (or is not) UTF-8. */
static size_t run_bytes(struct view text, bool is_valid)
{
    size_t i = 0;
    while (i < text.n) {
        if ((unsigned char)text.at[i] < 128) {
            if (!is_valid)
                break;
            i++;
            continue;
        }
        int n = utf8_decode(view_of(text.at + i, text.n - i), NULL);
        if ((n > 0) != is_valid)
            break;
        i += n > 0 ? (size_t)n : 1;
    }
    return i;
}

/* Encodes valid UTF-8 between two added tokens. is_start: the whole text begins here. */
static void encode_run(struct encoding *e, struct view run, bool is_start)
{
    const struct tokenizer *t = e->tokenizer;
    normalizer_run(&t->normalizer, &e->normal, run);
    struct view text = view_of(e->normal.text.at, e->normal.text.n), before;
    size_t n_first = is_start ? e->normal.n_first : 0;
    const struct text_added *added = e->skips_special && !t->hides_skipped ? &t->plain : &t->added;
    struct text_added_walk walk;
    int32_t id;
    text_added_begin(&walk, added, text, true, e->skips_special);
    while (text_added_next(&walk, &before, &id)) {
        size_t start = (size_t)(before.at - text.at);
        splitter_run(&e->splitter, before, n_first > start ? n_first - start : 0);
        if (id >= 0)
            text_ids_add(&e->ids, id);
    }
}

/* Encodes a run of bytes that is not UTF-8. Some vocabularies lack bytes that occur in no text.
 * When such a vocabulary has no unknown token either, U+FFFD replaces each such byte. */
static void encode_broken(struct encoding *e, struct view run)
{
    const struct text_bpe *bpe = &e->tokenizer->bpe;
    size_t start = 0;
    for (size_t i = 0; i < run.n; i++) {
        uint32_t letter = text_bytes_letter((unsigned char)run.at[i]);
        if (e->tokenizer->kind != TOKENIZER_BPE || bpe->unknown_id >= 0 ||
            bpe->letter_ids[letter] >= 0)
            continue;
        if (i > start)
            splitter_add_bytes(&e->splitter, view_of(run.at + start, i - start));
        splitter_add_bytes(&e->splitter, view_text("\xEF\xBF\xBD"));
        start = i + 1;
    }
    if (run.n > start)
        splitter_add_bytes(&e->splitter, view_of(run.at + start, run.n - start));
}

static void encode_runs(struct encoding *e, struct view text, bool is_start)
{
    while (text.n > 0) {
        size_t n = run_bytes(text, true);
        if (n > 0)
            encode_run(e, view_of(text.at, n), is_start);
        size_t n_broken = run_bytes(view_of(text.at + n, text.n - n), false);
        if (n_broken > 0)
            encode_broken(e, view_of(text.at + n, n_broken));
        n += n_broken;
        text = view_of(text.at + n, text.n - n);
        is_start = false;
    }
}

static void encode_text(struct encoding *e, struct view text)
{
    const struct tokenizer *t = e->tokenizer;
    const struct text_added *added = e->skips_special && !t->hides_skipped ? &t->plain : &t->added;
    struct text_added_walk walk;
    struct view before;
    int32_t id;
    if (t->kind != TOKENIZER_SPM && !t->is_byte_level && !utf8_is_valid(text)) {
        text_bytes_mend(text, &e->text);
        text = view_of(e->text.at, e->text.n);
    }
    if (t->kind == TOKENIZER_SPM)
        text = text_spm_prepare(&t->spm, &e->spm, text);
    text_added_begin(&walk, added, text, false, e->skips_special);
    while (text_added_next(&walk, &before, &id)) {
        bool is_start = before.at == text.at;
        if (t->kind != TOKENIZER_SPM)
            encode_runs(e, before, is_start);
        else if (before.n > 0 && text_spm_encode(&t->spm, &e->spm, before, &e->ids) && is_start)
            e->ids.n -= (text_added_flags(added, id) & ADDED_NAMED) != 0;
        if (id >= 0)
            text_ids_add(&e->ids, id);
    }
}

static void add_ids(struct encoding *e, const int32_t *ids, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        text_ids_add(&e->ids, ids[i]);
}

int32_t tokenizer_encode(const struct tokenizer *t, struct view text, unsigned flags, int32_t *ids,
                         int32_t n_max)
{
    if (text.n > INT32_MAX / 4)
        return TOKENIZER_TOO_MANY;
    struct encoding e = { .tokenizer = t,
                          .skips_special = (flags & TOKENIZER_PARSE_SPECIAL) == 0,
                          .ids = { .at = ids, .n_max = max_i32(n_max, 0) } };
    bool adds = (flags & TOKENIZER_ADD_SPECIAL) != 0;
    text_merge_init(&e.merge);
    regex_work_init(&e.regex);
    regex_work_grant(&e.regex, text.n);
    text_spm_work_init(&e.spm);
    normalizer_work_init(&e.normal, &e.regex);
    splitter_work_init(&e.splitter, &t->splitter, &e.regex);
    e.splitter.word = add_word;
    e.splitter.of = &e;
    str_init(&e.text);
    add_ids(&e, t->before, adds ? t->n_before : 0);
    encode_text(&e, text);
    add_ids(&e, t->behind, adds ? t->n_behind : 0);
    bool is_spent = e.regex.is_spent, is_too_long = e.normal.is_too_long;
    text_merge_free(&e.merge);
    unigram_work_free(&e.division);
    text_spm_work_free(&e.spm);
    normalizer_work_free(&e.normal);
    splitter_work_free(&e.splitter);
    regex_work_free(&e.regex);
    str_free(&e.text);
    if (is_spent)
        return TOKENIZER_TOO_COSTLY;
    return is_too_long || e.ids.n > e.ids.n_max ? TOKENIZER_TOO_MANY : (int32_t)e.ids.n;
}

/* Appends the ids behind a text. */
static int32_t add_behind(const struct tokenizer *t, int32_t *ids, int32_t n, int32_t n_max)
{
    if (n < 0 || t->n_behind > n_max - n)
        return n < 0 ? n : TOKENIZER_TOO_MANY;
    memcpy(ids + n, t->behind, sizeof(*ids) * (size_t)t->n_behind);
    return n + t->n_behind;
}

int32_t tokenizer_encode_pair(const struct tokenizer *t, const struct view texts[2], int32_t *ids,
                              int32_t n_max, int32_t *n_first)
{
    if (t->pair == PAIR_NONE)
        return TOKENIZER_NO_PAIRS;
    int32_t n =
        tokenizer_encode(t, texts[0], TOKENIZER_ADD_SPECIAL | TOKENIZER_PARSE_SPECIAL, ids, n_max);
    if (t->pair == PAIR_TWICE)
        n = add_behind(t, ids, n, n_max);
    *n_first = n;
    if (n < 0)
        return n;
    int32_t more = tokenizer_encode(t, texts[1], TOKENIZER_PARSE_SPECIAL, ids + n, n_max - n);
    return add_behind(t, ids, more < 0 ? more : n + more, n_max);
}

size_t tokenizer_ids_max(const struct tokenizer *t, size_t n_bytes)
{
    size_t growth = t->normalizer.growth * t->splitter.growth;
    return n_bytes * (growth > 3 ? growth : 3) + (size_t)t->n_before + (size_t)t->n_behind + 3;
}

bool tokenizer_shows(const struct tokenizer *t, int32_t id, bool show_special)
{
    return id >= 0 && id < t->vocab.n_tokens && t->texts[id].n > 0 &&
           (show_special || !t->is_hidden[id]);
}

struct view tokenizer_piece(const struct tokenizer *t, int32_t id, bool show_special)
{
    return tokenizer_shows(t, id, show_special) ? t->decoder.pieces[id] : view_of("", 0);
}

void tokenizer_add_piece(const void *tokenizer, int32_t id, struct str *out)
{
    const struct tokenizer *t = tokenizer;
    struct view piece = tokenizer_piece(t, id, true);
    if (piece.n > 0 && !tokenizer_shows(t, id, false))
        str_add(out, "\xFF", 1);
    str_add(out, piece.at, piece.n);
}

const struct text_decoder *tokenizer_decoder(const struct tokenizer *t)
{
    return &t->decoder;
}
