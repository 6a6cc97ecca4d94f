/* One row per known step: the list that it belongs to, and its fields. A step that lacks a required
 * field is refused, since the library would not read the file either. */
#include "weights/tokenizer_steps.h"
#include <stdio.h>
#include <string.h>

#define LABEL "tokenizer.json"

enum list { NORMALIZERS, SPLITTERS, DECODERS, N_LISTS };
static const struct {
    const char *key, *inner; /* in the file; the key of a Sequence's list */
} lists[N_LISTS] = {
    { "normalizer", "normalizers" },
    { "pre_tokenizer", "pretokenizers" },
    { "decoder", "decoders" },
};

struct reader {
    enum list list;
    struct pile *pile;
    struct tokenizer_step *steps; /* (TOKENIZER_STEPS_MAX) */
    int32_t n;
    struct fault *fault;
};
/* One step that is being read. */
struct source {
    const struct reader *reader;
    const struct weights_json_node *node;
    const char *type;
};

static enum status refuse(const struct source *s, const char *what)
{
    return fault_set(s->reader->fault, STATUS_UNSUPPORTED, LABEL ": the %s %s %s",
                     lists[s->reader->list].key, s->type, what);
}

static enum status read_flag(const struct source *s, const char *key, bool *out)
{
    const struct weights_json_node *value = weights_json_find(s->node, key);
    char what[80];
    if (value != NULL && (value->kind == WEIGHTS_JSON_TRUE || value->kind == WEIGHTS_JSON_FALSE)) {
        *out = value->kind == WEIGHTS_JSON_TRUE;
        return STATUS_OK;
    }
    (void)snprintf(what, sizeof(what), "has no %s that is true or false", key);
    return refuse(s, what);
}

/* As read_flag, but leaves *out alone when the key is absent. */
static enum status read_optional_flag(const struct source *s, const char *key, bool *out)
{
    return weights_json_find(s->node, key) == NULL ? STATUS_OK : read_flag(s, key, out);
}

static enum status read_text(const struct source *s, const char *key, struct view *out)
{
    const struct weights_json_node *value = weights_json_find(s->node, key);
    char what[80];
    if (value != NULL && value->kind == WEIGHTS_JSON_TEXT) {
        *out = view_of(value->text, value->n);
        return STATUS_OK;
    }
    (void)snprintf(what, sizeof(what), "has no text %s", key);
    return refuse(s, what);
}

static enum status read_letter(const struct source *s, const char *key, struct view *out)
{
    enum status status = read_text(s, key, out);
    char what[80];
    if (status != STATUS_OK || (out->n > 0 && utf8_decode(*out, NULL) == (int)out->n))
        return status;
    (void)snprintf(what, sizeof(what), "has a %s that is not one character", key);
    return refuse(s, what);
}

static enum status read_count(const struct source *s, const char *key, int32_t *out)
{
    const struct weights_json_node *value = weights_json_find(s->node, key);
    int64_t n = 0;
    char what[80];
    if (value != NULL && value->kind == WEIGHTS_JSON_INTEGER && weights_json_to_i64(value, &n) &&
        n >= 0) {
        *out = (int32_t)(n < INT32_MAX ? n : INT32_MAX);
        return STATUS_OK;
    }
    (void)snprintf(what, sizeof(what), "has no number %s from 0", key);
    return refuse(s, what);
}

/* Reads {"String": ...} or {"Regex": ...} */
static enum status read_pattern(const struct source *s, struct tokenizer_step *step)
{
    const struct weights_json_node *pattern = weights_json_find(s->node, "pattern");
    const struct weights_json_node *regex = weights_json_find(pattern, "Regex");
    const struct weights_json_node *text = weights_json_find(pattern, "String");
    const struct weights_json_node *value = regex != NULL ? regex : text;
    if (value == NULL || value->kind != WEIGHTS_JSON_TEXT)
        return refuse(s, "has no pattern that is a String or a Regex");
    step->pattern = view_of(value->text, value->n);
    step->is_regex = regex != NULL;
    return STATUS_OK;
}

