/* Reads tokenizer descriptions for tests. It understands only the fields of the tests' files. */
#include "card.h"
#include "base/mem.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum {
    OWNED_TOKENS,
    OWNED_BYTES,
    OWNED_TYPES,
    OWNED_SCORES,
    OWNED_MERGES,
};

static bool flag_of(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static int32_t id_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? (int32_t)json_integer_value(value) : -1;
}

static void take_tables(struct card *card, int32_t n)
{
    size_t count = (size_t)n;
    const char **tokens = card->owned[OWNED_TOKENS] = mem_take(count * sizeof(char *));
    card->owned[OWNED_BYTES] = mem_take(count * sizeof(uint32_t));
    uint8_t *types = card->owned[OWNED_TYPES] = mem_take(count);
    float *scores = card->owned[OWNED_SCORES] = mem_take(count * sizeof(float));
    for (size_t i = 0; i < count; i++)
        tokens[i] = "";
    memset(types, 5, count);
    card->options.n_tokens = n;
    card->options.tokens = tokens;
    card->options.token_bytes = card->owned[OWNED_BYTES];
    card->options.types = types;
    card->options.scores = scores;
}

static void set_token(struct card *card, size_t id, const json_t *text, uint8_t type)
{
    ((const char **)card->owned[OWNED_TOKENS])[id] = json_string_value(text);
    ((uint32_t *)card->owned[OWNED_BYTES])[id] = (uint32_t)json_string_length(text);
    ((uint8_t *)card->owned[OWNED_TYPES])[id] = type;
}

static void read_merges(struct card *card, const json_t *list)
{
    size_t n = json_array_size(list);
    const char **merges = card->owned[OWNED_MERGES] = mem_take((n + 1) * sizeof(char *));
    for (size_t i = 0; i < n; i++)
        merges[i] = json_string_value(json_array_get(list, i));
    card->options.merges = merges;
    card->options.n_merges = (int32_t)n;
}

static void read_plain(struct card *card)
{
    const json_t *tokens = json_object_get(card->root, "tokens");
    const json_t *types = json_object_get(card->root, "types");
    const json_t *scores = json_object_get(card->root, "scores");
    take_tables(card, (int32_t)json_array_size(tokens));
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        json_int_t type = types != NULL ? json_integer_value(json_array_get(types, i)) : 1;
        set_token(card, i, json_array_get(tokens, i), (uint8_t)type);
        ((float *)card->owned[OWNED_SCORES])[i] =
            (float)json_number_value(json_array_get(scores, i));
    }
    struct tokenizer_options *options = &card->options;
    options->kind = strcmp(json_string_value(json_object_get(card->root, "kind")), "spm") == 0
                        ? TOKENIZER_SPM
                        : TOKENIZER_BPE;
    options->pre = json_string_value(json_object_get(card->root, "pre"));
    options->add_space_prefix = flag_of(card->root, "add_space_prefix");
    options->add_bos = flag_of(card->root, "add_bos");
    options->ignore_merges = flag_of(card->root, "ignore_merges");
    options->normalizes_nfc = flag_of(card->root, "normalizes_nfc");
    options->bos_id = id_of(card->root, "bos_id");
    options->eos_id = id_of(card->root, "eos_id");
    options->unknown_id = id_of(card->root, "unknown_id");
    read_merges(card, json_object_get(card->root, "merges"));
}

enum status card_open(struct card *card, const char *path, struct fault *fault)
{
    *card = (struct card){ 0 };
    json_error_t error;
    card->root = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (card->root == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s", path, error.text);
    if (!json_is_string(json_object_get(card->root, "kind")))
        return fault_set(fault, STATUS_BAD_INPUT, "%s has no kind", path);
    read_plain(card);
    return STATUS_OK;
}

void card_close(struct card *card)
{
    for (size_t i = 0; i < COUNT_OF(card->owned); i++)
        mem_give(card->owned[i]);
    json_decref(card->root);
}
