/* From the files of a Hugging Face directory to a card.
 *
 * Tokens come from tokenizer.json, else from tokenizer.model, else from vocab.json and merges.txt;
 * their roles from tokenizer_config.json, config.json and generation_config.json; chat templates and
 * the texts of special tokens are read by hf_template.c. */
#include "weights/hf_card.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "core/limits.h"
#include "weights/hf_template.h"
#include "weights/sentencepiece.h"
#include "weights/tokenizer_json.h"
#include <stdio.h>
#include <string.h>

#define PATH_BYTES_MAX 4352

struct reader {
    struct weights_hf_card *hf;
    const char *directory;
    const struct weights_json_node *config, *settings; /* NULL: none */
    struct weights_card *card;
    struct fault *fault;
    bool says_specials; /* the tokenizer itself says whether bos and eos are added */
    char path[PATH_BYTES_MAX];
};

/* r->path becomes the path of this file; false when there is no such file. */
static bool has_file(struct reader *r, const char *name)
{
    int n = snprintf(r->path, sizeof(r->path), "%s/%s", r->directory, name);
    return n > 0 && n < (int)sizeof(r->path) && file_exists(r->path);
}

/* A token as settings give it: a text, or an object with its content. */
static const struct weights_json_node *token_text(const struct weights_json_node *value)
{
    const struct weights_json_node *content = weights_json_find(value, "content");
    value = content != NULL ? content : value;
    return value != NULL && value->kind == WEIGHTS_JSON_TEXT ? value : NULL;
}

/* Token of id `key` in added_tokens_decoder; -1 when key isn't an id. */
static int64_t decoder_id(const struct weights_json_node *entry)
{
    int64_t id;
    return parse_i64(entry->key, &id) && id >= 0 && id < LIMIT_VOCABULARY ? id : -1;
}

/* ChatGLM's tokenizer appends these to its pieces in code. */
static const char *const chatglm_tokens[] = { "[MASK]", "[gMASK]", "[sMASK]", "sop", "eop" };

static bool is_chatglm(const struct reader *r)
{
    return weights_json_is_text(weights_json_find(r->config, "model_type"), "chatglm");
}

/* Ids that the vocabulary needs besides its own pieces. */
static int32_t count_added(const struct reader *r)
{
    const struct weights_json_node *decoder =
        weights_json_find(r->settings, "added_tokens_decoder");
    if (decoder == NULL || decoder->kind != WEIGHTS_JSON_OBJECT)
        return 0;
    int64_t n = 0;
    const struct weights_json_node *entry = decoder + 1;
    for (uint32_t i = 0; i < decoder->n; i++, entry = weights_json_next(entry))
        n = max_i64(n, decoder_id(entry) + 1);
    return (int32_t)n;
}

static void set_added(struct reader *r)
{
    const struct weights_json_node *decoder =
        weights_json_find(r->settings, "added_tokens_decoder");
    if (decoder == NULL || decoder->kind != WEIGHTS_JSON_OBJECT)
        return;
    const struct weights_json_node *entry = decoder + 1;
    for (uint32_t i = 0; i < decoder->n; i++, entry = weights_json_next(entry)) {
        int64_t id = decoder_id(entry);
        const struct weights_json_node *text = token_text(entry);
        const struct weights_json_node *special = weights_json_find(entry, "special");
        if (text == NULL || id < 0 || id >= r->hf->vocabulary.n ||
            r->hf->vocabulary.types[id] == TOKEN_UNKNOWN)
            continue;
        bool is_special = special != NULL && special->kind == WEIGHTS_JSON_TRUE;
        weights_vocabulary_set(&r->hf->vocabulary, (int32_t)id, view_of(text->text, text->n),
                               is_special ? TOKEN_CONTROL : TOKEN_USER);
    }
}

static enum status read_pieces(struct reader *r)
{
    char *bytes;
    size_t n_bytes;
    enum status status =
        file_read_regular(r->path, HF_TOKENIZER_BYTES_MAX, &bytes, &n_bytes, r->fault);
    if (status != STATUS_OK)
        return status;
    struct view file = view_of(bytes, n_bytes);
    int32_t n_pieces = weights_sentencepiece_count(file);
    int32_t n_glm = is_chatglm(r) ? (int32_t)COUNT_OF(chatglm_tokens) : 0;
    struct weights_vocabulary *vocabulary = &r->hf->vocabulary;
    status = weights_sentencepiece(file, max_i32(count_added(r), n_pieces + n_glm), &r->hf->pile,
                                   vocabulary, r->card, r->fault);
    mem_give(bytes);
    if (status != STATUS_OK)
        return status;
    for (int32_t i = 0; i < n_glm && n_pieces + i < vocabulary->n; i++)
        weights_vocabulary_set(vocabulary, n_pieces + i, view_text(chatglm_tokens[i]),
                               TOKEN_CONTROL);
    set_added(r);
    r->card->add_bos = n_glm == 0;
    return STATUS_OK;
}