static enum status read_behavior(const struct source *s, struct tokenizer_step *step)
{
    static const char *const names[] = {
        [BEHAVIOR_ISOLATED] = "Isolated",
        [BEHAVIOR_REMOVED] = "Removed",
        [BEHAVIOR_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [BEHAVIOR_MERGED_WITH_NEXT] = "MergedWithNext",
        [BEHAVIOR_CONTIGUOUS] = "Contiguous",
    };
    struct view name;
    enum status status = read_text(s, "behavior", &name);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (view_equal_text(name, names[i])) {
            step->behavior = (enum step_behavior)i;
            return STATUS_OK;
        }
    }
    return fault_set(s->reader->fault, STATUS_UNSUPPORTED,
                     LABEL ": the %s %s's behavior \"%.40s\" is not supported",
                     lists[s->reader->list].key, s->type, name.at);
}

static enum status read_strip(const struct source *s, struct tokenizer_step *step)
{
    enum status status;
    if (s->reader->list == NORMALIZERS) {
        step->kind = STEP_STRIP_SPACES;
        status = read_flag(s, "strip_left", &step->strips_left);
        return status != STATUS_OK ? status : read_flag(s, "strip_right", &step->strips_right);
    }
    step->kind = STEP_STRIP_CHARACTER;
    status = read_letter(s, "content", &step->content);
    if (status == STATUS_OK)
        status = read_count(s, "start", &step->start);
    return status != STATUS_OK ? status : read_count(s, "stop", &step->stop);
}

static enum status read_replace(const struct source *s, struct tokenizer_step *step)
{
    enum status status = read_pattern(s, step);
    return status != STATUS_OK ? status : read_text(s, "content", &step->content);
}

static enum status read_prepend(const struct source *s, struct tokenizer_step *step)
{
    return read_text(s, "prepend", &step->content);
}

static enum status read_bert(const struct source *s, struct tokenizer_step *step)
{
    enum status status = read_flag(s, "clean_text", &step->cleans_text);
    if (status == STATUS_OK)
        status = read_flag(s, "handle_chinese_chars", &step->spaces_chinese);
    if (status == STATUS_OK)
        status = read_flag(s, "lowercase", &step->lowercases);
    step->strips_accents = step->lowercases;
    return status != STATUS_OK ? status
                               : read_optional_flag(s, "strip_accents", &step->strips_accents);
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static enum status read_charsmap(const struct source *s, struct tokenizer_step *step)
{
    struct view text;
    enum status status = read_text(s, "precompiled_charsmap", &text);
    if (status != STATUS_OK)
        return status;
    while (text.n > 0 && text.at[text.n - 1] == '=')
        text.n--;
    char *bytes = pile_take(s->reader->pile, text.n / 4 * 3 + 4);
    uint32_t bits = 0;
    size_t n = 0;
    int n_bits = 0;
    for (size_t i = 0; i < text.n; i++) {
        int digit = base64_digit(text.at[i]);
        if (digit < 0)
            return refuse(s, "has a precompiled_charsmap that is not base64");
        bits = bits << 6 | (uint32_t)digit;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            bytes[n++] = (char)(bits >> n_bits & 0xFF);
        }
    }
    step->content = view_of(bytes, n);
    return STATUS_OK;
}

static enum status read_byte_level(const struct source *s, struct tokenizer_step *step)
{
    if (s->reader->list != SPLITTERS)
        return STATUS_OK;
    step->uses_regex = true;
    enum status status = read_optional_flag(s, "add_prefix_space", &step->adds_space);
    return status != STATUS_OK ? status : read_optional_flag(s, "use_regex", &step->uses_regex);
}

