/* From GGUF metadata to a card: the keys that begin with "tokenizer.". */
#include "weights/gguf_card.h"
#include "base/hash.h"
#include "base/map.h"
#include "core/limits.h"
#include "core/tokenizer_pre.h"
#include "weights/card.h"
#include "weights/gguf_meta.h"
#include "weights/gguf_template.h"
#include <stdio.h>
#include <string.h>

/* Copies all texts of an array into two blocks: one of pointers, one of bytes. */
static const char *const *copy_texts(struct pile *pile, const struct weights_gguf_value *array,
                                     uint32_t *n_bytes)
{
    const char **texts = pile_take(pile, (size_t)array->n * sizeof(*texts));
    char *to = pile_take(pile, array->n_bytes); /* 8 bytes of length each: room for the zeros */
    size_t cursor = 0;
    for (uint64_t i = 0; i < array->n; i++) {
        struct view text = weights_gguf_meta_next_text(array, &cursor);
        if (text.n > 0)
            memcpy(to, text.at, text.n);
        texts[i] = to;
        if (n_bytes != NULL)
            n_bytes[i] = text.n < UINT32_MAX ? (uint32_t)text.n : UINT32_MAX;
        to += text.n + 1;
    }
    return (const char *const *)texts;
}

static enum status check_count(const struct weights_gguf *gguf, const char *key, uint64_t n,
                               int64_t expected, struct fault *fault)
{
    if (n == (uint64_t)expected)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT, "%s: %s has %llu elements for %lld tokens",
                     gguf->label, key, (unsigned long long)n, (long long)expected);
}

static enum status read_types(struct weights_gguf *gguf, struct weights_card *card,
                              struct fault *fault)
{
    const struct weights_gguf_value *array;
    const char *key = "tokenizer.ggml.token_type";
    uint8_t *types = pile_take(&gguf->pile, (size_t)card->n_tokens);
    memset(types, TOKEN_NORMAL, (size_t)card->n_tokens);
    card->types = types;
    enum status status = weights_gguf_meta_array(gguf, key, GGUF_I32, &array, fault);
    if (status != STATUS_OK || array == NULL)
        return status;
    status = check_count(gguf, key, array->n, card->n_tokens, fault);
    for (int32_t i = 0; status == STATUS_OK && i < card->n_tokens; i++) {
        uint32_t type;
        memcpy(&type, array->at + 4 * (size_t)i, sizeof(type));
        types[i] = type == 0 ? TOKEN_NORMAL : type < UINT8_MAX ? (uint8_t)type : UINT8_MAX;
    }
    return status;
}

