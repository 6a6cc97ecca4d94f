/* Compares settings, key by key in the table's order. */
#include "serve/reload.h"

#include "config/table.h"
#include <stdio.h>
#include <string.h>

static bool is_text_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_value_equal(const struct config_key *key, const void *a, const void *b)
{
    const unsigned char *at_a = (const unsigned char *)a + key->offset;
    const unsigned char *at_b = (const unsigned char *)b + key->offset;
    const char *const *texts_a = (const char *const *)(const void *)at_a;
    const char *const *texts_b = (const char *const *)(const void *)at_b;
    if (key->type == CONFIG_TEXT)
        return is_text_equal(*texts_a, *texts_b);
    if (key->type != CONFIG_TEXTS)
        return memcmp(at_a, at_b, key->type == CONFIG_BOOL ? sizeof(bool) : sizeof(int64_t)) == 0;
    int n_a, n_b;
    memcpy(&n_a, (const unsigned char *)a + key->n_offset, sizeof n_a);
    memcpy(&n_b, (const unsigned char *)b + key->n_offset, sizeof n_b);
    for (int i = 0; i < n_a && n_a == n_b; i++) {
        if (!is_text_equal(texts_a[i], texts_b[i]))
            return false;
    }
    return n_a == n_b;
}

static bool is_live(const char *name)
{
    static const char *const live[] = { "log_level",      "log_json", "api_key",    "api_key_file",
                                        "admin_key",      "tenants",  "tls_cert",   "tls_key",
                                        "admin_key_file", "keyless",  "model_dirs", "quotas" };
    for (size_t i = 0; i < COUNT_OF(live); i++)
        if (strcmp(name, live[i]) == 0)
            return true;
    return false;
}

/* ---- The names of changed settings, as many as fit into a sentence. ---- */

enum { NAMES_BYTES = 150 };
struct changes {
    char names[NAMES_BYTES];
    size_t n_bytes;
    int n, n_unnamed;
};

static void add(struct changes *changes, const char *of, const char *name)
{
    char text[LIMIT_NAME_BYTES + 64];
    int n = snprintf(text, sizeof text, "%s%s%.50s", changes->n > 0 ? ", " : "", of, name);
    changes->n++;
    if (changes->n_unnamed > 0 || changes->n_bytes + (size_t)n >= NAMES_BYTES) {
        changes->n_unnamed++;
        return;
    }
    memcpy(changes->names + changes->n_bytes, text, (size_t)n + 1);
    changes->n_bytes += (size_t)n;
}

static void find_changes(const struct config_key *keys, int n_keys, const void *old,
                         const void *fresh, const char *of, struct changes *changes)
{
    for (int i = 0; i < n_keys; i++)
        if ((of[0] != '\0' || !is_live(keys[i].name)) && !is_value_equal(&keys[i], old, fresh))
            add(changes, of, keys[i].name);
}

static const struct config_model *find_model(const struct config *config, const char *name)
{
    for (int i = 0; i < config->n_models; i++)
        if (strcmp(config->models[i].name, name) == 0)
            return &config->models[i];
    return NULL;
}

/* A planner places models at the start, so later changes of what it reads have no effect. */
static bool is_for_planners(const char *name)
{
    return strcmp(name, "rate") == 0 || strcmp(name, "prompt_tokens") == 0 ||
           strcmp(name, "output_tokens") == 0;
}

static bool has_changed(const struct config_model *old, const struct config_model *fresh)
{
    struct changes changes = { .n = 0 };
    int n_keys;
    const struct config_key *keys = config_table_models(&n_keys);
    find_changes(keys, n_keys, old, fresh, " ", &changes);
    return changes.n > 0;
}

static void find_model_changes(const struct config *old, const struct config *fresh,
                               struct changes *changes)
{
    int n_keys;
    const struct config_key *keys = config_table_models(&n_keys);
    for (int i = 0; i < fresh->n_models; i++) {
        char of[LIMIT_NAME_BYTES + 16];
        const struct config_model *now = &fresh->models[i];
        const struct config_model *model = find_model(old, now->name);
        snprintf(of, sizeof of, "model %s: ", now->name);
        if (model == NULL && fresh->placement != NULL)
            add(changes, "new model ", now->name);
        for (int k = 0; k < n_keys && model != NULL; k++)
            if ((is_for_planners(keys[k].name) || fresh->placement != NULL) &&
                !is_value_equal(&keys[k], model, now))
                add(changes, of, keys[k].name);
    }
}

void serve_reload_models(const struct config *old, const struct config *fresh,
                         struct serve_reload_models *out)
{
    *out = (struct serve_reload_models){ 0 };
    for (int i = 0; i < fresh->n_models; i++) {
        const struct config_model *before = find_model(old, fresh->models[i].name);
        if (before == NULL || has_changed(before, &fresh->models[i]))
            out->adds[out->n_adds++] = i;
    }
    for (int i = 0; i < old->n_models; i++) {
        const struct config_model *now = find_model(fresh, old->models[i].name);
        if (now == NULL || has_changed(&old->models[i], now))
            out->removes[out->n_removes++] = i;
    }
}

/* ---- Changes that would leave the server without a key, or lock all clients out. ---- */

static bool has_key(const struct config *config)
{
    return config->api_key != NULL || config->n_tenants > 0;
}

enum status serve_reload_check(const struct config *old, const struct config *fresh,
                               struct fault *fault)
{
    struct changes changes = { .n = 0 };
    int n_keys;
    const struct config_key *keys = config_table_globals(&n_keys);
    find_changes(keys, n_keys, old, fresh, "", &changes);
    if ((old->tls_cert == NULL) != (fresh->tls_cert == NULL))
        add(&changes, "", "tls_cert");
    find_model_changes(old, fresh, &changes);
    if (changes.n_unnamed > 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s and %d more change with a restart only",
                         changes.names, changes.n_unnamed);
    if (changes.n > 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s with a restart only", changes.names,
                         changes.n == 1 ? "this changes" : "these change");
    if (has_key(old) && !has_key(fresh) && !fresh->is_keyless)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "api_key and tenants are gone, so that all clients could call: "
                         "set keyless: true if this is meant");
    if (old->admin_key != NULL && fresh->admin_key == NULL && !fresh->is_keyless)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "admin_key is gone: set keyless: true if this is meant");
    return STATUS_OK;
}
