/* From tokenizer.json to a card: model.vocab and merges, added tokens, normalizer, splitting.
 *
 * A model with byte_fallback is SentencePiece's BPE rewritten: its normalizer puts U+2581 for
 * spaces. Our tokenizer for it merges the pair whose whole has the best score, the leftmost first,
 * where this file orders pairs by rank. So the token that the merge of rank r makes gets score -r
 * (the best rank, when several pairs make it): ranks come from sorted scores, so the order is the
 * same. A token of several characters that no merge makes can't come from text and is marked
 * unused. What would change the tokens in a way we don't do is refused by name. */
#include "weights/tokenizer_json.h"
#include "core/limits.h"
#include <stdio.h>
#include <string.h>

#define LABEL "tokenizer.json"

struct reader {
    const struct weights_json_node *root, *model;
    struct weights_vocabulary *vocabulary;
    struct pile *pile;
    struct weights_card *card;
    struct fault *fault;
    bool is_split; /* a pre-tokenizer step splits words already */
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

/* The "type" of a step; "" when it has none. */
static const char *type_of(const struct weights_json_node *step)
{
    const struct weights_json_node *type = weights_json_find(step, "type");
    return type != NULL && type->kind == WEIGHTS_JSON_TEXT ? type->text : "";
}

static struct view text_of(const struct weights_json_node *value)
{
    return view_of(value->text, value->n);
}

static struct view key_of(const struct weights_json_node *value)
{
    return view_of(value->key, value->key_bytes);
}

/* Sees the ids of vocabulary and added tokens; the table may have holes, but not be mostly holes.
 */
static enum status count_tokens(const struct reader *r, const struct weights_json_node *vocab,
                                const struct weights_json_node *added, int32_t *n)
{
    int64_t id, id_max = -1;
    const struct weights_json_node *value = vocab + 1;
    for (uint32_t i = 0; i < vocab->n; i++, value = weights_json_next(value)) {
        if (value->kind != WEIGHTS_JSON_INTEGER || !weights_json_to_i64(value, &id) || id < 0)
            return refuse(r, "an id in model.vocab isn't an integer from 0");
        id_max = max_i64(id_max, id);
    }
    uint32_t n_added = added != NULL ? added->n : 0;
    value = added != NULL ? added + 1 : NULL;
    for (uint32_t i = 0; i < n_added; i++, value = weights_json_next(value)) {
        const struct weights_json_node *at = weights_json_find(value, "id");
        const struct weights_json_node *content = weights_json_find(value, "content");
        if (at == NULL || content == NULL || content->kind != WEIGHTS_JSON_TEXT ||
            !weights_json_to_i64(at, &id) || id < 0)
            return refuse(r, "an element of added_tokens has no id from 0 or no content");
        id_max = max_i64(id_max, id);
    }
    int64_t n_max = min_i64(LIMIT_VOCABULARY, 2 * ((int64_t)vocab->n + n_added) + 4096);
    if (id_max < 0 || id_max >= n_max)
        return fault_set(r->fault, STATUS_BAD_INPUT,
                         LABEL ": model.vocab has ids up to %lld for %u tokens", (long long)id_max,
                         vocab->n);
    *n = (int32_t)(id_max + 1);
    return STATUS_OK;
}

static bool is_byte_token(struct view text)
{
    return text.n == 6 && memcmp(text.at, "<0x", 3) == 0 && text.at[5] == '>' &&
           strspn(text.at + 3, "0123456789abcdefABCDEF") == 2;
}

static uint8_t strips_of(const struct weights_json_node *added)
{
    const struct weights_json_node *left = weights_json_find(added, "lstrip");
    const struct weights_json_node *right = weights_json_find(added, "rstrip");
    bool is_left = left != NULL && left->kind == WEIGHTS_JSON_TRUE;
    bool is_right = right != NULL && right->kind == WEIGHTS_JSON_TRUE;
    return (uint8_t)((is_left ? STRIP_LEFT : 0) | (is_right ? STRIP_RIGHT : 0));
}

static enum status read_tokens(struct reader *r)
{
    const struct weights_json_node *vocab = weights_json_find(r->model, "vocab");
    const struct weights_json_node *added = weights_json_find(r->root, "added_tokens");
    const char *unknown = NULL;
    struct weights_json_from from = { r->model, LABEL ": model", r->fault };
    bool is_spm = r->card->tokenizer == WEIGHTS_TOKENIZER_SPM;
    int32_t n = 0;
    if (vocab == NULL || vocab->kind != WEIGHTS_JSON_OBJECT ||
        (added != NULL && added->kind != WEIGHTS_JSON_ARRAY))
        return refuse(r, "model.vocab isn't an object or added_tokens not an array");
    enum status status = count_tokens(r, vocab, added, &n);
    if (status == STATUS_OK)
        status = weights_json_text(&from, "unk_token", &unknown);
    if (status != STATUS_OK)
        return status;
    weights_vocabulary_init(r->vocabulary, r->pile, n);
    const struct weights_json_node *value = vocab + 1;
    int64_t id = 0;
    for (uint32_t i = 0; i < vocab->n; i++, value = weights_json_next(value)) {
        CHECK(weights_json_to_i64(value, &id));
        struct view text = key_of(value);
        weights_vocabulary_set(r->vocabulary, (int32_t)id, text,
                               is_spm && is_byte_token(text) ? TOKEN_BYTE : TOKEN_NORMAL);
    }
    uint32_t n_added = added != NULL ? added->n : 0;
    uint8_t *strips = pile_take(r->pile, (size_t)n);
    value = added != NULL ? added + 1 : NULL;
    for (uint32_t i = 0; i < n_added; i++, value = weights_json_next(value)) {
        const struct weights_json_node *special = weights_json_find(value, "special");
        CHECK(weights_json_to_i64(weights_json_find(value, "id"), &id));
        weights_vocabulary_set(
            r->vocabulary, (int32_t)id, text_of(weights_json_find(value, "content")),
            special != NULL && special->kind == WEIGHTS_JSON_TRUE ? TOKEN_CONTROL : TOKEN_USER);
        strips[id] = strips_of(value);
        r->card->strips = strips[id] != 0 ? strips : r->card->strips;
    }
    if (unknown != NULL)
        r->card->unknown_id = weights_vocabulary_find(r->vocabulary, view_text(unknown));
    if (r->card->unknown_id >= 0)
        r->vocabulary->types[r->card->unknown_id] = TOKEN_UNKNOWN;
    return STATUS_OK;
}

/* A merge is "left right" or ["left", "right"]; either becomes the former. */
static enum status read_merge(const struct reader *r, const struct weights_json_node *merge,
                              const char **out)
{
    if (merge->kind == WEIGHTS_JSON_TEXT) {
        *out = merge->text;
        return STATUS_OK;
    }
    if (merge->kind != WEIGHTS_JSON_ARRAY || merge->n != 2 || merge[1].kind != WEIGHTS_JSON_TEXT ||
        merge[2].kind != WEIGHTS_JSON_TEXT)
        return refuse(r, "an element of model.merges isn't two texts");
    if (memchr(merge[1].text, ' ', merge[1].n) != NULL ||
        memchr(merge[2].text, ' ', merge[2].n) != NULL)
        return refuse_kind(r, "a merge with a space inside:", merge[1].text);
    char *text = pile_take(r->pile, (size_t)merge[1].n + merge[2].n + 2);
    memcpy(text, merge[1].text, merge[1].n);
    text[merge[1].n] = ' ';
    memcpy(text + merge[1].n + 1, merge[2].text, merge[2].n);
    *out = text;
    return STATUS_OK;
}

static enum status read_merges(struct reader *r)
{
    const struct weights_json_node *merges = weights_json_find(r->model, "merges");
    if (merges == NULL || merges->kind != WEIGHTS_JSON_ARRAY)
        return refuse(r, "model.merges isn't an array");
    if (merges->n > CARD_MERGES_MAX)
        return refuse(r, "model.merges is too long");
    const char **texts = pile_take(r->pile, (size_t)merges->n * sizeof(*texts));
    const struct weights_json_node *merge = merges + 1;
    for (uint32_t i = 0; i < merges->n; i++, merge = weights_json_next(merge)) {
        enum status status = read_merge(r, merge, &texts[i]);
        if (status != STATUS_OK)
            return status;
    }
    r->card->merges = texts;
    r->card->n_merges = (int32_t)merges->n;
    return STATUS_OK;
}

static void mark_unmade(struct weights_vocabulary *vocabulary, const bool *is_made, float worst)
{
    for (int32_t id = 0; id < vocabulary->n; id++) {
        if (is_made[id])
            continue;
        vocabulary->scores[id] = worst;
        struct view text = view_of(vocabulary->tokens[id], vocabulary->token_bytes[id]);
        int n = utf8_decode(text, NULL);
        if (vocabulary->types[id] == TOKEN_NORMAL && (n <= 0 || (size_t)n != text.n))
            vocabulary->types[id] = TOKEN_UNUSED;
    }
}

/* Scores from ranks, see the head of this file. */
static enum status score_merges(struct reader *r)
{
    struct weights_vocabulary *vocabulary = r->vocabulary;
    bool *is_made = pile_take(r->pile, (size_t)vocabulary->n);
    struct str whole;
    str_init(&whole);
    for (int32_t rank = 0; rank < r->card->n_merges; rank++) {
        const char *merge = r->card->merges[rank];
        const char *space = merge[0] != '\0' ? strchr(merge + 1, ' ') : NULL;
        if (space == NULL)
            continue; /* weights_card_check refuses it */
        str_clear(&whole);
        str_add(&whole, merge, (size_t)(space - merge));
        str_add_text(&whole, space + 1);
        int32_t id = weights_vocabulary_find(vocabulary, view_of(whole.at, whole.n));
        if (id < 0 || is_made[id])
            continue;
        is_made[id] = true;
        vocabulary->scores[id] = -(float)rank;
    }
    str_free(&whole);
    mark_unmade(vocabulary, is_made, -(float)r->card->n_merges);
    return STATUS_OK;
}

/* Calls step for a single step or for each of a Sequence's. */
static enum status each_step(struct reader *r, const char *key, const char *list,
                             enum status (*step)(struct reader *, const struct weights_json_node *))
{
    const struct weights_json_node *value = weights_json_find(r->root, key);
    if (value == NULL)
        return STATUS_OK;
    if (value->kind != WEIGHTS_JSON_OBJECT)
        return fault_set(r->fault, STATUS_BAD_INPUT, LABEL ": %s isn't an object", key);
    if (strcmp(type_of(value), "Sequence") != 0)
        return step(r, value);
    const struct weights_json_node *steps = weights_json_find(value, list);
    if (steps == NULL || steps->kind != WEIGHTS_JSON_ARRAY)
        return fault_set(r->fault, STATUS_BAD_INPUT, LABEL ": %s.%s isn't an array", key, list);
    const struct weights_json_node *inner = steps + 1;
    for (uint32_t i = 0; i < steps->n; i++, inner = weights_json_next(inner)) {
        enum status status = step(r, inner);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_normalizer(struct reader *r, const struct weights_json_node *step)
{
    const char *type = type_of(step);
    bool is_spm = r->card->tokenizer == WEIGHTS_TOKENIZER_SPM;
    if (strcmp(type, "NFC") == 0) {
        r->card->normalizes_nfc = true;
        return STATUS_OK;
    }
    if (is_spm && strcmp(type, "Prepend") == 0) {
        r->card->add_space_prefix = true;
        return STATUS_OK;
    }
    const struct weights_json_node *pattern = weights_json_find(step, "pattern");
    if (is_spm && strcmp(type, "Replace") == 0 &&
        weights_json_is_text(weights_json_find(pattern, "String"), " ") &&
        weights_json_is_text(weights_json_find(step, "content"), "\xe2\x96\x81"))
        return STATUS_OK;
    return refuse_kind(r, "the normalizer", type);
}

static enum status read_split(struct reader *r, const struct weights_json_node *step)
{
    const struct weights_json_node *pattern = weights_json_find(step, "pattern");
    const struct weights_json_node *regex = weights_json_find(pattern, "Regex");
    const struct weights_json_node *behavior = weights_json_find(step, "behavior");
    bool is_inverted = false;
    struct weights_json_from from = { step, LABEL ": pre_tokenizer", r->fault };
    enum status status = weights_json_bool(&from, "invert", &is_inverted);
    if (status != STATUS_OK)
        return status;
    if (r->card->tokenizer == WEIGHTS_TOKENIZER_SPM &&
        weights_json_is_text(weights_json_find(pattern, "String"), " "))
        return STATUS_OK; /* no space is left after the normalizer */
    if (regex == NULL || regex->kind != WEIGHTS_JSON_TEXT || r->is_split)
        return refuse_kind(r, "the pre_tokenizer", r->is_split ? "a second Split" : "Split");
    bool is_isolated = weights_json_is_text(behavior, "Isolated") && !is_inverted;
    if (!is_isolated && !(weights_json_is_text(behavior, "Removed") && is_inverted))
        return refuse_kind(r, "the pre_tokenizer Split's behavior",
                           behavior != NULL && behavior->kind == WEIGHTS_JSON_TEXT ? behavior->text
                                                                                   : "");
    r->card->pattern = regex->text;
    r->is_split = true;
    return STATUS_OK;
}

static enum status read_byte_level(struct reader *r, const struct weights_json_node *step)
{
    bool uses_regex = true, adds_space = false;
    struct weights_json_from from = { step, LABEL ": pre_tokenizer", r->fault };
    enum status status = weights_json_bool(&from, "use_regex", &uses_regex);
    if (status == STATUS_OK)
        status = weights_json_bool(&from, "add_prefix_space", &adds_space);
    if (status != STATUS_OK)
        return status;
    if (uses_regex && r->is_split)
        return refuse_kind(r, "the pre_tokenizer", "ByteLevel with use_regex after Split");
    if (uses_regex)
        snprintf(r->card->pre, sizeof(r->card->pre), "gpt-2");
    r->card->add_space_prefix = adds_space;
    r->is_split = r->is_split || uses_regex;
    return STATUS_OK;
}

static enum status read_pre_tokenizer(struct reader *r, const struct weights_json_node *step)
{
    const char *type = type_of(step);
    bool is_spm = r->card->tokenizer == WEIGHTS_TOKENIZER_SPM;
    if (strcmp(type, "Split") == 0)
        return read_split(r, step);
    if (!is_spm && strcmp(type, "ByteLevel") == 0)
        return read_byte_level(r, step);
    if (!is_spm || strcmp(type, "Metaspace") != 0)
        return refuse_kind(r, "the pre_tokenizer", type);
    const struct weights_json_node *scheme = weights_json_find(step, "prepend_scheme");
    const struct weights_json_node *adds = weights_json_find(step, "add_prefix_space");
    r->card->add_space_prefix = scheme != NULL ? !weights_json_is_text(scheme, "never")
                                               : adds == NULL || adds->kind == WEIGHTS_JSON_TRUE;
    return STATUS_OK;
}

/* TemplateProcessing: special tokens before and after the one sequence. */
static enum status read_template(struct reader *r, const struct weights_json_node *step)
{
    if (strcmp(type_of(step), "TemplateProcessing") != 0)
        return STATUS_OK;
    const struct weights_json_node *single = weights_json_find(step, "single");
    if (single == NULL || single->kind != WEIGHTS_JSON_ARRAY)
        return refuse(r, "post_processor.single isn't an array");
    bool is_behind = false;
    const struct weights_json_node *item = single + 1;
    for (uint32_t i = 0; i < single->n; i++, item = weights_json_next(item)) {
        const struct weights_json_node *special = weights_json_find(item, "SpecialToken");
        const struct weights_json_node *id = weights_json_find(special, "id");
        if (special == NULL) {
            is_behind = true;
            continue;
        }
        int32_t token = id != NULL && id->kind == WEIGHTS_JSON_TEXT
                            ? weights_vocabulary_find(r->vocabulary, text_of(id))
                            : -1;
        bool is_second = is_behind ? r->card->add_eos : r->card->add_bos;
        if (token < 0 || is_second)
            return refuse(r, "post_processor.single asks for tokens that we can't add");
        *(is_behind ? &r->card->add_eos : &r->card->add_bos) = true;
        *(is_behind ? &r->card->eos_id : &r->card->bos_id) = token;
    }
    return STATUS_OK;
}

static enum status read_kind(struct reader *r)
{
    struct weights_json_from from = { r->model, LABEL ": model", r->fault };
    const char *type = "BPE", *prefix = "", *suffix = "";
    bool falls_back = false;
    if (r->model == NULL || r->model->kind != WEIGHTS_JSON_OBJECT)
        return refuse(r, "model is missing");
    enum status status = weights_json_text(&from, "type", &type);
    if (status == STATUS_OK && strcmp(type, "BPE") != 0)
        return refuse_kind(r, "the model", type);
    if (status == STATUS_OK)
        status = weights_json_bool(&from, "byte_fallback", &falls_back);
    if (status == STATUS_OK)
        status = weights_json_bool(&from, "ignore_merges", &r->card->ignore_merges);
    if (status == STATUS_OK)
        status = weights_json_text(&from, "continuing_subword_prefix", &prefix);
    if (status == STATUS_OK)
        status = weights_json_text(&from, "end_of_word_suffix", &suffix);
    if (status != STATUS_OK)
        return status;
    if (prefix[0] != '\0' || suffix[0] != '\0')
        return refuse_kind(r, "a prefix or suffix of words", prefix[0] != '\0' ? prefix : suffix);
    r->card->tokenizer = falls_back ? WEIGHTS_TOKENIZER_SPM : WEIGHTS_TOKENIZER_BPE;
    return STATUS_OK;
}

static enum status has_splitter(struct reader *r)
{
    if (r->card->tokenizer == WEIGHTS_TOKENIZER_SPM || r->is_split)
        return STATUS_OK;
    return refuse_kind(r, "a byte-level BPE without", "ByteLevel or Split");
}

enum status weights_tokenizer_json(const struct weights_json_node *root, struct pile *pile,
                                   struct weights_vocabulary *vocabulary, struct weights_card *card,
                                   bool *says_specials, struct fault *fault)
{
    struct reader r = { .root = root,
                        .model = weights_json_find(root, "model"),
                        .vocabulary = vocabulary,
                        .pile = pile,
                        .card = card,
                        .fault = fault };
    enum status status = read_kind(&r);
    if (status == STATUS_OK)
        status = read_tokens(&r);
    if (status == STATUS_OK)
        status = read_merges(&r);
    if (status == STATUS_OK && card->tokenizer == WEIGHTS_TOKENIZER_SPM)
        status = score_merges(&r);
    if (status == STATUS_OK)
        status = each_step(&r, "normalizer", "normalizers", read_normalizer);
    if (status == STATUS_OK)
        status = each_step(&r, "pre_tokenizer", "pretokenizers", read_pre_tokenizer);
    if (status == STATUS_OK)
        status = has_splitter(&r);
    if (status == STATUS_OK)
        status = each_step(&r, "post_processor", "processors", read_template);
    *says_specials = card->add_bos || card->add_eos;
    if (status == STATUS_OK)
        weights_vocabulary_give(vocabulary, card);
    return status;
}
