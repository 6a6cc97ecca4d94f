/* From tokenizer.json to a card: the model with its vocabulary and merges, and the added tokens.
 *
 * weights/tokenizer_steps.c reads the steps around them, weights/tokenizer_ends.c the ids around a
 * text. A setting that would lead to other ids than in the library is refused by name. The library
 * gives added tokens ids by itself: that of the vocabulary's token with the same text, else the
 * next free one. It only warns when the file has another id. Such a file is refused, since it is
 * unknown which id the model was trained with. */
#include "weights/tokenizer_json.h"
#include "base/log.h"
#include "core/limits.h"
#include "weights/tokenizer_ends.h"
#include "weights/tokenizer_steps.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL "tokenizer.json"

struct reader {
    const struct weights_tokenizer_source *source;
    const struct weights_json_node *root, *model, *vocab;
    struct weights_vocabulary *vocabulary;
    struct pile *pile;
    struct weights_card *card;
    struct tokenizer_steps *steps;
    uint8_t *is_model;             /* (n_tokens) */
    struct tokenizer_added *added; /* (as many as there may be) */
    int32_t *added_places;         /* (n_tokens) place in added, plus 1 */
    int32_t id_next;               /* the library gives the next new token this id */
    int32_t n_strong;              /* of added, those that no weak token changes */
    struct fault *fault;
};

static enum status refuse(const struct reader *r, const char *what)
{
    return fault_set(r->fault, STATUS_BAD_INPUT, LABEL ": %s", what);
}

static enum status refuse_kind(const struct reader *r, const char *what, const char *kind)
{
    return fault_set(r->fault, STATUS_UNSUPPORTED, LABEL ": %s \"%.60s\" is not supported", what,
                     kind);
}

static struct view text_of(const struct weights_json_node *value)
{
    return view_of(value->text, value->n);
}

static struct view key_of(const struct weights_json_node *value)
{
    return view_of(value->key, value->key_bytes);
}

static bool is_true(const struct weights_json_node *object, const char *key)
{
    const struct weights_json_node *value = weights_json_find(object, key);
    return value != NULL && value->kind == WEIGHTS_JSON_TRUE;
}

unsigned weights_tokenizer_json_flags(const struct weights_json_node *token)
{
    return (is_true(token, "special") ? ADDED_SPECIAL : 0u) |
           (is_true(token, "normalized") ? ADDED_NORMALIZED : 0u) |
           (is_true(token, "lstrip") ? ADDED_STRIPS_LEFT : 0u) |
           (is_true(token, "rstrip") ? ADDED_STRIPS_RIGHT : 0u) |
           (is_true(token, "single_word") ? ADDED_SINGLE_WORD : 0u);
}

/* Counts the ids of the vocabulary, which may have some holes. */
static enum status count_tokens(const struct reader *r, int32_t *n)
{
    int64_t id, id_max = (int64_t)r->vocab->n - 1;
    const struct weights_json_node *value = r->vocab + 1;
    bool is_list = r->vocab->kind == WEIGHTS_JSON_ARRAY;
    for (uint32_t i = 0; i < r->vocab->n && !is_list; i++, value = weights_json_next(value)) {
        if (value->kind != WEIGHTS_JSON_INTEGER || !weights_json_to_i64(value, &id) || id < 0)
            return refuse(r, "an id in model.vocab isn't an integer from 0");
        id_max = max_i64(id_max, id);
    }
    int64_t n_max = min_i64(LIMIT_VOCABULARY, 2 * (int64_t)r->vocab->n + 4096);
    if (id_max < 0 || id_max >= n_max)
        return fault_set(r->fault, STATUS_BAD_INPUT,
                         LABEL ": model.vocab has ids up to %lld for %u tokens", (long long)id_max,
                         r->vocab->n);
    *n = (int32_t)(id_max + 1);
    return STATUS_OK;
}

static int32_t find_model_token(const struct reader *r, struct view text)
{
    int32_t id = weights_vocabulary_find(r->vocabulary, text);
    return id >= 0 && r->is_model[id] ? id : -1;
}

/* Reads {"text": id, ...} */
static enum status read_vocab(struct reader *r)
{
    const struct weights_json_node *value = r->vocab + 1;
    int64_t id = 0;
    for (uint32_t i = 0; i < r->vocab->n; i++, value = weights_json_next(value)) {
        CHECK(weights_json_to_i64(value, &id));
        if (r->is_model[id] || weights_vocabulary_find(r->vocabulary, key_of(value)) >= 0)
            return fault_set(r->fault, STATUS_BAD_INPUT,
                             LABEL ": model.vocab has the token \"%.40s\" or its id %lld twice",
                             value->key, (long long)id);
        weights_vocabulary_set(r->vocabulary, (int32_t)id, key_of(value), TOKEN_NORMAL);
        r->is_model[id] = 1;
    }
    return STATUS_OK;
}

