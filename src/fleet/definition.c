/* Reads and writes the definitions of deployed models. A value becomes a configuration of one
 * model, so that the table of keys checks it. */
#include "fleet/definition.h"

#include "base/json_out.h"
#include "base/mem.h"
#include "config/text.h"
#include "fetch/digest.h"
#include "fetch/fetch.h"
#include <jansson.h>
#include <string.h>

/* A path to another file, as that of a profile, would let the store choose what a process reads. */
static const char *const keys[] = { "ctx", "kv_type", "path", "sha256" };

static bool is_key(const char *key)
{
    bool is = false;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        is = is || strcmp(keys[i], key) == 0;
    return is;
}

static enum status complain(struct fault *fault, const char *name, const char *what)
{
    return fault_set(fault, STATUS_BAD_INPUT, "the definition of model %.80s %s", name, what);
}

/* Takes `life` out of the object, and checks the other keys. */
static enum status read_keys(json_t *root, const char *name, uint16_t *life, struct fault *fault)
{
    const json_t *n = json_object_get(root, "life");
    const char *key;
    json_t *value;
    if (!json_is_integer(n) || json_integer_value(n) < 1 || json_integer_value(n) > UINT16_MAX)
        return complain(fault, name, "has no life from 1 to 65535");
    *life = (uint16_t)json_integer_value(n);
    (void)json_object_del(root, "life");
    json_object_foreach(root, key, value) {
        if (!is_key(key))
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "the definition of model %.80s has the key \"%.40s\", and only path, "
                             "sha256, ctx and kv_type are understood",
                             name, key);
        if (!json_is_string(value) && !json_is_integer(value))
            return complain(fault, name, "has a value that is neither text nor number");
        if (json_is_string(value) && strstr(json_string_value(value), "${") != NULL)
            return complain(fault, name, "has ${: it may not read this process's environment");
    }
    return STATUS_OK;
}

/* Parses {"models":{NAME:{...}}}, which is YAML, too. */
static enum status parse(struct config *config, const char *name, json_t *root, struct fault *fault)
{
    json_t *all = json_pack("{s:{s:O}}", "models", name, root);
    char text[4 * FLEET_DEFINITION_BYTES]; /* no character becomes longer than its escape */
    size_t n = all != NULL ? json_dumpb(all, text, sizeof text, JSON_COMPACT) : 0;
    json_decref(all);
    if (n == 0 || n > sizeof text)
        return complain(fault, name, "can't be read as a configuration");
    return config_parse(config, "definition", text, n, fault);
}

static enum status check(const struct config *config, const char *name, struct fault *fault)
{
    const struct config_model *model = &config->models[0];
    if (config->n_models != 1 || strcmp(model->name, name) != 0)
        return complain(fault, name, "is not that of one model");
    if (model->sha256 != NULL && !fetch_digest_is_text(model->sha256))
        return complain(fault, name, "has a sha256 that is not 64 hexadecimal digits");
    if (fetch_is_url(model->path) && model->sha256 == NULL)
        return complain(fault, name, "has an address and no sha256, which a fetched file needs");
    if (!fetch_is_url(model->path) && model->path[0] != '/')
        return complain(fault, name, "has a path that does not begin with /");
    return config_check(config, fault);
}

enum status fleet_definition_read(const char *name, struct view value, struct config **out,
                                  uint16_t *life, struct fault *fault)
{
    *out = NULL;
    enum status status =
        config_text_check(CONFIG_TEXT_NAME, "a deployed model's name", view_text(name), fault);
    if (status != STATUS_OK)
        return status;
    if (value.n > FLEET_DEFINITION_BYTES)
        return complain(fault, name, "is longer than 4096 bytes");
    json_t *root = json_loadb(value.at, value.n, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return complain(fault, name, "is not a JSON object");
    }
    struct config *config = mem_take(sizeof *config);
    config_init(config);
    status = read_keys(root, name, life, fault);
    if (status == STATUS_OK)
        status = parse(config, name, root, fault);
    if (status == STATUS_OK)
        status = check(config, name, fault);
    json_decref(root);
    if (status == STATUS_OK) {
        *out = config;
        return STATUS_OK;
    }
    config_free(config);
    mem_give(config);
    return status;
}

bool fleet_definition_is_given(const struct fleet_definition_words *w)
{
    return w->path != NULL || w->url != NULL || w->sha256 != NULL || w->context != NULL ||
           w->kv_type != NULL;
}

enum status fleet_definition_write(struct str *out, const char *name,
                                   const struct fleet_definition_words *w, uint16_t life,
                                   struct fault *fault)
{
    struct json_out json;
    struct config *config;
    int64_t n_context = 0;
    size_t begin = out->n;
    if ((w->path != NULL) == (w->url != NULL))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "a new model needs --path (a file of each machine, in its model_dirs) or "
                         "--url, and not both");
    if (w->url != NULL && !fetch_is_url(w->url))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "--url has to begin with http:// or https://: a file is given by --path");
    if (w->path != NULL && fetch_is_url(w->path))
        return fault_set(fault, STATUS_BAD_INPUT, "--path is an address: give it as --url");
    if (w->context != NULL && !parse_i64(w->context, &n_context))
        return fault_set(fault, STATUS_BAD_INPUT, "--ctx is \"%.40s\", expected a number",
                         w->context);
    const char *path = w->path != NULL ? w->path : w->url;
    enum status status = config_text_check(CONFIG_TEXT_PATH, w->path != NULL ? "--path" : "--url",
                                           view_text(path), fault);
    if (status != STATUS_OK)
        return status;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_i64(&json, "life", life);
    json_out_key_text(&json, "path", path);
    if (w->sha256 != NULL)
        json_out_key_text(&json, "sha256", w->sha256);
    if (w->context != NULL)
        json_out_key_i64(&json, "ctx", n_context);
    if (w->kv_type != NULL)
        json_out_key_text(&json, "kv_type", w->kv_type);
    json_out_close(&json, '}');
    status = fleet_definition_read(name, view_of(out->at + begin, out->n - begin), &config, &life,
                                   fault);
    if (status == STATUS_OK)
        config_free(config);
    mem_give(config);
    return status;
}

bool fleet_definition_is_equal(struct view a, struct view b)
{
    json_t *first = json_loadb(a.at, a.n, 0, NULL), *second = json_loadb(b.at, b.n, 0, NULL);
    (void)json_object_del(first, "life");
    (void)json_object_del(second, "life");
    bool is_equal = first != NULL && json_equal(first, second);
    json_decref(first);
    json_decref(second);
    return is_equal;
}