/* add_prefix_space is the older form of prepend_scheme: false means never. */
static enum status read_metaspace(const struct source *s, struct tokenizer_step *step)
{
    static const char *const names[] = {
        [SCHEME_ALWAYS] = "always", [SCHEME_FIRST] = "first", [SCHEME_NEVER] = "never"
    };
    const struct weights_json_node *scheme = weights_json_find(s->node, "prepend_scheme");
    bool adds = true;
    size_t i = 0;
    step->splits = true;
    enum status status = read_letter(s, "replacement", &step->content);
    if (status == STATUS_OK)
        status = read_optional_flag(s, "split", &step->splits);
    if (status == STATUS_OK)
        status = read_optional_flag(s, "add_prefix_space", &adds);
    if (status != STATUS_OK)
        return status;
    step->scheme = adds ? SCHEME_ALWAYS : SCHEME_NEVER;
    if (scheme == NULL)
        return STATUS_OK;
    while (i < COUNT_OF(names) && !weights_json_is_text(scheme, names[i]))
        i++;
    if (i == COUNT_OF(names))
        return refuse(s, "has a prepend_scheme other than always, first and never");
    step->scheme = (enum step_scheme)i;
    if (!adds && step->scheme != SCHEME_NEVER)
        return refuse(s, "has an add_prefix_space and a prepend_scheme that contradict each other");
    return STATUS_OK;
}

static enum status read_split(const struct source *s, struct tokenizer_step *step)
{
    enum status status = read_pattern(s, step);
    if (status == STATUS_OK)
        status = read_behavior(s, step);
    return status != STATUS_OK ? status : read_flag(s, "invert", &step->is_inverted);
}

static enum status read_digits(const struct source *s, struct tokenizer_step *step)
{
    bool is_individual = false;
    enum status status = read_flag(s, "individual_digits", &is_individual);
    step->behavior = is_individual ? BEHAVIOR_ISOLATED : BEHAVIOR_CONTIGUOUS;
    return status;
}

static enum status read_punctuation(const struct source *s, struct tokenizer_step *step)
{
    return weights_json_find(s->node, "behavior") == NULL ? STATUS_OK : read_behavior(s, step);
}

static enum status read_delimiter(const struct source *s, struct tokenizer_step *step)
{
    return read_letter(s, "delimiter", &step->content);
}

static enum status read_word_piece(const struct source *s, struct tokenizer_step *step)
{
    enum status status = read_text(s, "prefix", &step->content);
    return status != STATUS_OK ? status : read_flag(s, "cleanup", &step->cleans_up);
}

static enum status read_suffix(const struct source *s, struct tokenizer_step *step)
{
    return read_text(s, "suffix", &step->content);
}

#define IN(list) (1u << (list))
static const struct row {
    const char *type;
    unsigned lists;
    enum step_kind kind;
    enum status (*read)(const struct source *s, struct tokenizer_step *step);
} rows[] = {
    { "NFC", IN(NORMALIZERS), STEP_NFC, NULL },
    { "NFD", IN(NORMALIZERS), STEP_NFD, NULL },
    { "NFKC", IN(NORMALIZERS), STEP_NFKC, NULL },
    { "NFKD", IN(NORMALIZERS), STEP_NFKD, NULL },
    { "Lowercase", IN(NORMALIZERS), STEP_LOWERCASE, NULL },
    { "StripAccents", IN(NORMALIZERS), STEP_STRIP_ACCENTS, NULL },
    { "Nmt", IN(NORMALIZERS), STEP_NMT, NULL },
    { "Prepend", IN(NORMALIZERS), STEP_PREPEND, read_prepend },
    { "BertNormalizer", IN(NORMALIZERS), STEP_BERT, read_bert },
    { "Precompiled", IN(NORMALIZERS), STEP_CHARSMAP, read_charsmap },
    { "Strip", IN(NORMALIZERS) | IN(DECODERS), STEP_STRIP_SPACES, read_strip },
    { "Replace", IN(NORMALIZERS) | IN(DECODERS), STEP_REPLACE, read_replace },
    { "ByteLevel", IN(NORMALIZERS) | IN(SPLITTERS) | IN(DECODERS), STEP_BYTE_LEVEL,
      read_byte_level },
    { "Metaspace", IN(SPLITTERS) | IN(DECODERS), STEP_METASPACE, read_metaspace },
    { "Split", IN(SPLITTERS), STEP_SPLIT, read_split },
    { "Digits", IN(SPLITTERS), STEP_DIGITS, read_digits },
    { "Punctuation", IN(SPLITTERS), STEP_PUNCTUATION, read_punctuation },
    { "Whitespace", IN(SPLITTERS), STEP_WHITESPACE, NULL },
    { "WhitespaceSplit", IN(SPLITTERS), STEP_WHITESPACE_SPLIT, NULL },
    { "BertPreTokenizer", IN(SPLITTERS), STEP_BERT_SPLIT, NULL },
    { "CharDelimiterSplit", IN(SPLITTERS), STEP_DELIMITER, read_delimiter },
    { "ByteFallback", IN(DECODERS), STEP_BYTE_FALLBACK, NULL },
    { "Fuse", IN(DECODERS), STEP_FUSE, NULL },
    { "WordPiece", IN(DECODERS), STEP_WORD_PIECE, read_word_piece },
    { "BPEDecoder", IN(DECODERS), STEP_BPE_SUFFIX, read_suffix },
};

