/* The order is that of transformers, which adds tokens to the tokenizer of tokenizer.json: first
 * those of tokenizer_config.json's added_tokens_decoder by id, then named special tokens that are
 * still missing. When that list is missing, special_tokens_map.json and added_tokens.json replace
 * it. */
#include "weights/hf_added.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/limits.h"
#include <stdlib.h>

struct list {
    struct weights_added *at; /* NULL: they are only counted */
    int32_t n;
};

static const char *const roles[] = { "bos_token", "eos_token", "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token" };

static const char *const unnamed[] = { "additional_special_tokens", "extra_special_tokens" };

static bool has_decoder(const struct weights_hf_added_files *files)
{
    const struct weights_json_node *decoder =
        weights_json_find(files->settings, "added_tokens_decoder");
    return decoder != NULL && decoder->kind == WEIGHTS_JSON_OBJECT;
}

/* Returns a role's value in tokenizer_config.json. An older special_tokens_map.json takes
 * precedence. */
static const struct weights_json_node *value_of(const struct weights_hf_added_files *files,
                                                const char *role)
{
    const struct weights_json_node *value =
        has_decoder(files) ? NULL : weights_json_find(files->specials, role);
    return value != NULL ? value : weights_json_find(files->settings, role);
}

/* Returns the text of a token, which is written as a text, or as an object with its content. */
static const struct weights_json_node *text_of(const struct weights_json_node *value)
{
    const struct weights_json_node *content = weights_json_find(value, "content");
    value = content != NULL ? content : value;
    return value != NULL && value->kind == WEIGHTS_JSON_TEXT ? value : NULL;
}

const struct weights_json_node *weights_hf_added_special(const struct weights_hf_added_files *files,
                                                         const char *role)
{
    return text_of(value_of(files, role));
}

static void add(struct list *list, const struct weights_added *token)
{
    if (list->at != NULL)
        list->at[list->n] = *token;
    list->n++;
}

/* is_named means that it has a role. By this transformers makes a token of an older directory
 * special. */
static void add_special(struct list *list, const struct weights_json_node *value, bool is_named)
{
    const struct weights_json_node *text = text_of(value);
    if (text == NULL)
        return;
    const struct weights_added token = { .text = view_of(text->text, text->n),
                                         .flags =
                                             weights_tokenizer_json_flags(value) | ADDED_SPECIAL,
                                         .id = -1,
                                         .is_weak = true,
                                         .is_named = is_named };
    add(list, &token);
}

/* Adds a list of special tokens, or the tokens that are members of an object. */
static void add_specials(struct list *list, const struct weights_json_node *values)
{
    if (values == NULL ||
        (values->kind != WEIGHTS_JSON_ARRAY && values->kind != WEIGHTS_JSON_OBJECT))
        return;
    const struct weights_json_node *value = values + 1;
    for (uint32_t i = 0; i < values->n; i++, value = weights_json_next(value))
        add_special(list, value, false);
}

static bool has_role(const struct weights_hf_added_files *files, struct view text)
{
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        const struct weights_json_node *named = weights_hf_added_special(files, roles[i]);
        if (named != NULL && view_equal(view_of(named->text, named->n), text))
            return true;
    }
    return false;
}

static int compare_ids(const void *a, const void *b)
{
    const struct weights_added *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

/* Reads {"32000": {"content": ..., ...}, ...} */
static enum status add_decoder(const struct weights_hf_added_files *files, struct list *list,
                               struct fault *fault)
{
    const struct weights_json_node *decoder =
        weights_json_find(files->settings, "added_tokens_decoder");
    const struct weights_json_node *entry = decoder + 1;
    for (uint32_t i = 0; i < decoder->n; i++, entry = weights_json_next(entry)) {
        const struct weights_json_node *text = text_of(entry);
        struct weights_added token = { .flags = weights_tokenizer_json_flags(entry) };
        if (text == NULL || !parse_i64(entry->key, &token.id) || token.id < 0 ||
            token.id >= LIMIT_VOCABULARY)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "tokenizer_config.json: added_tokens_decoder has the entry \"%.40s\", "
                             "which isn't an id with a token's content",
                             entry->key);
        token.text = view_of(text->text, text->n);
        if (has_role(files, token.text))
            token.flags |= ADDED_SPECIAL;
        add(list, &token);
    }
    if (list->at != NULL && list->n > 1)
        qsort(list->at, (size_t)list->n, sizeof(*list->at), compare_ids);
    return STATUS_OK;
}

