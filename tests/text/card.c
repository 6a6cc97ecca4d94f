/* Reading tokenizer descriptions for tests. Only what the tests' files hold is understood. */
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
    OWNED_PATTERN,
    OWNED_PAIRS,
    OWNED_STRIPS
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

static void set_token(struct card *card, json_int_t id, const json_t *text, const char *key,
                      uint8_t type)
{
    if (id < 0 || id >= card->options.n_tokens)
        return;
    ((const char **)card->owned[OWNED_TOKENS])[id] = text != NULL ? json_string_value(text) : key;
    ((uint32_t *)card->owned[OWNED_BYTES])[id] =
        (uint32_t)(text != NULL ? json_string_length(text) : strlen(key));
    ((uint8_t *)card->owned[OWNED_TYPES])[id] = type;
}

static void read_merges(struct card *card, const json_t *list)
{
    size_t n = json_array_size(list);
    const char **merges = card->owned[OWNED_MERGES] = mem_take((n + 1) * sizeof(char *));
    size_t n_bytes = 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        if (json_is_array(pair))
            n_bytes += json_string_length(json_array_get(pair, 0)) +
                       json_string_length(json_array_get(pair, 1)) + 2;
    }
    char *at = card->owned[OWNED_PAIRS] = mem_take(n_bytes);
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        merges[i] = json_string_value(pair);
        if (json_is_array(pair)) {
            merges[i] = at;
            at += 1 + snprintf(at, n_bytes, "%s %s", json_string_value(json_array_get(pair, 0)),
                               json_string_value(json_array_get(pair, 1)));
        }
    }
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
        set_token(card, (json_int_t)i, json_array_get(tokens, i), NULL, (uint8_t)type);
        ((float *)card->owned[OWNED_SCORES])[i] =
            (float)json_number_value(json_array_get(scores, i));
    }
    struct tokenizer_options *options = &card->options;
    options->kind = strcmp(json_string_value(json_object_get(card->root, "kind")), "spm") == 0
                        ? TOKENIZER_SPM
                        : TOKENIZER_BPE;
    options->pre = json_string_value(json_object_get(card->root, "pre"));
    options->pattern = json_string_value(json_object_get(card->root, "pattern"));
    options->add_space_prefix = flag_of(card->root, "add_space_prefix");
    options->add_bos = flag_of(card->root, "add_bos");
    options->ignore_merges = flag_of(card->root, "ignore_merges");
    options->normalizes_nfc = flag_of(card->root, "normalizes_nfc");
    options->bos_id = id_of(card->root, "bos_id");
    options->eos_id = id_of(card->root, "eos_id");
    options->unknown_id = id_of(card->root, "unknown_id");
    read_merges(card, json_object_get(card->root, "merges"));
}

/* The split patterns of a pre_tokenizer, U+001F between them. */
static void add_patterns(const json_t *pre, struct str *out)
{
    const char *type = json_string_value(json_object_get(pre, "type"));
    const json_t *inner = json_object_get(pre, "pretokenizers");
    for (size_t i = 0; i < json_array_size(inner); i++)
        add_patterns(json_array_get(inner, i), out);
    const char *pattern = NULL;
    if (type != NULL && strcmp(type, "Split") == 0)
        pattern = json_string_value(json_object_get(json_object_get(pre, "pattern"), "Regex"));
    else if (type != NULL && strcmp(type, "Digits") == 0)
        pattern = flag_of(pre, "individual_digits") ? "\\p{N}" : "\\p{N}+";
    else if (type != NULL && strcmp(type, "ByteLevel") == 0 &&
             !json_is_false(json_object_get(pre, "use_regex")))
        pattern =
            "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    if (pattern != NULL) {
        if (out->n > 0)
            str_add_char(out, '\x1F');
        str_add_text(out, pattern);
    }
}