static enum status read_list(struct reader *r, const struct weights_json_node *node);

static enum status read_step(struct reader *r, const struct weights_json_node *node)
{
    const struct weights_json_node *type = weights_json_find(node, "type");
    struct source s = { r, node, "" };
    if (type == NULL || type->kind != WEIGHTS_JSON_TEXT)
        return refuse(&s, "has a step without a type");
    s.type = type->text;
    if (strcmp(s.type, "Sequence") == 0)
        return read_list(r, node);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if ((rows[i].lists & IN(r->list)) == 0 || strcmp(s.type, rows[i].type) != 0)
            continue;
        if (r->n == TOKENIZER_STEPS_MAX)
            return refuse(&s, "is one step too many: at most 16 are supported");
        struct tokenizer_step *step = &r->steps[r->n++];
        step->kind = rows[i].kind;
        return rows[i].read != NULL ? rows[i].read(&s, step) : STATUS_OK;
    }
    return fault_set(r->fault, STATUS_UNSUPPORTED, LABEL ": the %s \"%.60s\" is not supported",
                     lists[r->list].key, s.type);
}

/* Reads a Sequence's steps. The JSON reader bounds how deep they are nested. */
static enum status read_list(struct reader *r, const struct weights_json_node *node)
{
    const struct weights_json_node *steps = weights_json_find(node, lists[r->list].inner);
    if (steps == NULL || steps->kind != WEIGHTS_JSON_ARRAY)
        return fault_set(r->fault, STATUS_BAD_INPUT, LABEL ": %s.%s isn't an array",
                         lists[r->list].key, lists[r->list].inner);
    const struct weights_json_node *inner = steps + 1;
    for (uint32_t i = 0; i < steps->n; i++, inner = weights_json_next(inner)) {
        enum status status = read_step(r, inner);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status weights_tokenizer_steps(const struct weights_json_node *root, struct pile *pile,
                                    struct tokenizer_steps *steps, struct fault *fault)
{
    struct {
        const struct tokenizer_step **steps;
        int32_t *n;
    } to[N_LISTS] = {
        [NORMALIZERS] = { &steps->normalizers, &steps->n_normalizers },
        [SPLITTERS] = { &steps->splitters, &steps->n_splitters },
        [DECODERS] = { &steps->decoders, &steps->n_decoders },
    };
    for (int list = 0; list < N_LISTS; list++) {
        const struct weights_json_node *node = weights_json_find(root, lists[list].key);
        struct reader r = { .list = (enum list)list, .pile = pile, .fault = fault };
        r.steps = pile_take(pile, TOKENIZER_STEPS_MAX * sizeof(*r.steps));
        if (node != NULL && node->kind != WEIGHTS_JSON_OBJECT)
            return fault_set(fault, STATUS_BAD_INPUT, LABEL ": %s isn't an object",
                             lists[list].key);
        enum status status = node != NULL ? read_step(&r, node) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
        *to[list].steps = r.steps;
        *to[list].n = r.n;
        if (list == DECODERS)
            steps->has_decoder = node != NULL;
    }
    return STATUS_OK;
}