static enum status read_scores(struct weights_gguf *gguf, struct weights_card *card,
                               struct fault *fault)
{
    const struct weights_gguf_value *array;
    const char *key = "tokenizer.ggml.scores";
    enum status status = weights_gguf_meta_array(gguf, key, GGUF_F32, &array, fault);
    if (status != STATUS_OK || card->tokenizer != WEIGHTS_TOKENIZER_SPM)
        return status;
    float *scores = pile_take(&gguf->pile, (size_t)card->n_tokens * sizeof(*scores));
    card->scores = scores;
    if (array == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s is missing", gguf->label, key);
    status = check_count(gguf, key, array->n, card->n_tokens, fault);
    if (status == STATUS_OK)
        memcpy(scores, array->at, (size_t)card->n_tokens * sizeof(*scores));
    return status;
}

static enum status read_merges(struct weights_gguf *gguf, struct weights_card *card,
                               struct fault *fault)
{
    const struct weights_gguf_value *array;
    const char *key = "tokenizer.ggml.merges";
    enum status status = weights_gguf_meta_array(gguf, key, GGUF_TEXT, &array, fault);
    if (status != STATUS_OK || card->tokenizer != WEIGHTS_TOKENIZER_BPE)
        return status;
    if (array == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s is missing", gguf->label, key);
    if (array->n > CARD_MERGES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "%s: %llu merges, the limit is %d", gguf->label,
                         (unsigned long long)array->n, CARD_MERGES_MAX);
    card->merges = copy_texts(&gguf->pile, array, NULL);
    card->n_merges = (int32_t)array->n;
    return STATUS_OK;
}

static enum status read_tokens(struct weights_gguf *gguf, int32_t n_vocabulary,
                               struct weights_card *card, struct fault *fault)
{
    const struct weights_gguf_value *array;
    const char *key = "tokenizer.ggml.tokens";
    enum status status = weights_gguf_meta_array(gguf, key, GGUF_TEXT, &array, fault);
    if (status != STATUS_OK)
        return status;
    uint64_t n_max = n_vocabulary > 0 ? (uint64_t)n_vocabulary : (uint64_t)LIMIT_VOCABULARY;
    if (array == NULL || array->n == 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s is missing", gguf->label, key);
    if (array->n > n_max)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: %s has %llu tokens, the embedding has room for %llu", gguf->label,
                         key, (unsigned long long)array->n, (unsigned long long)n_max);
    uint32_t *n_bytes = pile_take(&gguf->pile, (size_t)array->n * sizeof(*n_bytes));
    card->tokens = copy_texts(&gguf->pile, array, n_bytes);
    card->token_bytes = n_bytes;
    card->n_tokens = (int32_t)array->n;
    return STATUS_OK;
}

/* Reads an id of a special token. -1 and its unsigned form mean none. */
static enum status read_id(const struct weights_gguf *gguf, const struct weights_card *card,
                           const char *name, int32_t *out, struct fault *fault)
{
    char key[64];
    int64_t id = *out;
    snprintf(key, sizeof(key), "tokenizer.ggml.%s_token_id", name);
    enum status status = weights_gguf_meta_i64(gguf, key, -1, UINT32_MAX, &id, fault);
    if (status != STATUS_OK)
        return status;
    *out = -1;
    if (id == -1 || id == UINT32_MAX)
        return STATUS_OK;
    if (id >= card->n_tokens)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s is %lld, there are %d tokens",
                         gguf->label, key, (long long)id, card->n_tokens);
    *out = (int32_t)id;
    return STATUS_OK;
}

static enum status read_ids(struct weights_gguf *gguf, struct weights_card *card,
                            struct fault *fault)
{
    int32_t eot = -1, eom = -1;
    if (card->tokenizer == WEIGHTS_TOKENIZER_SPM && card->n_tokens > 2) { /* SentencePiece's own */
        bool is_t5 = card->sentence.is_unigram;
        card->unknown_id = is_t5 ? 2 : 0;
        card->bos_id = is_t5 ? -1 : 1;
        card->eos_id = is_t5 ? 1 : 2;
    }
    const struct {
        const char *name;
        int32_t *id;
    } rows[] = {
        { "bos", &card->bos_id },     { "eos", &card->eos_id }, { "unknown", &card->unknown_id },
        { "padding", &card->pad_id }, { "eot", &eot },          { "eom", &eom }
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_id(gguf, card, rows[i].name, rows[i].id, fault);
        if (status != STATUS_OK)
            return status;
    }
    weights_card_add_eog(card, card->eos_id);
    weights_card_add_eog(card, eot);
    weights_card_add_eog(card, eom);
    weights_card_add_known_eog(card);
    return STATUS_OK;
}

/* Reads the name of the split pattern. Files of GPT-2's architecture are older than that name. */
static enum status read_pre(const struct weights_gguf *gguf, struct weights_card *card,
                            struct fault *fault)
{
    struct view pre = view_text(""), architecture = view_text("");
    enum status status = weights_gguf_meta_text(gguf, "tokenizer.ggml.pre", &pre, fault);
    if (status == STATUS_OK)
        status = weights_gguf_meta_text(gguf, "general.architecture", &architecture, fault);
    if (status != STATUS_OK || card->tokenizer != WEIGHTS_TOKENIZER_BPE)
        return status;
    bool is_unsaid = pre.n == 0 || view_equal_text(pre, "default");
    if (is_unsaid &&
        (view_equal_text(architecture, "gpt2") || view_equal_text(architecture, "opt")))
        pre = view_text("gpt-2");
    else if (is_unsaid)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: tokenizer.ggml.pre does not say how the vocabulary cuts texts into "
                         "words: convert the model again",
                         gguf->label);
    size_t n_shown = pre.n < sizeof(card->pre) ? pre.n : sizeof(card->pre) - 1;
    snprintf(card->pre, sizeof(card->pre), "%.*s", (int)n_shown, pre.at);
    const struct tokenizer_pre *row = tokenizer_pre_find(card->pre);
    if (row == NULL || strlen(card->pre) != pre.n)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: tokenizer.ggml.pre \"%s\" is not supported", gguf->label, card->pre);
    card->add_bos = row->adds_bos;
    card->ignore_merges = row->ignores_merges;
    card->normalizes_nfc = row->normalizes_nfc;
    return STATUS_OK;
}

