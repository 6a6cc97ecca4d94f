/* Reads adapter_config.json. A key that PEFT added later, with a value that is not empty, is
 * refused, since it may change the answer. */
#include "weights/adapter_config.h"

#include "base/num.h"
#include "core/limits.h"
#include <stdio.h>
#include <string.h>

#define LABEL            "adapter_config.json"
#define CONFIG_BYTES_MAX ((size_t)4 << 20)
#define ALPHA_MAX        1e6
#define ALPHA_RANGE      "a number from -1e6 to 1e6"

static bool is_among(const char *text, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

static bool is_empty(const struct weights_json_node *value)
{
    return value->kind == WEIGHTS_JSON_NULL || value->kind == WEIGHTS_JSON_FALSE ||
           ((value->kind == WEIGHTS_JSON_ARRAY || value->kind == WEIGHTS_JSON_OBJECT ||
             value->kind == WEIGHTS_JSON_TEXT) &&
            value->n == 0);
}

/* Keys that are read elsewhere here, and keys that say how the adapter was trained. */
static bool is_known(const char *key)
{
    static const char *const known[] = {
        "r",
        "lora_alpha",
        "use_rslora",
        "rank_pattern",
        "alpha_pattern",
        "peft_type",
        "bias",
        "init_lora_weights",
        "task_type",
        "auto_mapping",
        "base_model_name_or_path",
        "revision",
        "inference_mode",
        "target_modules",
        "exclude_modules",
        "lora_dropout",
        "fan_in_fan_out", /* the pair has the same form for both layouts of its matrix */
        "layers_to_transform",
        "layers_pattern",
        "megatron_core",
        "peft_version",
        "qalora_group_size",
        "loftq_config",
        "eva_config",
        "runtime_config",
    };
    return is_among(key, known, COUNT_OF(known));
}

static enum status check_keys(const struct weights_json_node *object, struct fault *fault)
{
    const struct weights_json_node *value = object + 1;
    for (uint32_t i = 0; i < object->n; i++, value = weights_json_next(value))
        if (!is_known(value->key) && !is_empty(value))
            return fault_set(fault, STATUS_UNSUPPORTED,
                             LABEL ": %.80s is set, which is not supported: merge the adapter into "
                                   "its model",
                             value->key);
    return STATUS_OK;
}

/* Some ways to begin also change the model's own matrices, and the adapter fits only to those. */
static enum status check_begin(const struct weights_json_node *object, struct fault *fault)
{
    static const char *const plain[] = { "gaussian", "eva", "orthogonal" };
    const struct weights_json_node *begin = weights_json_find(object, "init_lora_weights");
    if (begin == NULL || begin->kind == WEIGHTS_JSON_TRUE || begin->kind == WEIGHTS_JSON_FALSE ||
        (begin->kind == WEIGHTS_JSON_TEXT && is_among(begin->text, plain, COUNT_OF(plain))))
        return STATUS_OK;
    char found[96];
    weights_json_print(begin, found, sizeof(found));
    return fault_set(fault, STATUS_UNSUPPORTED,
                     LABEL ": init_lora_weights is %s, which changes the model's own matrices too: "
                           "convert the adapter to a plain LoRA",
                     found);
}

static enum status check_text(const struct weights_json_from *from, const char *key,
                              const char *wanted)
{
    const char *found = wanted;
    enum status status = weights_json_text(from, key, &found);
    if (status != STATUS_OK || strcmp(found, wanted) == 0)
        return status;
    return fault_set(from->fault, STATUS_UNSUPPORTED,
                     LABEL ": %s is \"%.60s\", and only \"%s\" is supported", key, found, wanted);
}

static bool is_in_range(const struct weights_json_node *value, bool is_rank)
{
    int64_t n;
    double x;
    if (is_rank)
        return weights_json_to_i64(value, &n) && n >= 1 && n <= LIMIT_ADAPTER_RANK;
    return weights_json_to_f64(value, &x) && x >= -ALPHA_MAX && x <= ALPHA_MAX;
}

/* Reads a map from modules to numbers. PEFT takes its keys as regular expressions; here they are
 * names, or the ends of names, as PEFT itself writes them. */
static enum status read_pattern(const struct weights_json_from *from, const char *key, bool is_rank,
                                const struct weights_json_node **out)
{
    const struct weights_json_node *map = weights_json_find(from->object, key);
    if (map == NULL)
        return STATUS_OK;
    if (map->kind != WEIGHTS_JSON_OBJECT)
        return fault_set(from->fault, STATUS_BAD_INPUT, LABEL ": %s isn't an object", key);
    const struct weights_json_node *value = map + 1;
    for (uint32_t i = 0; i < map->n; i++, value = weights_json_next(value)) {
        if (value->key_bytes == 0 || strpbrk(value->key, "^$*+?()[]{}|\\") != NULL)
            return fault_set(from->fault, STATUS_UNSUPPORTED,
                             LABEL ": %s has the pattern %.80s, and only names of modules are "
                                   "supported",
                             key, value->key);
        if (!is_in_range(value, is_rank))
            return fault_set(from->fault, STATUS_BAD_INPUT,
                             LABEL ": %s: the value of %.80s isn't %s", key, value->key,
                             is_rank ? "a rank from 1 to 256" : ALPHA_RANGE);
    }
    *out = map;
    return STATUS_OK;
}

static enum status read(struct weights_adapter_config *config, struct fault *fault)
{
    const struct weights_json_from from = { config->json.nodes, LABEL, fault };
    const struct weights_json_node *alpha;
    if (config->json.nodes[0].kind != WEIGHTS_JSON_OBJECT)
        return fault_set(fault, STATUS_BAD_INPUT, LABEL ": it isn't an object");
    config->rank = 8; /* PEFT's defaults */
    config->alpha = 8;
    enum status status = check_text(&from, "peft_type", "LORA");
    if (status == STATUS_OK)
        status = check_text(&from, "bias", "none");
    if (status == STATUS_OK)
        status = check_begin(from.object, fault);
    if (status == STATUS_OK)
        status = check_keys(from.object, fault);
    if (status == STATUS_OK)
        status = weights_json_i64(&from, "r", 1, LIMIT_ADAPTER_RANK, &config->rank);
    if (status == STATUS_OK)
        status = weights_json_bool(&from, "use_rslora", &config->has_root_scale);
    if (status == STATUS_OK)
        status = read_pattern(&from, "rank_pattern", true, &config->ranks);
    if (status == STATUS_OK)
        status = read_pattern(&from, "alpha_pattern", false, &config->alphas);
    alpha = status == STATUS_OK ? weights_json_find(from.object, "lora_alpha") : NULL;
    if (alpha != NULL && !is_in_range(alpha, false))
        return fault_set(fault, STATUS_BAD_INPUT, LABEL ": lora_alpha isn't " ALPHA_RANGE);
    CHECK(alpha == NULL || weights_json_to_f64(alpha, &config->alpha));
    return status;
}

enum status weights_adapter_config_open(struct weights_adapter_config *config,
                                        const char *directory, struct fault *fault)
{
    char path[4352];
    *config = (struct weights_adapter_config){ .rank = 0 };
    int n = snprintf(path, sizeof(path), "%s/" LABEL, directory);
    if (n < 0 || n >= (int)sizeof(path))
        return fault_set(fault, STATUS_BAD_INPUT, LABEL ": the path is too long");
    enum status status = weights_json_open(&config->json, path, CONFIG_BYTES_MAX, LABEL, fault);
    return status == STATUS_OK ? read(config, fault) : status;
}

void weights_adapter_config_close(struct weights_adapter_config *config)
{
    weights_json_close(&config->json);
    config->json = (struct weights_json){ 0 };
}

/* Returns the value of the first key that is the module's name, or the end of it behind a dot. */
static const struct weights_json_node *value_of(const struct weights_json_node *map,
                                                const char *module)
{
    size_t n_module = strlen(module);
    const struct weights_json_node *value = map != NULL ? map + 1 : NULL;
    for (uint32_t i = 0; map != NULL && i < map->n; i++, value = weights_json_next(value)) {
        size_t n = strlen(value->key);
        if (n <= n_module && strcmp(module + n_module - n, value->key) == 0 &&
            (n == n_module || module[n_module - n - 1] == '.'))
            return value;
    }
    return NULL;
}

enum status weights_adapter_config_scale(const struct weights_adapter_config *config,
                                         const char *module, int32_t rank, float *scale,
                                         struct fault *fault)
{
    const struct weights_json_node *own_rank = value_of(config->ranks, module);
    const struct weights_json_node *own_alpha = value_of(config->alphas, module);
    int64_t expected = config->rank;
    double alpha = config->alpha;
    CHECK(own_rank == NULL || weights_json_to_i64(own_rank, &expected));
    CHECK(own_alpha == NULL || weights_json_to_f64(own_alpha, &alpha));
    if (expected != rank)
        return fault_set(fault, STATUS_BAD_INPUT,
                         LABEL ": %.100s has rank %lld, but its tensors have rank %d", module,
                         (long long)expected, rank);
    *scale = (float)(alpha / (config->has_root_scale ? num_sqrt((double)rank) : (double)rank));
    return STATUS_OK;
}