static bool has_normalizer(const json_t *normalizer, const char *wanted)
{
    const char *type = json_string_value(json_object_get(normalizer, "type"));
    const json_t *inner = json_object_get(normalizer, "normalizers");
    for (size_t i = 0; i < json_array_size(inner); i++) {
        if (has_normalizer(json_array_get(inner, i), wanted))
            return true;
    }
    return type != NULL && strcmp(type, wanted) == 0;
}

/* A piece's score in a BPE made from merges: the merge that forms it, earlier is better. */
static void score_merges(struct card *card, const json_t *vocab)
{
    char text[1024];
    for (int32_t i = card->options.n_merges - 1; i >= 0; i--) {
        const char *merge = card->options.merges[i], *space = strchr(merge, ' ');
        if (space == NULL)
            continue;
        snprintf(text, sizeof(text), "%.*s%s", (int)(space - merge), merge, space + 1);
        const json_t *id = json_object_get(vocab, text);
        if (id != NULL)
            ((float *)card->owned[OWNED_SCORES])[json_integer_value(id)] = (float)-i;
    }
}

static void read_added(struct card *card)
{
    size_t i;
    const json_t *added;
    uint8_t *strips = mem_take((size_t)card->options.n_tokens);
    card->options.strips = card->owned[OWNED_STRIPS] = strips;
    json_array_foreach(json_object_get(card->root, "added_tokens"), i, added) {
        const json_t *text = json_object_get(added, "content");
        bool is_special = flag_of(added, "special");
        set_token(card, id_of(added, "id"), text, NULL, is_special ? 3 : 4);
        strips[id_of(added, "id")] =
            (uint8_t)((flag_of(added, "lstrip") ? TOKENIZER_STRIP_LEFT : 0) |
                      (flag_of(added, "rstrip") ? TOKENIZER_STRIP_RIGHT : 0));
    }
}

static void read_hf(struct card *card)
{
    const json_t *model = json_object_get(card->root, "model");
    json_t *vocab = json_object_get(model, "vocab");
    int32_t n = (int32_t)json_object_size(vocab);
    size_t i;
    const json_t *added;
    json_array_foreach(json_object_get(card->root, "added_tokens"), i, added)
        n = max_i32(n, id_of(added, "id") + 1);
    take_tables(card, n);
    struct tokenizer_options *options = &card->options;
    bool byte_fallback = flag_of(model, "byte_fallback");
    const json_t *normalizer = json_object_get(card->root, "normalizer");
    options->kind = byte_fallback ? TOKENIZER_SPM : TOKENIZER_BPE;
    const char *text;
    json_t *id;
    json_object_foreach(vocab, text, id) {
        bool is_byte = byte_fallback && strlen(text) == 6 && strncmp(text, "<0x", 3) == 0;
        set_token(card, json_integer_value(id), NULL, text, is_byte ? 6 : 1);
    }
    read_merges(card, json_object_get(model, "merges"));
    if (byte_fallback)
        score_merges(card, vocab);
    read_added(card);
    struct str pattern;
    str_init(&pattern);
    add_patterns(json_object_get(card->root, "pre_tokenizer"), &pattern);
    card->owned[OWNED_PATTERN] = pattern.at;
    options->pattern = pattern.at;
    options->ignore_merges = flag_of(model, "ignore_merges");
    options->normalizes_nfc = has_normalizer(normalizer, "NFC");
    options->add_space_prefix = has_normalizer(normalizer, "Prepend");
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    options->unknown_id = unknown != NULL ? id_of(vocab, unknown) : -1;
    options->bos_id = options->eos_id = -1;
}

enum status card_open(struct card *card, const char *path, struct fault *fault)
{
    *card = (struct card){ 0 };
    json_error_t error;
    card->root = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (card->root == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s", path, error.text);
    if (json_object_get(card->root, "kind") != NULL)
        read_plain(card);
    else
        read_hf(card);
    return STATUS_OK;
}

void card_close(struct card *card)
{
    for (size_t i = 0; i < COUNT_OF(card->owned); i++)
        mem_give(card->owned[i]);
    json_decref(card->root);
}
