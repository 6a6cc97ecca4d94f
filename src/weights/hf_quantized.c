/* From quantization_config to schemes, method by method. */
#include "weights/hf_quantized.h"
#include <stdio.h>
#include <string.h>

#define GROUP_MAX ((int64_t)1 << 30)

struct reader {
    struct weights_json_from from; /* the object and its key as the label */
    struct weights_quantization *out;
};

static enum status refuse(const struct weights_json_from *from, const char *key)
{
    char text[96] = "absent";
    const struct weights_json_node *value = weights_json_find(from->object, key);
    if (value != NULL)
        weights_json_print(value, text, sizeof(text));
    return fault_set(from->fault, STATUS_UNSUPPORTED,
                     "%s: %s is %s, which is not supported: take the checkpoint in F16 or BF16, or "
                     "a GGUF file",
                     from->label, key, text);
}

/* Refuses a key that has a value other than `only`, which NULL, {} and absence mean too. */
static enum status check_only(const struct weights_json_from *from, const char *key,
                              const char *only)
{
    const struct weights_json_node *value = weights_json_find(from->object, key);
    bool is_empty = value != NULL && value->kind == WEIGHTS_JSON_OBJECT && value->n == 0;
    if (value == NULL || is_empty || (only != NULL && weights_json_is_text(value, only)))
        return STATUS_OK;
    return refuse(from, key);
}

static enum status add_scheme(const struct reader *r, struct weights_scheme scheme)
{
    if (r->out->n_schemes == WEIGHTS_SCHEMES_MAX)
        return fault_set(r->from.fault, STATUS_TOO_LARGE, "%s: more than %d config_groups",
                         r->from.label, WEIGHTS_SCHEMES_MAX);
    r->out->schemes[r->out->n_schemes++] = scheme;
    return STATUS_OK;
}

/* Reads [rows, columns] that share a scale. *has_block stays false when the key is absent. */
static enum status read_block(const struct weights_json_from *from, const char *key,
                              struct weights_scheme *scheme, bool *has_block)
{
    const struct weights_json_node *value = weights_json_find(from->object, key);
    *has_block = value != NULL;
    if (value == NULL)
        return STATUS_OK;
    int64_t *sizes[] = { &scheme->row_group, &scheme->group };
    bool is_pair = value->kind == WEIGHTS_JSON_ARRAY && value->n == 2;
    const struct weights_json_node *size = value + 1;
    for (int i = 0; i < 2 && is_pair; i++, size = weights_json_next(size))
        is_pair = weights_json_to_i64(size, sizes[i]) && *sizes[i] >= 1 && *sizes[i] <= GROUP_MAX;
    if (!is_pair)
        return fault_set(from->fault, STATUS_BAD_INPUT,
                         "%s: %s isn't two sizes, such as [128, 128]", from->label, key);
    return scheme->group % 128 == 0 ? STATUS_OK : refuse(from, key);
}

static enum status read_fp8(const struct reader *r)
{
    struct weights_scheme scheme = { .is_float = true, .is_symmetric = true, .n_bits = 8 };
    bool has_block;
    enum status status = check_only(&r->from, "fmt", "e4m3");
    if (status == STATUS_OK)
        status = read_block(&r->from, "weight_block_size", &scheme, &has_block);
    return status != STATUS_OK ? status : add_scheme(r, scheme);
}

/* Reads group_size: -1 is a scale for each row. */
static enum status read_group(const struct weights_json_from *from, struct weights_scheme *scheme)
{
    int64_t group = scheme->group;
    enum status status = weights_json_i64(from, "group_size", -1, GROUP_MAX, &group);
    if (status != STATUS_OK)
        return status;
    scheme->row_group = 1;
    scheme->group = group < 0 ? 0 : group;
    return group >= 0 && (group == 0 || group % 32 != 0) ? refuse(from, "group_size") : STATUS_OK;
}

/* Reads the layout, which has two names. *key becomes the one that counts. */
static enum status read_layout(const struct weights_json_from *from, const char *older,
                               const char **key, const char **layout)
{
    *key = weights_json_find(from->object, older) != NULL ? older : "format";
    return weights_json_text(from, *key, layout);
}