/* Reads a number as serde_json does, which rounds twice: the digits to a double, and the result
 * times a power of ten. Scores must have the same sums as in the library. */
static double read_score(struct view text)
{
    uint64_t digits = 0;
    int exponent = 0;
    bool is_negative = text.n > 0 && *text.at == '-', is_behind = false, is_full = false;
    size_t i = is_negative;
    for (; i < text.n && text.at[i] != 'e' && text.at[i] != 'E'; i++) {
        unsigned digit = (unsigned)(text.at[i] - '0');
        if (text.at[i] == '.') {
            is_behind = true;
            continue;
        }
        is_full = is_full || digits > UINT64_MAX / 10 ||
                  (digits == UINT64_MAX / 10 && digit > UINT64_MAX % 10);
        if (!is_full)
            digits = digits * 10 + digit;
        exponent += is_full ? !is_behind : -is_behind;
    }
    if (i < text.n) {
        char sign = text.at[i + 1];
        int power = 0;
        for (i += sign == '-' || sign == '+' ? 2 : 1; i < text.n && power < 100000; i++)
            power = power * 10 + (text.at[i] - '0');
        exponent += sign == '-' ? -power : power;
    }
    double score = (double)digits;
    for (; exponent < -308 && score != 0; exponent += 308)
        score /= 1e308;
    char name[16];
    (void)snprintf(name, sizeof(name), "1e%d", exponent < 0 ? -exponent : exponent);
    double power = strtod(name, NULL);
    score = score == 0 ? 0 : exponent < 0 ? score / power : score * power;
    return is_negative ? -score : score;
}

/* Reads [["text", score], ...]. The last one of equal texts counts, so it is set first. */
static enum status read_pieces(struct reader *r)
{
    uint32_t n = r->vocab->n;
    double *scores = pile_take(r->pile, (size_t)r->vocabulary->n * sizeof(*scores));
    const struct weights_json_node **pieces = pile_take(r->pile, (size_t)n * sizeof(*pieces));
    const struct weights_json_node *piece = r->vocab + 1;
    for (uint32_t i = 0; i < n; i++, piece = weights_json_next(piece)) {
        bool is_pair = piece->kind == WEIGHTS_JSON_ARRAY && piece->n == 2 &&
                       piece[1].kind == WEIGHTS_JSON_TEXT;
        if (!is_pair ||
            (piece[2].kind != WEIGHTS_JSON_INTEGER && piece[2].kind != WEIGHTS_JSON_REAL))
            return refuse(r, "an element of model.vocab isn't a text and a score");
        scores[i] = read_score(text_of(&piece[2]));
        if (!isfinite(scores[i]))
            return refuse(r, "a score in model.vocab is too large");
        pieces[i] = piece;
    }
    for (uint32_t i = n; i-- > 0;) {
        weights_vocabulary_set(r->vocabulary, (int32_t)i, text_of(&pieces[i][1]), TOKEN_NORMAL);
        r->is_model[i] = 1;
    }
    r->steps->scores = scores;
    return STATUS_OK;
}

static enum status refuse_place(const struct reader *r, const struct weights_added *token,
                                int32_t id)
{
    return fault_set(r->fault, STATUS_UNSUPPORTED,
                     LABEL ": the added token \"%.40s\" has id %lld, but its place in the "
                           "vocabulary is %d",
                     token->text.at, (long long)token->id, id);
}

static void make_special(struct reader *r, int32_t id)
{
    r->added[r->added_places[id] - 1].flags |= ADDED_SPECIAL;
    r->vocabulary->types[id] = TOKEN_CONTROL;
}

