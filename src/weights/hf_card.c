/* From the files of a Hugging Face directory to a card.
 *
 * Tokens come from tokenizer.json, else from tokenizer.model, else from vocab.json and merges.txt.
 * Their roles come from tokenizer_config.json, config.json and generation_config.json. Added tokens
 * come from these and from special_tokens_map.json and added_tokens.json. hf_template.c reads chat
 * templates and the texts of special tokens. */
#include "weights/hf_card.h"
#include "weights/foreign.h"
#include "weights/hf_added.h"
#include "weights/hf_pieces.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "core/limits.h"
#include "weights/hf_template.h"
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
    char path[PATH_BYTES_MAX];
};

/* Sets r->path to the path of this file. Returns false when there is no such file. */
static bool has_file(struct reader *r, const char *name)
{
    int n = snprintf(r->path, sizeof(r->path), "%s/%s", r->directory, name);
    return n > 0 && n < (int)sizeof(r->path) && file_exists(r->path);
}

static struct weights_hf_added_files files_of(const struct reader *r)
{
    return (struct weights_hf_added_files){ .tokenizer = r->hf->tokenizer.nodes,
                                            .settings = r->settings,
                                            .specials = r->hf->specials.nodes,
                                            .added = r->hf->added.nodes };
}

/* Opens a file of settings, which may be absent. */
static enum status open_settings(struct reader *r, const char *name, struct weights_json *json)
{
    if (!has_file(r, name))
        return STATUS_OK;
    return weights_json_open(json, r->path, HF_SETTINGS_BYTES_MAX, name, r->fault);
}

/* Opens special_tokens_map.json and added_tokens.json. */
static enum status open_older_settings(struct reader *r)
{
    enum status status = open_settings(r, "special_tokens_map.json", &r->hf->specials);
    return status != STATUS_OK ? status : open_settings(r, "added_tokens.json", &r->hf->added);
}

static enum status parse_tokenizer(struct reader *r, char *text, size_t n_bytes, const char *label)
{
    struct weights_hf_card *hf = r->hf;
    enum status status = weights_json_parse(&hf->tokenizer, text, n_bytes, label, r->fault);
    if (status == STATUS_OK)
        status = open_older_settings(r);
    struct weights_tokenizer_source source = { .root = hf->tokenizer.nodes };
    const struct weights_hf_added_files files = files_of(r);
    if (status == STATUS_OK)
        status = weights_hf_added(&files, &hf->pile, &source, r->fault);
    return status != STATUS_OK
               ? status
               : weights_tokenizer_json(&source, &hf->pile, &hf->vocabulary, r->card, r->fault);
}