static enum status read_gptq(const struct reader *r)
{
    const struct weights_json_from *from = &r->from;
    struct weights_scheme scheme = { .is_packed = true, .is_symmetric = true, .group = 128 };
    const char *format = "gptq", *key;
    int64_t n_bits = 0;
    bool is_marlin = false;
    enum status status = weights_json_i64(from, "bits", 1, 32, &n_bits);
    if (status == STATUS_OK)
        status = weights_json_bool(from, "sym", &scheme.is_symmetric);
    if (status == STATUS_OK)
        status = read_layout(from, "checkpoint_format", &key, &format);
    if (status == STATUS_OK)
        status = weights_json_bool(from, "is_marlin_format", &is_marlin);
    if (status == STATUS_OK)
        status = weights_json_bool(from, "desc_act", &r->out->is_ordered);
    if (status == STATUS_OK)
        status = read_group(from, &scheme);
    if (status == STATUS_OK)
        status = check_only(from, "pack_dtype", "int32");
    if (status != STATUS_OK)
        return status;
    bool is_v2 = strcmp(format, "gptq_v2") == 0;
    if (!is_v2 && strcmp(format, "gptq") != 0)
        return refuse(from, key);
    if (is_marlin)
        return refuse(from, "is_marlin_format");
    if (n_bits != 4 && n_bits != 8)
        return refuse(from, "bits");
    if (n_bits == 8 && !scheme.is_symmetric) /* code - zero needs 9 bits */
        return refuse(from, "sym");
    scheme.n_bits = (int32_t)n_bits;
    r->out->zero_added = is_v2 ? 0 : 1;
    return add_scheme(r, scheme);
}

static enum status read_awq(const struct reader *r)
{
    const struct weights_json_from *from = &r->from;
    struct weights_scheme scheme = { .is_packed = true, .group = 128, .n_bits = 4 };
    const char *version = "gemm", *key;
    int64_t n_bits = 4;
    enum status status = weights_json_i64(from, "bits", 1, 32, &n_bits);
    if (status == STATUS_OK)
        status = read_layout(from, "version", &key, &version);
    if (status == STATUS_OK)
        status = read_group(from, &scheme);
    if (status != STATUS_OK)
        return status;
    if (n_bits != 4)
        return refuse(from, "bits");
    if (strcmp(version, "gemm") != 0 && strcmp(version, "GEMM") != 0)
        return refuse(from, key);
    return add_scheme(r, scheme);
}

/* Reads the strategy of compressed-tensors: which weights share a scale. */
static enum status read_strategy(const struct weights_json_from *from,
                                 struct weights_scheme *scheme)
{
    const char *strategy = NULL;
    bool has_block = false, has_group = weights_json_find(from->object, "group_size") != NULL;
    enum status status = weights_json_text(from, "strategy", &strategy);
    if (status != STATUS_OK)
        return status;
    if (strategy == NULL)
        strategy = has_group ? "group" : "tensor";
    if (strcmp(strategy, "tensor") == 0)
        return STATUS_OK;
    scheme->row_group = 1;
    if (strcmp(strategy, "channel") == 0)
        return STATUS_OK;
    if (strcmp(strategy, "group") == 0 && has_group)
        return read_group(from, scheme);
    if (strcmp(strategy, "block") != 0)
        return refuse(from, "strategy");
    status = read_block(from, "block_structure", scheme, &has_block);
    return status == STATUS_OK && !has_block ? refuse(from, "block_structure") : status;
}

/* Reads the format, which a group may have for itself: whether integers lie in words. */
static enum status read_format(const struct weights_json_from *from, const char *usual,
                               struct weights_scheme *scheme)
{
    static const char *const formats[] = { "pack-quantized", "float-quantized", "int-quantized",
                                           "naive-quantized" };
    const char *format = usual;
    enum status status = weights_json_text(from, "format", &format);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (format != NULL && strcmp(format, formats[i]) == 0) {
            scheme->is_packed = i == 0;
            return STATUS_OK;
        }
    return fault_set(from->fault, STATUS_UNSUPPORTED,
                     "%s: format \"%.60s\" is not supported: take the checkpoint in F16 or BF16, "
                     "or a GGUF file",
                     from->label, format == NULL ? "" : format);
}

static enum status read_weights(const struct reader *r, const struct weights_json_from *from,
                                struct weights_scheme scheme)
{
    const char *type = "int";
    int64_t n_bits = 8;
    bool is_dynamic = false;
    enum status status = weights_json_text(from, "type", &type);
    if (status == STATUS_OK)
        status = weights_json_i64(from, "num_bits", 1, 32, &n_bits);
    if (status == STATUS_OK)
        status = weights_json_bool(from, "symmetric", &scheme.is_symmetric);
    if (status == STATUS_OK)
        status = weights_json_bool(from, "dynamic", &is_dynamic);
    if (status == STATUS_OK)
        status = read_strategy(from, &scheme);
    if (status != STATUS_OK)
        return status;
    scheme.is_float = strcmp(type, "float") == 0;
    scheme.n_bits = (int32_t)n_bits;
    if (!scheme.is_float && strcmp(type, "int") != 0)
        return refuse(from, "type");
    if (n_bits != 8 && (n_bits != 4 || scheme.is_float || !scheme.is_packed))
        return refuse(from, "num_bits");
    if (!scheme.is_symmetric && (scheme.is_float || n_bits == 8))
        return refuse(from, "symmetric");
    if (is_dynamic)
        return refuse(from, "dynamic");
    if (!scheme.is_float && scheme.row_group > 1)
        return refuse(from, "strategy");
    return add_scheme(r, scheme);
}

