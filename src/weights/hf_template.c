/* Chat templates as transformers finds them.
 *
 * chat_template.jinja and the files of additional_chat_templates come first. Only when there are
 * none, tokenizer_config.json counts: a text or a list of {name, template}. The last one is
 * chat_template.json, which processors have. Special tokens are those that tokenizer_config.json
 * names, else those of special_tokens_map.json. */
#include "weights/hf_template.h"
#include "base/file.h"
#include "base/mem.h"
#include "weights/foreign.h"
#include "weights/templates.h"
#include <stdio.h>
#include <string.h>

enum { SETTINGS_BYTES_MAX = 16 << 20 };
#define PATH_BYTES_MAX 4864
#define MORE_FOLDER    "additional_chat_templates"

struct reader {
    const char *directory;
    const struct weights_json_node *settings;
    struct pile *pile;
    struct weights_templates templates;
    struct fault *fault;
    char path[PATH_BYTES_MAX];
};

/* Sets r->path to the path of this file. Returns false when there is none. */
static bool has_file(struct reader *r, const char *folder, const char *name)
{
    int n = snprintf(r->path, sizeof(r->path), "%s/%s%s%s", r->directory, folder,
                     folder[0] != '\0' ? "/" : "", name);
    return n > 0 && n < (int)sizeof(r->path) && file_exists(r->path);
}

static enum status add_file(struct reader *r, struct view name, const char *label)
{
    char *text;
    size_t n_bytes;
    enum status status =
        file_read_regular(r->path, CARD_TEMPLATE_BYTES_MAX, &text, &n_bytes, r->fault);
    if (status != STATUS_OK)
        return status;
    status = weights_foreign_pointer(view_of(text, n_bytes), label, r->fault);
    if (status == STATUS_OK)
        status =
            weights_templates_add(&r->templates, name, view_of(text, n_bytes), label, r->fault);
    mem_give(text);
    return status;
}

static enum status add_files(struct reader *r)
{
    static const char ending[] = ".jinja";
    char names[WEIGHTS_TEMPLATES_MAX + 1][FILE_NAME_BYTES], folder[PATH_BYTES_MAX];
    enum status status = STATUS_OK;
    if (has_file(r, "", "chat_template.jinja"))
        status = add_file(r, view_text("default"), "chat_template.jinja");
    int n_path = snprintf(folder, sizeof(folder), "%s/" MORE_FOLDER, r->directory), n = -1;
    if (status == STATUS_OK && n_path > 0 && n_path < (int)sizeof(folder))
        n = file_list(folder, ending, names, WEIGHTS_TEMPLATES_MAX + 1);
    for (int i = 0; i < n && status == STATUS_OK; i++) {
        size_t n_name = strlen(names[i]) - strlen(ending);
        if (has_file(r, MORE_FOLDER, names[i]))
            status = add_file(r, view_of(names[i], n_name), MORE_FOLDER);
    }
    return status;
}

/* Reads chat_template: a text, or a list of {name, template}. */
static enum status add_setting(struct reader *r)
{
    const struct weights_json_node *value = weights_json_find(r->settings, "chat_template");
    enum status status = STATUS_OK;
    if (value != NULL && value->kind == WEIGHTS_JSON_TEXT)
        return weights_templates_add(&r->templates, view_text("default"),
                                     view_of(value->text, value->n), "tokenizer_config.json",
                                     r->fault);
    if (value == NULL || value->kind != WEIGHTS_JSON_ARRAY)
        return STATUS_OK;
    const struct weights_json_node *item = value + 1;
    for (uint32_t i = 0; i < value->n && status == STATUS_OK; i++, item = weights_json_next(item)) {
        const struct weights_json_node *text = weights_json_find(item, "template");
        const struct weights_json_node *name = weights_json_find(item, "name");
        bool is_good = name != NULL && name->kind == WEIGHTS_JSON_TEXT && text != NULL &&
                       text->kind == WEIGHTS_JSON_TEXT;
        if (is_good)
            status = weights_templates_add(&r->templates, view_of(name->text, name->n),
                                           view_of(text->text, text->n), "tokenizer_config.json",
                                           r->fault);
    }
    return status;
}