static enum status add_token(struct reader *r, const struct weights_added *token)
{
    struct weights_vocabulary *vocabulary = r->vocabulary;
    int32_t id = weights_vocabulary_find(vocabulary, token->text);
    bool is_new = id < 0;
    if (token->text.n == 0)
        return STATUS_OK; /* the library skips it */
    if (token->is_weak && !is_new && r->added_places[id] != 0 &&
        r->added_places[id] <= r->n_strong) {
        if (token->is_named)
            make_special(r, id);
        return STATUS_OK;
    }
    if (is_new)
        id = r->id_next;
    if (id >= vocabulary->n || (is_new && vocabulary->types[id] != TOKEN_UNUSED) ||
        (token->id >= 0 && token->id != id))
        return refuse_place(r, token, id);
    unsigned flags = token->flags;
    if (r->added_places[id] == 0)
        r->added_places[id] = ++r->steps->n_added;
    struct tokenizer_added *added = &r->added[r->added_places[id] - 1];
    flags |= added->flags & (ADDED_SPECIAL | ADDED_WAS_NORMALIZED); /* once set, it stays */
    if (flags & ADDED_NORMALIZED)
        flags |= ADDED_WAS_NORMALIZED;
    *added = (struct tokenizer_added){ id, flags };
    weights_vocabulary_set(vocabulary, id, token->text,
                           flags & ADDED_SPECIAL ? TOKEN_CONTROL : TOKEN_USER);
    r->id_next = max_i32(r->id_next, id + 1);
    if (!token->is_weak)
        r->n_strong = r->steps->n_added;
    return STATUS_OK;
}

static enum status add_tokens(struct reader *r, const struct weights_json_node *list)
{
    const struct weights_json_node *value = list != NULL ? list + 1 : NULL;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; list != NULL && i < list->n && status == STATUS_OK;
         i++, value = weights_json_next(value)) {
        const struct weights_json_node *id = weights_json_find(value, "id");
        const struct weights_json_node *content = weights_json_find(value, "content");
        struct weights_added token = { .flags = weights_tokenizer_json_flags(value) };
        if (id == NULL || content == NULL || content->kind != WEIGHTS_JSON_TEXT ||
            !weights_json_to_i64(id, &token.id) || token.id < 0)
            return refuse(r, "an element of added_tokens has no id from 0 or no content");
        token.text = text_of(content);
        status = add_token(r, &token);
    }
    for (int32_t i = 0; i < r->source->n_extra && status == STATUS_OK; i++)
        status = add_token(r, &r->source->extra[i]);
    return status;
}

static enum status read_tokens(struct reader *r)
{
    const struct weights_json_node *list = weights_json_find(r->root, "added_tokens");
    bool is_unigram = r->card->tokenizer == WEIGHTS_TOKENIZER_UNIGRAM;
    int32_t n = 0;
    r->vocab = weights_json_find(r->model, "vocab");
    if (r->vocab == NULL ||
        r->vocab->kind != (is_unigram ? WEIGHTS_JSON_ARRAY : WEIGHTS_JSON_OBJECT))
        return refuse(r, is_unigram ? "model.vocab isn't an array" : "model.vocab isn't an object");
    if (list != NULL && list->kind != WEIGHTS_JSON_ARRAY)
        return refuse(r, "added_tokens isn't an array");
    enum status status = count_tokens(r, &n);
    if (status != STATUS_OK)
        return status;
    int64_t n_added = (list != NULL ? (int64_t)list->n : 0) + r->source->n_extra;
    if (n + n_added > LIMIT_VOCABULARY)
        return refuse(r, "added_tokens is too long");
    n += (int32_t)n_added;
    weights_vocabulary_init(r->vocabulary, r->pile, n);
    r->is_model = pile_take(r->pile, (size_t)n);
    r->added = pile_take(r->pile, ((size_t)n_added + 1) * sizeof(*r->added));
    r->added_places = pile_take(r->pile, (size_t)n * sizeof(*r->added_places));
    r->steps->is_model = r->is_model;
    r->steps->added = r->added;
    status = is_unigram ? read_pieces(r) : read_vocab(r);
    r->id_next = (int32_t)r->vocab->n;
    if (status == STATUS_OK)
        status = add_tokens(r, list);
    while (n > 0 && r->vocabulary->types[n - 1] == TOKEN_UNUSED)
        n--;
    r->vocabulary->n = n;
    return status;
}

