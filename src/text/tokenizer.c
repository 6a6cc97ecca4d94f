/* The tokenizer's face: opens the parts, cuts text at special tokens and hands the rest to the
 * encoder of its kind.
 *
 * What both reference libraries do with a text, in their order: special tokens are found in the raw
 * text, what lies between them is normalized (NFC where asked for), split into words, and encoded.
 * Byte-level BPE takes a run of bytes that is not UTF-8 as a word of its own, so encoding and
 * decoding give the same bytes; SentencePiece makes each such byte U+FFFD, as the library does. */
#include "text/tokenizer.h"
#include "core/tokenizer_pre.h"
#include "text/bpe.h"
#include "text/special.h"
#include "text/split.h"
#include "text/spm.h"
#include "base/mem.h"
#include <string.h>
#include <utf8proc.h>

struct tokenizer {
    enum tokenizer_kind kind;
    struct text_vocab vocab;
    struct text_special always, written; /* found without and with PARSE_SPECIAL */
    struct text_special all;             /* for tokenizer_find */
    struct split split;
    struct text_bpe bpe;
    struct text_spm spm;
    bool add_bos, add_eos, add_space_prefix, normalizes_nfc;
    int32_t bos_id, eos_id;
    uint8_t *strips; /* (n_tokens), NULL: none */
};

/* What one call works with. */
struct encoding {
    const struct tokenizer *tokenizer;
    struct text_merge merge;
    struct split_work work;
    struct text_spm_work spm;
    struct str text;
    int32_t *letters; /* NFC's */
    size_t letters_capacity;
    struct text_ids ids;
};

/* The stages of a pattern are separated by U+001F. */
static enum status open_pattern(struct tokenizer *t, const char *pattern, struct fault *fault)
{
    char *copy = mem_copy_text(pattern);
    const char *stages[SPLIT_STAGES_MAX + 1] = { NULL };
    int n = 0;
    for (char *at = copy; at != NULL && n <= SPLIT_STAGES_MAX;) {
        char *end = strchr(at, '\x1F');
        if (end != NULL)
            *end++ = '\0';
        stages[n++] = at;
        at = end;
    }
    enum status status = split_open(&t->split, stages, n, fault);
    mem_give(copy);
    return status;
}

static enum status open_split(struct tokenizer *t, const struct tokenizer_options *options,
                              struct fault *fault)
{
    if (options->pattern != NULL)
        return open_pattern(t, options->pattern, fault);
    const struct tokenizer_pre *pre = tokenizer_pre_find(options->pre);
    int n = 0;
    if (pre == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: the split pattern \"%.40s\" is not known",
                         options->pre != NULL ? options->pre : "");
    while (pre->stages[n] != NULL)
        n++;
    return split_open(&t->split, pre->stages, n, fault);
}

static bool is_id(int32_t id, int32_t n_tokens)
{
    return id >= -1 && id < n_tokens;
}

static enum status open_parts(struct tokenizer *t, const struct tokenizer_options *options,
                              struct fault *fault)
{
    enum status status = text_vocab_open(&t->vocab, options, fault);
    if (status != STATUS_OK)
        return status;
    int32_t n = t->vocab.n_tokens;
    if (!is_id(options->bos_id, n) || !is_id(options->eos_id, n) || !is_id(options->unknown_id, n))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "tokenizer: bos %d, eos %d or unknown %d is not one of the %d tokens",
                         options->bos_id, options->eos_id, options->unknown_id, n);
    unsigned control = 1u << TEXT_CONTROL, user = 1u << TEXT_USER_DEFINED;
    bool is_spm = t->kind == TOKENIZER_SPM;
    if (is_spm && options->sentence != NULL && !options->sentence->cuts_at_user)
        user = 0; /* the encoder finds them itself */
    text_special_open(&t->always, &t->vocab, user);
    text_special_open(&t->written, &t->vocab, control | user);
    user = 1u << TEXT_USER_DEFINED;
    text_special_open(&t->all, &t->vocab, control | user | 1u << TEXT_UNKNOWN);
    if (is_spm)
        return text_spm_open(&t->spm, &t->vocab, options, fault);
    status = open_split(t, options, fault);
    return status == STATUS_OK ? text_bpe_open(&t->bpe, &t->vocab, options, fault) : status;
}