/* Reads the character map of SentencePiece's normalizer. */
static enum status read_charsmap(struct weights_gguf *gguf, struct weights_card *card,
                                 struct fault *fault)
{
    const struct weights_gguf_value *array;
    const char *key = "tokenizer.ggml.precompiled_charsmap";
    enum status status = weights_gguf_meta_array(gguf, key, GGUF_U8, &array, fault);
    if (status != STATUS_OK)
        status = weights_gguf_meta_array(gguf, key, GGUF_I8, &array, fault);
    if (status == STATUS_OK && array != NULL && array->n > 0)
        card->sentence.charsmap = view_of(
            pile_text(&gguf->pile, (const char *)array->at, (size_t)array->n), (size_t)array->n);
    return status;
}

/* Reads the flags: the kind of tokenizer implies them, and the file may change them. */
static enum status read_flags(struct weights_gguf *gguf, struct weights_card *card,
                              struct fault *fault)
{
    bool is_spm = card->tokenizer == WEIGHTS_TOKENIZER_SPM, adds_sep = false;
    struct tokenizer_sentence *sentence = &card->sentence;
    enum status status = read_pre(gguf, card, fault);
    if (status == STATUS_OK && is_spm)
        status = read_charsmap(gguf, card, fault);
    if (is_spm) {
        card->add_bos = !sentence->is_unigram;
        card->add_eos = sentence->is_unigram;
        card->add_space_prefix = true;
        card->has_sentence = sentence->cuts_at_user = true;
    }
    const struct {
        const char *key;
        bool *out;
    } rows[] = { { "tokenizer.ggml.add_bos_token", &card->add_bos },
                 { "tokenizer.ggml.add_eos_token", &card->add_eos },
                 { "tokenizer.ggml.add_sep_token", &adds_sep },
                 { "tokenizer.ggml.add_space_prefix", &card->add_space_prefix },
                 { "tokenizer.ggml.remove_extra_whitespaces", &sentence->removes_spaces } };
    for (size_t i = 0; i < COUNT_OF(rows) && status == STATUS_OK; i++)
        status = weights_gguf_meta_bool(gguf, rows[i].key, rows[i].out, fault);
    if (status == STATUS_OK && adds_sep)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: tokenizer.ggml.add_sep_token is true: separators are not supported",
                         gguf->label);
    sentence->adds_prefix = card->add_space_prefix;
    return status;
}

/* Refuses two tokens with one text, because it is unknown which one is meant. */
static enum status check_twins(const struct weights_gguf *gguf, const struct weights_card *card,
                               struct fault *fault)
{
    struct map seen;
    enum status status = STATUS_OK;
    map_init(&seen, (uint32_t)card->n_tokens);
    for (int32_t id = 0; id < card->n_tokens && status == STATUS_OK; id++) {
        struct view text = view_of(card->tokens[id], card->token_bytes[id]);
        uint64_t key = hash_fast(text.at, text.n, 0).low;
        uint32_t twin = map_find(&seen, key);
        if (text.n == 0)
            continue;
        if (twin != MAP_NONE)
            status = fault_set(fault, STATUS_BAD_INPUT,
                               "%s: tokens %u and %d of tokenizer.ggml.tokens are the same text",
                               gguf->label, twin, id);
        else
            CHECK(map_put(&seen, key, (uint32_t)id));
    }
    map_free(&seen);
    return status;
}

/* A letter without a piece becomes its bytes if there are byte tokens. */
static void settle_fallback(struct weights_card *card)
{
    for (int32_t id = 0; id < card->n_tokens; id++)
        if (card->types[id] == TOKEN_BYTE)
            card->sentence.falls_back = true;
}