/* Reads the unknown token: by its text, for Unigram by its id. */
static enum status read_unknown(struct reader *r)
{
    struct weights_json_from from = { r->model, LABEL ": model", r->fault };
    const char *text = NULL;
    int64_t id = -1;
    enum status status = STATUS_OK;
    if (r->card->tokenizer == WEIGHTS_TOKENIZER_UNIGRAM) {
        status = weights_json_i64(&from, "unk_id", 0, (int64_t)r->vocab->n - 1, &id);
        if (status == STATUS_OK && id < 0)
            return refuse_kind(r, "a Unigram model without", "unk_id");
    } else {
        status = weights_json_text(&from, "unk_token", &text);
        if (status == STATUS_OK && text != NULL)
            id = find_model_token(r, view_text(text));
        if (status == STATUS_OK && text != NULL && id < 0)
            return fault_set(r->fault, STATUS_BAD_INPUT,
                             LABEL ": model.unk_token \"%.40s\" isn't in model.vocab", text);
        if (status == STATUS_OK && id < 0 && r->card->tokenizer == WEIGHTS_TOKENIZER_WORDPIECE)
            return refuse_kind(r, "a WordPiece model without", "unk_token");
    }
    if (status != STATUS_OK || id < 0)
        return status;
    r->card->unknown_id = (int32_t)id;
    if (r->vocabulary->types[id] == TOKEN_NORMAL)
        r->vocabulary->types[id] = TOKEN_UNKNOWN;
    return STATUS_OK;
}

/* Splits a merge, which is "left right" or ["left", "right"]. */
static bool split_merge(const struct weights_json_node *merge, struct view *left,
                        struct view *right)
{
    if (merge->kind == WEIGHTS_JSON_TEXT) {
        const char *space = memchr(merge->text, ' ', merge->n);
        if (space == NULL)
            return false;
        *left = view_of(merge->text, (size_t)(space - merge->text));
        *right = view_of(space + 1, merge->n - left->n - 1);
        return memchr(right->at, ' ', right->n) == NULL;
    }
    if (merge->kind != WEIGHTS_JSON_ARRAY || merge->n != 2 || merge[1].kind != WEIGHTS_JSON_TEXT ||
        merge[2].kind != WEIGHTS_JSON_TEXT)
        return false;
    *left = text_of(&merge[1]);
    *right = text_of(&merge[2]);
    return true;
}

/* Reads a merge. It forms its two texts, the second without the prefix of words' inner pieces. */
static enum status read_merge(const struct reader *r, const struct weights_json_node *merge,
                              struct str *whole, int32_t ids[3])
{
    struct view left, right;
    size_t n_prefix = r->steps->word_prefix.n;
    if (!split_merge(merge, &left, &right) || right.n < n_prefix)
        return refuse(r, "an element of model.merges isn't two texts");
    str_clear(whole);
    str_add(whole, left.at, left.n);
    str_add(whole, right.at + n_prefix, right.n - n_prefix);
    ids[0] = find_model_token(r, left);
    ids[1] = find_model_token(r, right);
    ids[2] = find_model_token(r, view_of(whole->at, whole->n));
    if (ids[0] >= 0 && ids[1] >= 0 && ids[2] >= 0)
        return STATUS_OK;
    return fault_set(r->fault, STATUS_BAD_INPUT,
                     LABEL ": model.merges forms \"%.40s\", but it or a part of it isn't in "
                           "model.vocab",
                     whole->at);
}

static enum status read_merges(struct reader *r)
{
    const struct weights_json_node *merges = weights_json_find(r->model, "merges");
    if (merges == NULL || merges->kind != WEIGHTS_JSON_ARRAY)
        return refuse(r, "model.merges isn't an array");
    if (merges->n > CARD_MERGES_MAX)
        return refuse(r, "model.merges is too long");
    int32_t(*ids)[3] = pile_take(r->pile, (size_t)merges->n * sizeof(*ids));
    const struct weights_json_node *merge = merges + 1;
    enum status status = STATUS_OK;
    struct str whole;
    str_init(&whole);
    for (uint32_t i = 0; i < merges->n && status == STATUS_OK; i++) {
        status = read_merge(r, merge, &whole, ids[i]);
        merge = weights_json_next(merge);
    }
    str_free(&whole);
    r->steps->merges = (const int32_t(*)[3])ids;
    r->steps->n_merges = (int32_t)merges->n;
    return status;
}

static enum status read_affix(struct reader *r, const char *key, struct view *out)
{
    struct weights_json_from from = { r->model, LABEL ": model", r->fault };
    const char *text = "";
    enum status status = weights_json_text(&from, key, &text);
    *out = view_text(text);
    return status;
}

static enum status read_bpe(struct reader *r)
{
    struct weights_json_from from = { r->model, LABEL ": model", r->fault };
    struct tokenizer_steps *steps = r->steps;
    float dropout = 0;
    enum status status = weights_json_f32(&from, "dropout", &dropout);
    if (status == STATUS_OK && dropout != 0)
        return refuse_kind(r, "a BPE model with", "dropout");
    if (status == STATUS_OK)
        status = weights_json_bool(&from, "byte_fallback", &steps->falls_back_to_bytes);
    if (status == STATUS_OK)
        status = weights_json_bool(&from, "fuse_unk", &steps->fuses_unknown);
    if (status == STATUS_OK)
        status = weights_json_bool(&from, "ignore_merges", &steps->ignores_merges);
    if (status == STATUS_OK)
        status = read_affix(r, "continuing_subword_prefix", &steps->word_prefix);
    if (status == STATUS_OK)
        status = read_affix(r, "end_of_word_suffix", &steps->word_suffix);
    return status == STATUS_OK ? read_merges(r) : status;
}