static enum status add_processor(struct reader *r)
{
    struct weights_json json = { 0 };
    if (!has_file(r, "", "chat_template.json"))
        return STATUS_OK;
    enum status status =
        weights_json_open(&json, r->path, SETTINGS_BYTES_MAX, "chat_template.json", r->fault);
    const struct weights_json_node *value =
        status == STATUS_OK ? weights_json_find(json.nodes, "chat_template") : NULL;
    if (value != NULL && value->kind == WEIGHTS_JSON_TEXT)
        status =
            weights_templates_add(&r->templates, view_text("default"),
                                  view_of(value->text, value->n), "chat_template.json", r->fault);
    weights_json_close(&json);
    return status;
}

/* Returns the text of a token of the settings: a text, or an object with its content. */
static struct view token_text(const struct weights_json_node *value)
{
    const struct weights_json_node *content = weights_json_find(value, "content");
    value = content != NULL ? content : value;
    bool is_text = value != NULL && value->kind == WEIGHTS_JSON_TEXT;
    return is_text ? view_of(value->text, value->n) : view_of("", 0);
}

/* Reads additional_special_tokens: an array of texts. */
static void add_list(struct weights_specials *specials, const char *key,
                     const struct weights_json_node *list)
{
    if (list == NULL || list->kind != WEIGHTS_JSON_ARRAY || list->n == 0)
        return;
    json_out_key(&specials->json, key);
    json_out_open(&specials->json, '[');
    const struct weights_json_node *item = list + 1;
    for (uint32_t i = 0; i < list->n; i++, item = weights_json_next(item))
        json_out_view(&specials->json, token_text(item));
    json_out_close(&specials->json, ']');
    specials->n++;
}

/* Adds special tokens with names that the model itself chose. */
static void add_own(struct weights_specials *specials, const struct weights_json_node *own)
{
    if (own == NULL || own->kind != WEIGHTS_JSON_OBJECT)
        return;
    const struct weights_json_node *member = own + 1;
    for (uint32_t i = 0; i < own->n; i++, member = weights_json_next(member))
        weights_templates_specials_add(specials, member->key, token_text(member));
}

static void add_specials(struct reader *r, const struct weights_json_node *map,
                         struct weights_card *card)
{
    static const char *const names[] = { "bos_token", "eos_token", "unk_token", "sep_token",
                                         "pad_token", "cls_token", "mask_token" };
    struct weights_specials specials;
    weights_templates_specials_init(&specials);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct view text = token_text(weights_json_find(r->settings, names[i]));
        if (text.n == 0)
            text = token_text(weights_json_find(map, names[i]));
        weights_templates_specials_add(&specials, names[i], text);
    }
    const char *key = "additional_special_tokens";
    const struct weights_json_node *list = weights_json_find(r->settings, key);
    add_list(&specials, key, list != NULL ? list : weights_json_find(map, key));
    add_own(&specials, weights_json_find(r->settings, "extra_special_tokens"));
    weights_templates_specials_give(&specials, r->pile, card);
}

enum status weights_hf_template(const char *directory, const struct weights_json_node *settings,
                                struct pile *pile, struct weights_card *card, struct fault *fault)
{
    struct reader r = {
        .directory = directory, .settings = settings, .pile = pile, .fault = fault
    };
    struct weights_json map = { 0 };
    weights_templates_init(&r.templates, pile);
    enum status status = add_files(&r);
    if (status == STATUS_OK && r.templates.n == 0)
        status = add_setting(&r);
    if (status == STATUS_OK && r.templates.n == 0)
        status = add_processor(&r);
    if (status == STATUS_OK && has_file(&r, "", "special_tokens_map.json"))
        status =
            weights_json_open(&map, r.path, SETTINGS_BYTES_MAX, "special_tokens_map.json", fault);
    if (status != STATUS_OK)
        return status;
    weights_templates_give(&r.templates, card);
    add_specials(&r, map.nodes, card);
    weights_json_close(&map);
    return STATUS_OK;
}
