/* Reads the files of sentence-transformers: a list of modules, and the settings of the one that
 * pools, in a folder of its own. */
#include "weights/hf_pooling.h"
#include "base/file.h"
#include <stdio.h>
#include <string.h>

enum { SETTINGS_BYTES_MAX = 1 << 20, PATH_BYTES_MAX = 4352 };

static enum status read_pooling(const char *path, struct model_spec *spec, struct fault *fault)
{
    static const struct {
        const char *key;
        int pooling; /* -1: not supported */
    } modes[] = {
        { "pooling_mode_cls_token", POOLING_FIRST }, { "pooling_mode_mean_tokens", POOLING_MEAN },
        { "pooling_mode_lasttoken", POOLING_LAST },  { "pooling_mode_max_tokens", -1 },
        { "pooling_mode_mean_sqrt_len_tokens", -1 }, { "pooling_mode_weightedmean_tokens", -1 },
    };
    struct weights_json json = { 0 };
    const char *found = NULL;
    int pooling = -1, n = 0;
    enum status status =
        weights_json_open(&json, path, SETTINGS_BYTES_MAX, "the pooling's config.json", fault);
    for (size_t i = 0; i < COUNT_OF(modes) && status == STATUS_OK; i++) {
        const struct weights_json_from from = { json.nodes, "the pooling's config.json", fault };
        bool is_set = false;
        status = weights_json_bool(&from, modes[i].key, &is_set);
        if (status != STATUS_OK || !is_set)
            continue;
        found = modes[i].key;
        pooling = modes[i].pooling;
        n++;
    }
    if (status == STATUS_OK && (n != 1 || pooling < 0))
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           "the pooling's config.json: %s is not supported: one of cls, mean and "
                           "last token is",
                           n == 1   ? found
                           : n == 0 ? "no pooling mode"
                                    : "more than one pooling mode");
    if (status == STATUS_OK)
        spec->pooling = (enum pooling_kind)pooling;
    weights_json_close(&json);
    return status;
}

/* Returns whether the name is one folder's, and not a path elsewhere. */
static bool is_folder(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) < 128;
}

static enum status read_module(const char *directory, const struct weights_json_node *module,
                               struct model_spec *spec, struct fault *fault)
{
    const struct weights_json_from from = { module, "modules.json", fault };
    const char *type = NULL, *folder = NULL;
    char path[PATH_BYTES_MAX];
    enum status status = weights_json_text(&from, "type", &type);
    if (status == STATUS_OK)
        status = weights_json_text(&from, "path", &folder);
    if (status != STATUS_OK)
        return status;
    const char *dot = type != NULL ? strrchr(type, '.') : NULL, *name = dot != NULL ? dot + 1 : "";
    if (strcmp(name, "Transformer") == 0)
        return STATUS_OK;
    if (strcmp(name, "Normalize") == 0) {
        spec->is_normalized = true;
        return STATUS_OK;
    }
    if (strcmp(name, "Pooling") != 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "modules.json: a module \"%.60s\" is not supported: Transformer, Pooling "
                         "and Normalize are",
                         type != NULL ? type : "");
    if (folder == NULL || !is_folder(folder) ||
        snprintf(path, sizeof(path), "%s/%s/config.json", directory, folder) >= (int)sizeof(path))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "modules.json: the pooling's path is not a folder beside it");
    spec->is_pooling_given = true;
    return read_pooling(path, spec, fault);
}

enum status weights_hf_pooling(const char *directory, struct model_spec *spec, struct fault *fault)
{
    char path[PATH_BYTES_MAX];
    struct weights_json json = { 0 };
    int n = snprintf(path, sizeof(path), "%s/modules.json", directory);
    if (n < 0 || n >= (int)sizeof(path) || !file_exists(path) || spec->n_labels > 0)
        return STATUS_OK;
    enum status status = weights_json_open(&json, path, SETTINGS_BYTES_MAX, "modules.json", fault);
    if (status == STATUS_OK && json.nodes->kind != WEIGHTS_JSON_ARRAY)
        status = fault_set(fault, STATUS_BAD_INPUT, "modules.json: not a list");
    const struct weights_json_node *module = status == STATUS_OK ? json.nodes + 1 : NULL;
    for (uint32_t i = 0; status == STATUS_OK && i < json.nodes->n; i++) {
        status = read_module(directory, module, spec, fault);
        module = weights_json_next(module);
    }
    if (status == STATUS_OK && !spec->is_pooling_given)
        spec->is_normalized = false;
    weights_json_close(&json);
    return status;
}