static enum status read_compressed(const struct reader *r)
{
    const struct weights_json_from *from = &r->from;
    const struct weights_json_node *groups = weights_json_find(from->object, "config_groups");
    const struct weights_json_node *sparsity = weights_json_find(from->object, "sparsity_config");
    const struct weights_json_from sparse = { sparsity, from->label, from->fault };
    const char *format = NULL;
    enum status status = check_only(from, "transform_config", NULL);
    if (status == STATUS_OK && sparsity != NULL && sparsity->kind != WEIGHTS_JSON_OBJECT)
        status = refuse(from, "sparsity_config");
    if (status == STATUS_OK && sparsity != NULL)
        status = check_only(&sparse, "format", "dense");
    if (status == STATUS_OK)
        status = weights_json_text(from, "format", &format);
    if (status == STATUS_OK &&
        (groups == NULL || groups->kind != WEIGHTS_JSON_OBJECT || groups->n == 0))
        status = refuse(from, "config_groups");
    const struct weights_json_node *group = groups == NULL ? NULL : groups + 1;
    for (uint32_t i = 0; status == STATUS_OK && i < groups->n;
         i++, group = weights_json_next(group)) {
        struct weights_scheme scheme = { .is_symmetric = true };
        struct weights_json_from inner = { group, from->label, from->fault };
        if (group->kind != WEIGHTS_JSON_OBJECT)
            return refuse(from, "config_groups");
        status = read_format(&inner, format, &scheme);
        if (status == STATUS_OK)
            status = check_only(&inner, "output_activations", NULL);
        inner.object = weights_json_find(group, "weights");
        if (status == STATUS_OK &&
            (inner.object == NULL || inner.object->kind != WEIGHTS_JSON_OBJECT))
            status = refuse(from, "config_groups");
        if (status == STATUS_OK)
            status = read_weights(r, &inner, scheme);
    }
    return status;
}

static enum status read_method(const struct weights_json_from *config, const char *key,
                               const char *family, struct weights_quantization *out)
{
    static const struct {
        const char *name;
        enum weights_quantized method;
        enum status (*read)(const struct reader *);
    } methods[] = {
        { "fp8", WEIGHTS_FP8, read_fp8 },
        { "gptq", WEIGHTS_GPTQ, read_gptq },
        { "awq", WEIGHTS_AWQ, read_awq },
        { "compressed-tensors", WEIGHTS_COMPRESSED, read_compressed },
    };
    const struct weights_json_node *quantized = weights_json_find(config->object, key);
    const struct weights_json_node *method = weights_json_find(quantized, "quant_method");
    char text[96] = "no quant_method", label[64];
    if (quantized == NULL)
        return STATUS_OK;
    if (out->method != WEIGHTS_PLAIN)
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: quantization_config and %s are both there; remove one of "
                         "the two",
                         key);
    if (strcmp(family, "gpt_oss") == 0 && weights_json_is_text(method, "mxfp4")) {
        out->method = WEIGHTS_MXFP4;
        return STATUS_OK;
    }
    snprintf(label, sizeof(label), "config.json: %s", key);
    const struct reader r = { { quantized, label, config->fault }, out };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (!weights_json_is_text(method, methods[i].name))
            continue;
        out->method = methods[i].method;
        enum status status = check_only(&r.from, "kv_cache_scheme", NULL);
        return status != STATUS_OK ? status : methods[i].read(&r);
    }
    if (method != NULL)
        weights_json_print(method, text, sizeof(text));
    return fault_set(config->fault, STATUS_UNSUPPORTED,
                     "config.json: %s asks for quantized weights (%s), which are not supported: "
                     "take the checkpoint in F16 or BF16, or a GGUF file",
                     key, text);
}

enum status weights_hf_quantized(const struct weights_json_from *config, const char *family,
                                 struct weights_quantization *out)
{
    *out = (struct weights_quantization){ .method = WEIGHTS_PLAIN };
    enum status status = read_method(config, "quantization_config", family, out);
    return status != STATUS_OK ? status : read_method(config, "compression_config", family, out);
}