enum status tokenizer_open(struct tokenizer **out, const struct tokenizer_options *options,
                           struct fault *fault)
{
    *out = NULL;
    struct tokenizer *t = mem_take(sizeof(*t));
    t->kind = options->kind;
    t->add_bos = options->add_bos;
    t->add_eos = options->add_eos;
    t->add_space_prefix = options->add_space_prefix;
    t->normalizes_nfc = options->normalizes_nfc;
    t->bos_id = options->bos_id;
    t->eos_id = options->eos_id;
    enum status status = open_parts(t, options, fault);
    if (options->strips != NULL && status == STATUS_OK) {
        t->strips = mem_take((size_t)t->vocab.n_tokens);
        memcpy(t->strips, options->strips, (size_t)t->vocab.n_tokens);
    }
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
    text_spm_close(&t->spm);
    split_close(&t->split);
    text_special_close(&t->always);
    text_special_close(&t->written);
    text_special_close(&t->all);
    text_vocab_close(&t->vocab);
    mem_give(t->strips);
    mem_give(t);
}

int32_t tokenizer_n_tokens(const struct tokenizer *t)
{
    return t->vocab.n_tokens;
}

/* The length of the longest prefix of text that is (or is not) UTF-8, and whether it is ASCII. */
static size_t run_bytes(struct view text, bool is_valid, bool *is_ascii)
{
    size_t i = 0;
    *is_ascii = true;
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
        *is_ascii = false;
        i += n > 0 ? (size_t)n : 1;
    }
    return i;
}

/* The composed form of valid text, in letters of the encoding. */
static struct view compose(struct encoding *e, struct view text)
{
    size_t capacity = text.n + 1;
    utf8proc_ssize_t n = 0;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (capacity + 1 > e->letters_capacity) {
            mem_give(e->letters);
            e->letters = mem_take((capacity + 1) * sizeof(*e->letters));
            e->letters_capacity = capacity + 1;
        }
        n = utf8proc_decompose((const utf8proc_uint8_t *)text.at, (utf8proc_ssize_t)text.n,
                               e->letters, (utf8proc_ssize_t)capacity,
                               UTF8PROC_STABLE | UTF8PROC_COMPOSE);
        if (n < 0)
            return text;
        if ((size_t)n <= capacity)
            break;
        capacity = (size_t)n;
    }
    n = utf8proc_reencode(e->letters, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    return n < 0 ? text : view_of((const char *)e->letters, (size_t)n);
}

static void add_word(void *of, struct view word)
{
    struct encoding *e = of;
    text_bpe_encode(&e->tokenizer->bpe, &e->merge, word, &e->ids);
}

/* A run of bytes that is not UTF-8. Where a vocabulary lacks one of its bytes (some lack those that
 * no text holds) and has no unknown token, U+FFFD stands for it. */
static void add_broken(struct encoding *e, struct view run)
{
    const struct text_bpe *bpe = &e->tokenizer->bpe;
    size_t start = 0;
    for (size_t i = 0; i < run.n; i++) {
        if (bpe->unknown_id >= 0 || bpe->vocab->byte_ids[(unsigned char)run.at[i]] >= 0)
            continue;
        if (i > start)
            add_word(e, view_of(run.at + start, i - start));
        add_word(e, view_text("\xEF\xBF\xBD"));
        start = i + 1;
    }
    if (run.n > start)
        add_word(e, view_of(run.at + start, run.n - start));
}

static void encode_bpe(struct encoding *e, struct view text)
{
    if (e->tokenizer->add_space_prefix && *text.at != ' ') {
        str_clear(&e->text);
        str_add_char(&e->text, ' ');
        str_add(&e->text, text.at, text.n);
        text = view_of(e->text.at, e->text.n);
    }
    while (text.n > 0) {
        bool is_ascii;
        size_t n = run_bytes(text, true, &is_ascii);
        struct view run = view_of(text.at, n);
        if (e->tokenizer->normalizes_nfc && !is_ascii)
            run = compose(e, run);
        split_work_run(&e->work, run);
        size_t n_broken = run_bytes(view_of(text.at + n, text.n - n), false, &is_ascii);
        if (n_broken > 0)
            add_broken(e, view_of(text.at + n, n_broken));
        n += n_broken;
        text = view_of(text.at + n, text.n - n);
    }
}

static void encode_spm(struct encoding *e, struct view text, bool is_first)
{
    const struct tokenizer *t = e->tokenizer;
    if (t->normalizes_nfc && utf8_is_valid(text))
        text = compose(e, text);
    bool is_prefixed = is_first || !t->spm.sentence.prefixes_once;
    text_spm_encode(&t->spm, &e->spm, text, is_prefixed, &e->ids);
}