static uint64_t key_of(struct view text)
{
    return hash_fast(text.at, text.n, 0).low;
}

/* Finds the ids that tokenizer.json describes. */
static void find_described(const struct weights_hf_added_files *files, struct map *ids)
{
    const struct weights_json_node *list = weights_json_find(files->tokenizer, "added_tokens");
    uint32_t n = list != NULL && list->kind == WEIGHTS_JSON_ARRAY ? list->n : 0;
    const struct weights_json_node *value = n > 0 ? list + 1 : NULL;
    int64_t id;
    map_init(ids, n);
    for (uint32_t i = 0; i < n; i++, value = weights_json_next(value)) {
        const struct weights_json_node *number = weights_json_find(value, "id");
        if (number != NULL && weights_json_to_i64(number, &id))
            (void)map_put(ids, (uint64_t)id, 1);
    }
}

/* Finds the texts of special tokens without a role. */
static void find_unnamed(const struct weights_hf_added_files *files, struct map *texts)
{
    struct list list = { 0 };
    for (size_t i = 0; i < COUNT_OF(unnamed); i++)
        add_specials(&list, value_of(files, unnamed[i]));
    list.at = mem_take(((size_t)list.n + 1) * sizeof(*list.at));
    map_init(texts, (uint32_t)list.n + 1);
    list.n = 0;
    for (size_t i = 0; i < COUNT_OF(unnamed); i++)
        add_specials(&list, value_of(files, unnamed[i]));
    for (int32_t i = 0; i < list.n; i++)
        (void)map_put(texts, key_of(list.at[i].text), 1);
    mem_give(list.at);
}

/* Reads {"<tag>": 32000, ...}. For an id that tokenizer.json describes, that description counts. */
static enum status add_older(const struct weights_hf_added_files *files, struct list *list,
                             struct fault *fault)
{
    const struct weights_json_node *value = files->added + 1;
    struct map described, specials;
    enum status status = STATUS_OK;
    find_described(files, &described);
    find_unnamed(files, &specials);
    for (uint32_t i = 0; i < files->added->n && status == STATUS_OK;
         i++, value = weights_json_next(value)) {
        struct weights_added token = { .text = view_of(value->key, value->key_bytes) };
        if (value->kind != WEIGHTS_JSON_INTEGER || !weights_json_to_i64(value, &token.id) ||
            token.id < 0)
            status =
                fault_set(fault, STATUS_BAD_INPUT,
                          "added_tokens.json: the token \"%.40s\" has no id from 0", value->key);
        bool is_special =
            has_role(files, token.text) || map_find(&specials, key_of(token.text)) != MAP_NONE;
        token.flags = is_special ? ADDED_SPECIAL : ADDED_NORMALIZED;
        if (map_find(&described, (uint64_t)token.id) == MAP_NONE)
            add(list, &token);
    }
    map_free(&described);
    map_free(&specials);
    return status;
}

static enum status fill(const struct weights_hf_added_files *files, struct list *list,
                        struct fault *fault)
{
    enum status status = STATUS_OK;
    if (has_decoder(files))
        status = add_decoder(files, list, fault);
    else if (files->added != NULL && files->added->kind == WEIGHTS_JSON_OBJECT)
        status = add_older(files, list, fault);
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        add_special(list, value_of(files, roles[i]), !has_decoder(files));
    for (size_t i = 0; i < COUNT_OF(unnamed); i++)
        add_specials(list, value_of(files, unnamed[i]));
    return status;
}

enum status weights_hf_added(const struct weights_hf_added_files *files, struct pile *pile,
                             struct weights_tokenizer_source *source, struct fault *fault)
{
    struct list list = { 0 };
    enum status status = fill(files, &list, fault);
    if (status != STATUS_OK)
        return status;
    list.at = pile_take(pile, ((size_t)list.n + 1) * sizeof(*list.at));
    list.n = 0;
    source->extra = list.at;
    status = fill(files, &list, fault);
    source->n_extra = list.n;
    return status;
}