static enum status parse_tokenizer(struct reader *r, char *text, size_t n_bytes, const char *label)
{
    struct weights_json *json = &r->hf->tokenizer;
    enum status status = weights_json_parse(json, text, n_bytes, label, r->fault);
    return status != STATUS_OK
               ? status
               : weights_tokenizer_json(json->nodes, &r->hf->pile, &r->hf->vocabulary, r->card,
                                        &r->says_specials, r->fault);
}

/* merges.txt: a first line "#version: ...", then "left right" per line. */
static void add_merges(struct json_out *json, struct view text)
{
    while (text.n > 0) {
        const char *end = memchr(text.at, '\n', text.n);
        size_t n = end != NULL ? (size_t)(end - text.at) : text.n;
        struct view line = view_of(text.at, n > 0 && text.at[n - 1] == '\r' ? n - 1 : n);
        if (line.n > 0 && !view_starts(line, "#version"))
            json_out_view(json, line);
        n += end != NULL;
        text = view_of(text.at + n, text.n - n);
    }
}

/* vocab.json and merges.txt say less than a tokenizer.json: they are put together as one. */
static enum status read_vocab_and_merges(struct reader *r)
{
    char *vocab, *merges;
    size_t n_vocab, n_merges;
    struct str text;
    struct json_out json;
    enum status status =
        file_read_regular(r->path, HF_TOKENIZER_BYTES_MAX / 4, &vocab, &n_vocab, r->fault);
    if (status != STATUS_OK)
        return status;
    snprintf(r->path, sizeof(r->path), "%s/merges.txt", r->directory);
    status = file_read_regular(r->path, HF_TOKENIZER_BYTES_MAX / 4, &merges, &n_merges, r->fault);
    if (status != STATUS_OK) {
        mem_give(vocab);
        return status;
    }
    str_init(&text);
    str_add_text(&text, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":");
    str_add(&text, vocab, n_vocab);
    str_add_text(&text, ",\"merges\":");
    json_out_init(&json, &text);
    json_out_open(&json, '[');
    add_merges(&json, view_of(merges, n_merges));
    json_out_close(&json, ']');
    str_add_text(&text, "}}");
    mem_give(vocab);
    mem_give(merges);
    char *copy = mem_take(text.n + 1);
    memcpy(copy, text.at, text.n);
    size_t n_bytes = text.n;
    str_free(&text);
    return parse_tokenizer(r, copy, n_bytes, "vocab.json");
}

static enum status read_tokenizer(struct reader *r)
{
    char *text;
    size_t n_bytes;
    if (has_file(r, "tokenizer.json")) {
        enum status status =
            file_read_regular(r->path, HF_TOKENIZER_BYTES_MAX, &text, &n_bytes, r->fault);
        return status != STATUS_OK ? status : parse_tokenizer(r, text, n_bytes, "tokenizer.json");
    }
    if (has_file(r, "tokenizer.model"))
        return read_pieces(r);
    if (has_file(r, "merges.txt") && has_file(r, "vocab.json"))
        return read_vocab_and_merges(r);
    return STATUS_OK;
}

/* A special token: named in the settings, else by id in config.json. Texts that the vocabulary
 * doesn't have are passed over: models name tokens that they never use. */
static void read_special(struct reader *r, const char *text_key, const char *id_key, int32_t *out)
{
    const struct weights_json_node *text = token_text(weights_json_find(r->settings, text_key));
    struct weights_vocabulary *vocabulary = &r->hf->vocabulary;
    int32_t id =
        text != NULL ? weights_vocabulary_find(vocabulary, view_of(text->text, text->n)) : -1;
    const struct weights_json_node *given = weights_json_find(r->config, id_key);
    int64_t number;
    if (id < 0 && *out < 0 && given != NULL) {
        if (given->kind == WEIGHTS_JSON_ARRAY && given->n > 0)
            given++;
        if (weights_json_to_i64(given, &number) && number >= 0 && number < vocabulary->n)
            id = (int32_t)number;
    }
    if (id < 0)
        return;
    *out = id;
    if (vocabulary->types[id] == TOKEN_NORMAL)
        vocabulary->types[id] = TOKEN_CONTROL;
}