/* Bytes of white space at the start of text. */
static size_t spaces_first(struct view text)
{
    size_t at = 0;
    while (at < text.n) {
        uint32_t letter = 0;
        int n = utf8_decode(view_of(text.at + at, text.n - at), &letter);
        if (n <= 0 || !utf8_is_space(letter))
            break;
        at += (size_t)n;
    }
    return at;
}

/* Bytes of white space at its end: the last run that goes to the end. */
static size_t spaces_last(struct view text)
{
    size_t n = 0;
    while (n < text.n) {
        size_t length = 1;
        while (length < 3 && n + length < text.n &&
               ((unsigned char)text.at[text.n - n - length] & 0xC0) == 0x80)
            length++;
        struct view letter = view_of(text.at + text.n - n - length, length);
        if (spaces_first(letter) != length)
            break;
        n += length;
    }
    return n;
}

static void encode_text(struct encoding *e, struct view text, const struct text_special *special)
{
    const struct tokenizer *t = e->tokenizer;
    for (size_t at = 0; at < text.n;) {
        int32_t id = -1;
        size_t end = text_special_search(special, &t->vocab, text, at, &id);
        struct view plain = view_of(text.at + at, end - at);
        unsigned strips = id >= 0 && t->strips != NULL ? t->strips[id] : 0;
        if (strips & TOKENIZER_STRIP_LEFT)
            plain.n -= spaces_last(plain);
        if (plain.n > 0 && t->kind == TOKENIZER_SPM)
            encode_spm(e, plain, at == 0);
        else if (plain.n > 0)
            encode_bpe(e, plain);
        if (id >= 0) {
            text_ids_add(&e->ids, id);
            end += t->vocab.tokens[id].n;
        }
        if (strips & TOKENIZER_STRIP_RIGHT)
            end += spaces_first(view_of(text.at + end, text.n - end));
        at = end;
    }
}

int32_t tokenizer_encode(const struct tokenizer *t, struct view text, unsigned flags, int32_t *ids,
                         int32_t n_max)
{
    if (text.n > INT32_MAX / 4)
        return TOKENIZER_TOO_MANY;
    struct encoding e = { .tokenizer = t, .ids = { .at = ids, .n_max = max_i32(n_max, 0) } };
    text_merge_init(&e.merge);
    str_init(&e.text);
    if (t->kind == TOKENIZER_BPE) {
        split_work_init(&e.work, &t->split);
        regex_work_grant(&e.work.regex, text.n);
        e.work.word = add_word;
        e.work.of = &e;
    } else {
        text_spm_work_init(&e.spm);
    }
    if ((flags & TOKENIZER_ADD_SPECIAL) != 0 && t->add_bos && t->bos_id >= 0)
        text_ids_add(&e.ids, t->bos_id);
    encode_text(&e, text, (flags & TOKENIZER_PARSE_SPECIAL) != 0 ? &t->written : &t->always);
    if ((flags & TOKENIZER_ADD_SPECIAL) != 0 && t->add_eos && t->eos_id >= 0)
        text_ids_add(&e.ids, t->eos_id);
    bool is_spent = t->kind == TOKENIZER_BPE && e.work.regex.is_spent;
    if (t->kind == TOKENIZER_BPE)
        split_work_free(&e.work);
    else
        text_spm_work_free(&e.spm);
    text_merge_free(&e.merge);
    str_free(&e.text);
    mem_give(e.letters);
    if (is_spent)
        return TOKENIZER_TOO_COSTLY;
    return e.ids.n > e.ids.n_max ? TOKENIZER_TOO_MANY : (int32_t)e.ids.n;
}

struct view tokenizer_piece(const struct tokenizer *t, int32_t id, bool show_special)
{
    if (id < 0 || id >= t->vocab.n_tokens)
        return view_of("", 0);
    uint8_t type = t->vocab.types[id];
    if ((type == TEXT_CONTROL || type == TEXT_UNKNOWN) && !show_special)
        return view_of("", 0);
    return t->vocab.tokens[id];
}

int32_t tokenizer_find(const struct tokenizer *t, struct view token)
{
    int32_t id = text_special_find(&t->all, &t->vocab, token);
    return id >= 0 ? id : text_vocab_find(&t->vocab, token);
}

bool tokenizer_strips_first_space(const struct tokenizer *t)
{
    return t->kind == TOKENIZER_SPM && t->add_space_prefix;
}