/* Reads the text of a file of tokens, for mem_give. The label names it in the fault. */
static enum status read_text(const char *path, const char *label, char **text, size_t *n_bytes,
                             struct fault *fault)
{
    enum status status = file_read_regular(path, HF_TOKENIZER_BYTES_MAX / 4, text, n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    status = weights_foreign_pointer(view_of(*text, *n_bytes), label, fault);
    if (status != STATUS_OK)
        mem_give(*text);
    return status;
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

/* Reads vocab.json and merges.txt. They have less than a tokenizer.json, and are put together as
 * one. */
static enum status read_vocab_and_merges(struct reader *r)
{
    char *vocab, *merges;
    size_t n_vocab, n_merges;
    struct str text;
    struct json_out json;
    enum status status = read_text(r->path, "vocab.json", &vocab, &n_vocab, r->fault);
    if (status != STATUS_OK)
        return status;
    snprintf(r->path, sizeof(r->path), "%s/merges.txt", r->directory);
    status = read_text(r->path, "merges.txt", &merges, &n_merges, r->fault);
    if (status != STATUS_OK) {
        mem_give(vocab);
        return status;
    }
    str_init(&text);
    const struct weights_json_node *adds = weights_json_find(r->settings, "add_prefix_space");
    bool adds_space = adds != NULL && adds->kind == WEIGHTS_JSON_TRUE;
    str_printf(&text,
               "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":%s},"
               "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":",
               adds_space ? "true" : "false");
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

static enum status read_pieces(struct reader *r)
{
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof(path), "%s", r->path);
    enum status status = open_older_settings(r);
    const struct weights_hf_added_files files = files_of(r);
    bool is_chatglm = weights_json_is_text(weights_json_find(r->config, "model_type"), "chatglm");
    return status != STATUS_OK
               ? status
               : weights_hf_pieces(path, &files, is_chatglm, r->hf, r->card, r->fault);
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

/* Reads a special token: by its name in the settings, else by its id in config.json. Texts that the
 * vocabulary lacks are skipped, since models name tokens that they never use. */
static void read_special(struct reader *r, const char *text_key, const char *id_key, int32_t *out)
{
    const struct weights_hf_added_files files = files_of(r);
    const struct weights_json_node *text = weights_hf_added_special(&files, text_key);
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
    if (vocabulary->types[id] == TOKEN_NORMAL && !r->card->has_sentence)
        vocabulary->types[id] = TOKEN_CONTROL;
}

/* Reads "eos_token_id": an id or a list of ids. */
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
    if (card->add_bos || card->add_eos)
        return STATUS_OK; /* tokenizer.json has the ids around a text */
    enum status status = weights_json_bool(&from, "add_bos_token", &card->add_bos);
    return status != STATUS_OK ? status : weights_json_bool(&from, "add_eos_token", &card->add_eos);
}

static void forget_id(int32_t *id, int32_t n)
{
    if (*id >= n)
        *id = -1;
}

/* Makes added tokens text when the embedding has no row for them, because they can't be used. */
static enum status trim_steps(struct reader *r, int32_t n_vocabulary)
{
    const struct tokenizer_steps *steps = r->card->steps;
    struct tokenizer_steps *kept = pile_take(&r->hf->pile, sizeof(*kept));
    struct tokenizer_added *added =
        pile_take(&r->hf->pile, ((size_t)steps->n_added + 1) * sizeof(*added));
    for (int32_t id = n_vocabulary; id < r->card->n_tokens; id++)
        if (steps->is_model[id])
            return fault_set(r->fault, STATUS_BAD_INPUT,
                             "tokenizer.json: model.vocab has the id %d, but the embedding has "
                             "only %d rows",
                             id, n_vocabulary);
    *kept = *steps;
    kept->n_added = 0;
    for (int32_t i = 0; i < steps->n_added; i++)
        if (steps->added[i].id < n_vocabulary)
            added[kept->n_added++] = steps->added[i];
    kept->added = added;
    r->card->steps = kept;
    return STATUS_OK;
}

static enum status trim_sentence(struct reader *r, int32_t n_vocabulary)
{
    struct tokenizer_sentence *sentence = &r->card->sentence;
    struct tokenizer_added *added =
        pile_take(&r->hf->pile, ((size_t)sentence->n_added + 1) * sizeof(*added));
    int32_t n = 0;
    if (sentence->n_pieces > n_vocabulary)
        return fault_set(r->fault, STATUS_BAD_INPUT,
                         "tokenizer.model has %d pieces, but the embedding has only %d rows",
                         sentence->n_pieces, n_vocabulary);
    for (int32_t i = 0; i < sentence->n_added; i++)
        if (sentence->added[i].id < n_vocabulary)
            added[n++] = sentence->added[i];
    sentence->added = added;
    sentence->n_added = n;
    return STATUS_OK;
}

static enum status trim(struct reader *r, int32_t n_vocabulary)
{
    struct weights_card *card = r->card;
    if (n_vocabulary == 0 || card->n_tokens <= n_vocabulary)
        return STATUS_OK;
    enum status status = STATUS_OK;
    if (card->steps != NULL)
        status = trim_steps(r, n_vocabulary);
    else if (card->has_sentence)
        status = trim_sentence(r, n_vocabulary);
    card->n_tokens = n_vocabulary;
    forget_id(&card->bos_id, n_vocabulary);
    forget_id(&card->eos_id, n_vocabulary);
    forget_id(&card->unknown_id, n_vocabulary);
    forget_id(&card->pad_id, n_vocabulary);
    return status;
}

/* When tokenizer.json puts nothing around a text, bos and eos are put there as the settings
 * require. */
static void settle_ends(struct reader *r)
{
    struct weights_card *card = r->card;
    bool is_said = card->steps != NULL && card->steps->n_before + card->steps->n_behind > 0;
    if (card->steps == NULL || is_said)
        return;
    struct tokenizer_steps *steps = pile_take(&r->hf->pile, sizeof(*steps));
    int32_t *ids = pile_take(&r->hf->pile, 2 * sizeof(*ids));
    *steps = *card->steps;
    ids[0] = card->bos_id;
    ids[1] = card->eos_id;
    steps->before = ids;
    steps->behind = ids + 1;
    steps->n_before = card->add_bos;
    steps->n_behind = card->add_eos;
    card->steps = steps;
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
    status = trim(r, n_vocabulary);
    if (status != STATUS_OK)
        return status;
    card->add_bos = card->add_bos && card->bos_id >= 0;
    card->add_eos = card->add_eos && card->eos_id >= 0;
    settle_ends(r);
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
    status = open_settings(&r, "tokenizer_config.json", &hf->settings);
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
    weights_json_close(&hf->specials);
    weights_json_close(&hf->added);
    weights_vocabulary_free(&hf->vocabulary);
    pile_free(&hf->pile);
}