static enum status check_ends(const struct weights_gguf *gguf, const struct weights_card *card,
                              struct fault *fault)
{
    const char *missing = card->add_bos && card->bos_id < 0   ? "bos"
                          : card->add_eos && card->eos_id < 0 ? "eos"
                                                              : NULL;
    if (missing == NULL)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%s: every text gets a %s token, but tokenizer.ggml.%s_token_id is missing",
                     gguf->label, missing, missing);
}

static enum status read_texts(struct weights_gguf *gguf, struct weights_card *card,
                              struct fault *fault)
{
    struct view name = view_text("");
    enum status status = weights_gguf_meta_text(gguf, "general.name", &name, fault);
    if (status == STATUS_OK)
        status = weights_gguf_template(gguf, card, fault);
    if (status != STATUS_OK)
        return status;
    if (utf8_is_valid(name) && name.n < sizeof(card->name))
        snprintf(card->name, sizeof(card->name), "%.*s", (int)name.n, name.at);
    return STATUS_OK;
}

/* Phi-3's special tokens swallow the white space behind them, except these. Files do not record
 * it. */
static enum status read_strips(struct weights_gguf *gguf, struct weights_card *card,
                               struct fault *fault)
{
    static const char *const others[] = { "<unk>", "<s>", "<|endoftext|>" };
    struct view architecture = view_text("");
    enum status status = weights_gguf_meta_text(gguf, "general.architecture", &architecture, fault);
    if (status != STATUS_OK || card->tokenizer != WEIGHTS_TOKENIZER_SPM ||
        !view_equal_text(architecture, "phi3"))
        return status;
    uint8_t *strips = pile_take(&gguf->pile, (size_t)card->n_tokens);
    for (int32_t i = 0; i < card->n_tokens; i++) {
        bool strips_right = card->types[i] == TOKEN_CONTROL || card->types[i] == TOKEN_USER;
        for (size_t k = 0; k < COUNT_OF(others) && strips_right; k++)
            strips_right = strcmp(card->tokens[i], others[k]) != 0;
        strips[i] = strips_right ? STRIP_RIGHT : 0;
    }
    card->strips = strips;
    return STATUS_OK;
}

static enum status read_kind(const struct weights_gguf *gguf, struct weights_card *card,
                             struct fault *fault)
{
    struct view model = view_text("none");
    enum status status = weights_gguf_meta_text(gguf, "tokenizer.ggml.model", &model, fault);
    if (status != STATUS_OK)
        return status;
    if (view_equal_text(model, "llama") || view_equal_text(model, "t5"))
        card->tokenizer = WEIGHTS_TOKENIZER_SPM;
    else if (view_equal_text(model, "gpt2"))
        card->tokenizer = WEIGHTS_TOKENIZER_BPE;
    else if (!view_equal_text(model, "none") && !view_equal_text(model, "no_vocab"))
        return fault_set(fault, STATUS_UNSUPPORTED, "%s: the tokenizer \"%.*s\" is not supported",
                         gguf->label, (int)(model.n < 32 ? model.n : 32), model.at);
    card->sentence.is_unigram = view_equal_text(model, "t5");
    return STATUS_OK;
}

enum status weights_gguf_card(struct weights_gguf *gguf, int32_t n_vocabulary,
                              struct weights_card *card, struct fault *fault)
{
    enum status (*const steps[])(struct weights_gguf *, struct weights_card *,
                                 struct fault *) = { read_types,  read_strips, read_scores,
                                                     read_merges, read_flags,  read_ids };
    weights_card_init(card);
    enum status status = read_texts(gguf, card, fault);
    if (status == STATUS_OK)
        status = read_kind(gguf, card, fault);
    bool has_tokenizer = card->tokenizer != WEIGHTS_TOKENIZER_NONE;
    if (status == STATUS_OK && has_tokenizer)
        status = read_tokens(gguf, n_vocabulary, card, fault);
    for (size_t i = 0; i < COUNT_OF(steps) && status == STATUS_OK && has_tokenizer; i++)
        status = steps[i](gguf, card, fault);
    if (status == STATUS_OK)
        status = weights_gguf_template_specials(gguf, card, fault);
    if (status == STATUS_OK)
        status = weights_card_check(card, gguf->label, fault);
    if (status != STATUS_OK || !has_tokenizer)
        return status;
    settle_fallback(card);
    status = check_ends(gguf, card, fault);
    return status != STATUS_OK ? status : check_twins(gguf, card, fault);
}