/* "eos_token_id": an id or a list of them. */
static void add_eogs(const struct weights_json_node *object, struct weights_card *card)
{
    const struct weights_json_node *value = weights_json_find(object, "eos_token_id");
    int64_t id;
    if (value == NULL)
        return;
    uint32_t n = value->kind == WEIGHTS_JSON_ARRAY ? value->n : 1;
    value += value->kind == WEIGHTS_JSON_ARRAY;
    for (uint32_t i = 0; i < n; i++, value = weights_json_next(value))
        if (weights_json_to_i64(value, &id))
            weights_card_add_eog(card, id);
}

static enum status read_generation(struct reader *r)
{
    struct weights_json generation = { 0 };
    if (has_file(r, "generation_config.json")) {
        enum status status = weights_json_open(&generation, r->path, HF_SETTINGS_BYTES_MAX,
                                               "generation_config.json", r->fault);
        if (status != STATUS_OK)
            return status;
    }
    weights_card_add_eog(r->card, r->card->eos_id);
    add_eogs(r->config, r->card);
    add_eogs(generation.nodes, r->card);
    weights_card_add_known_eog(r->card);
    weights_json_close(&generation);
    return STATUS_OK;
}

static enum status read_template(struct reader *r)
{
    return weights_hf_template(r->directory, r->settings, &r->hf->pile, r->card, r->fault);
}

static enum status read_settings(struct reader *r)
{
    struct weights_card *card = r->card;
    struct weights_json_from from = { r->settings, "tokenizer_config.json", r->fault };
    if (r->says_specials)
        return STATUS_OK;
    enum status status = weights_json_bool(&from, "add_bos_token", &card->add_bos);
    return status != STATUS_OK ? status : weights_json_bool(&from, "add_eos_token", &card->add_eos);
}

static void forget_id(int32_t *id, int32_t n)
{
    if (*id >= n)
        *id = -1;
}

/* Tokens that the embedding has no row for can't be used. */
static void trim(struct weights_card *card, int32_t n_vocabulary)
{
    if (n_vocabulary == 0 || card->n_tokens <= n_vocabulary)
        return;
    card->n_tokens = n_vocabulary;
    forget_id(&card->bos_id, n_vocabulary);
    forget_id(&card->eos_id, n_vocabulary);
    forget_id(&card->unknown_id, n_vocabulary);
    forget_id(&card->pad_id, n_vocabulary);
}

static enum status read_roles(struct reader *r, int32_t n_vocabulary)
{
    struct weights_card *card = r->card;
    enum status status = read_settings(r);
    if (status != STATUS_OK)
        return status;
    read_special(r, "bos_token", "bos_token_id", &card->bos_id);
    read_special(r, "eos_token", "eos_token_id", &card->eos_id);
    read_special(r, "pad_token", "pad_token_id", &card->pad_id);
    trim(card, n_vocabulary);
    card->add_bos = card->add_bos && card->bos_id >= 0;
    card->add_eos = card->add_eos && card->eos_id >= 0;
    return read_generation(r);
}

enum status weights_hf_card_open(struct weights_hf_card *hf, const char *directory,
                                 const struct weights_json_node *config, int32_t n_vocabulary,
                                 struct weights_card *card, struct fault *fault)
{
    struct reader r = {
        .hf = hf, .directory = directory, .config = config, .card = card, .fault = fault
    };
    enum status status = STATUS_OK;
    *hf = (struct weights_hf_card){ 0 };
    weights_card_init(card);
    if (has_file(&r, "tokenizer_config.json"))
        status = weights_json_open(&hf->settings, r.path, HF_SETTINGS_BYTES_MAX,
                                   "tokenizer_config.json", fault);
    r.settings = hf->settings.nodes;
    if (status == STATUS_OK)
        status = read_tokenizer(&r);
    if (status == STATUS_OK)
        status = read_template(&r);
    if (status == STATUS_OK && card->tokenizer != WEIGHTS_TOKENIZER_NONE)
        status = read_roles(&r, n_vocabulary);
    if (status == STATUS_OK)
        status = weights_card_check(card, "tokenizer", fault);
    if (status != STATUS_OK)
        weights_hf_card_close(hf);
    return status;
}

void weights_hf_card_close(struct weights_hf_card *hf)
{
    weights_json_close(&hf->tokenizer);
    weights_json_close(&hf->settings);
    weights_vocabulary_free(&hf->vocabulary);
    pile_free(&hf->pile);
}
