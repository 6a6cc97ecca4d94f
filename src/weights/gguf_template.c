/* Chat templates from GGUF metadata: the default, and others by a name behind a dot. Special tokens
 * are ids there, but templates use transformers' names for them. */
#include "weights/gguf_template.h"
#include "weights/gguf_meta.h"
#include "weights/templates.h"
#include <string.h>

static const char default_key[] = "tokenizer.chat_template";

static enum status add(struct weights_gguf *gguf, struct weights_templates *templates,
                       const struct weights_gguf_value *value, struct fault *fault)
{
    size_t n_key = strlen(default_key);
    if (value->type != GGUF_TEXT)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %.*s is %s, expected a text", gguf->label,
                         (int)min_i64((int64_t)value->key.n, 80), value->key.at,
                         weights_gguf_meta_type(value->type));
    bool is_default = value->key.n == n_key;
    struct view name = is_default ? view_text("default")
                                  : view_of(value->key.at + n_key + 1, value->key.n - n_key - 1);
    return weights_templates_add(
        templates, name, view_of((const char *)value->at, (size_t)value->n), gguf->label, fault);
}

enum status weights_gguf_template(struct weights_gguf *gguf, struct weights_card *card,
                                  struct fault *fault)
{
    struct weights_templates templates;
    enum status status = STATUS_OK;
    size_t n_key = strlen(default_key);
    weights_templates_init(&templates, &gguf->pile);
    for (int32_t i = 0; i < gguf->n_values && status == STATUS_OK; i++) {
        const struct weights_gguf_value *value = &gguf->values[i];
        bool is_one =
            view_starts(value->key, default_key) &&
            (value->key.n == n_key || (value->key.n > n_key + 1 && value->key.at[n_key] == '.'));
        if (is_one)
            status = add(gguf, &templates, value, fault);
    }
    if (status == STATUS_OK)
        weights_templates_give(&templates, card);
    return status;
}

/* Adds the token's text. SentencePiece writes a space as U+2581. */
static void add_special(struct weights_specials *specials, const struct weights_card *card,
                        const char *name, int32_t id)
{
    static const char mark[] = "\xe2\x96\x81";
    struct str text;
    str_init(&text);
    struct view token = id < 0 || id >= card->n_tokens
                            ? view_of("", 0)
                            : view_of(card->tokens[id], card->token_bytes[id]);
    for (size_t i = 0; i < token.n; i++) {
        bool is_space = card->tokenizer == WEIGHTS_TOKENIZER_SPM &&
                        view_starts(view_of(token.at + i, token.n - i), mark);
        str_add_char(&text, is_space ? ' ' : token.at[i]);
        i += is_space ? 2 : 0;
    }
    if (utf8_is_valid(view_of(text.at == NULL ? "" : text.at, text.n)))
        weights_templates_specials_add(specials, name, view_of(text.at, text.n));
    str_free(&text);
}

enum status weights_gguf_template_specials(struct weights_gguf *gguf, struct weights_card *card,
                                           struct fault *fault)
{
    static const struct {
        const char *name, *key;
    } others[] = {
        { "sep_token", "tokenizer.ggml.seperator_token_id" }, /* the spelling of its writers */
        { "cls_token", "tokenizer.ggml.cls_token_id" },
        { "mask_token", "tokenizer.ggml.mask_token_id" },
    };
    struct weights_specials specials;
    enum status status = STATUS_OK;
    weights_templates_specials_init(&specials);
    add_special(&specials, card, "bos_token", card->bos_id);
    add_special(&specials, card, "eos_token", card->eos_id);
    add_special(&specials, card, "unk_token", card->unknown_id);
    add_special(&specials, card, "pad_token", card->pad_id);
    for (size_t i = 0; i < COUNT_OF(others) && status == STATUS_OK; i++) {
        int64_t id = -1;
        status = weights_gguf_meta_i64(gguf, others[i].key, -1, UINT32_MAX, &id, fault);
        if (status == STATUS_OK)
            add_special(&specials, card, others[i].name, id < card->n_tokens ? (int32_t)id : -1);
    }
    weights_templates_specials_give(&specials, &gguf->pile, card);
    return status;
}