static enum status read_word_piece(struct reader *r)
{
    struct weights_json_from from = { r->model, LABEL ": model", r->fault };
    int64_t n_letters = 100;
    enum status status =
        weights_json_i64(&from, "max_input_chars_per_word", 0, INT32_MAX, &n_letters);
    r->steps->word_letters_max = (int32_t)n_letters;
    return status == STATUS_OK ? read_affix(r, "continuing_subword_prefix", &r->steps->word_prefix)
                               : status;
}

static enum status read_model(struct reader *r)
{
    struct weights_json_from from = { r->model, LABEL ": model", r->fault };
    enum status status = read_unknown(r);
    if (status != STATUS_OK)
        return status;
    if (r->card->tokenizer == WEIGHTS_TOKENIZER_BPE)
        return read_bpe(r);
    if (r->card->tokenizer == WEIGHTS_TOKENIZER_WORDPIECE)
        return read_word_piece(r);
    return weights_json_bool(&from, "byte_fallback", &r->steps->falls_back_to_bytes);
}

static enum status read_kind(struct reader *r)
{
    static const struct {
        const char *name;
        enum weights_tokenizer_kind kind;
    } kinds[] = { { "BPE", WEIGHTS_TOKENIZER_BPE },
                  { "Unigram", WEIGHTS_TOKENIZER_UNIGRAM },
                  { "WordPiece", WEIGHTS_TOKENIZER_WORDPIECE } };
    struct weights_json_from from = { r->model, LABEL ": model", r->fault };
    const char *type = "BPE";
    if (r->model == NULL || r->model->kind != WEIGHTS_JSON_OBJECT)
        return refuse(r, "model is missing");
    enum status status = weights_json_text(&from, "type", &type);
    for (size_t i = 0; i < COUNT_OF(kinds) && status == STATUS_OK; i++)
        if (strcmp(type, kinds[i].name) == 0)
            r->card->tokenizer = kinds[i].kind;
    if (status == STATUS_OK && r->card->tokenizer == WEIGHTS_TOKENIZER_NONE)
        return refuse_kind(r, "the model", type);
    return status;
}

/* Warns of a setting. Transformers applies it only when a call demands it, and a server cuts no
 * prompts. */
static void warn_of(const struct reader *r, const char *key)
{
    if (weights_json_find(r->root, key) != NULL)
        log_line(LOG_WARN, "tokenizer", LABEL ": \"%s\" is not applied: texts stay whole", key);
}

enum status weights_tokenizer_json(const struct weights_tokenizer_source *source, struct pile *pile,
                                   struct weights_vocabulary *vocabulary, struct weights_card *card,
                                   struct fault *fault)
{
    struct reader r = { .source = source,
                        .root = source->root,
                        .model = weights_json_find(source->root, "model"),
                        .vocabulary = vocabulary,
                        .pile = pile,
                        .card = card,
                        .steps = pile_take(pile, sizeof(*r.steps)),
                        .fault = fault };
    const struct weights_json_node *version = weights_json_find(source->root, "version");
    if (version != NULL && !weights_json_is_text(version, "1.0"))
        return refuse_kind(&r, "the version",
                           version->kind == WEIGHTS_JSON_TEXT ? version->text : "");
    enum status status = read_kind(&r);
    if (status == STATUS_OK)
        status = read_tokens(&r);
    if (status == STATUS_OK)
        status = read_model(&r);
    if (status == STATUS_OK)
        status = weights_tokenizer_steps(source->root, pile, r.steps, fault);
    if (status == STATUS_OK)
        status = weights_tokenizer_ends(source->root, pile, r.steps, fault);
    if (status != STATUS_OK)
        return status;
    warn_of(&r, "truncation");
    warn_of(&r, "padding");
    card->steps = r.steps;
    card->add_bos = r.steps->n_before > 0;
    card->add_eos = r.steps->n_behind > 0;
    card->ignore_merges = r.steps->ignores_merges;
    weights_vocabulary_give(vocabulary, card);
    return STATUS_OK;
}
