/* One row of key names per family. An absent key has the value that the transformers library gives
 * it. */
#include "weights/hf_experts.h"
#include "core/limits.h"
#include <string.h>

static const struct row {
    const char *architecture, *n_experts, *width;
    int32_t n_experts_usual, n_used_usual;
    bool is_scaled_to_one; /* unless norm_topk_prob determines it */
} rows[] = {
    { "granitemoe", "num_local_experts", "intermediate_size", 8, 2, true },
    { "glm4moe", "n_routed_experts", "moe_intermediate_size", 128, 8, true },
    { "deepseek2", "n_routed_experts", "moe_intermediate_size", 64, 0, false },
    { "deepseek3", "n_routed_experts", "moe_intermediate_size", 256, 8, true },
    { "mixtral", "num_local_experts", "intermediate_size", 8, 2, true },
    { "olmoe", "num_experts", "intermediate_size", 64, 8, false },
    { "qwen2moe", "num_experts", "moe_intermediate_size", 60, 4, false },
    { "gpt-oss", "num_local_experts", "intermediate_size", 128, 4, true },
    { "qwen3moe", "num_experts", "moe_intermediate_size", 128, 8, false },
};

static enum status read_size(const struct weights_json_from *config, const char *key, int32_t usual,
                             int32_t *out)
{
    int64_t value = usual;
    enum status status = weights_json_i64(config, key, 1, INT32_MAX, &value);
    *out = (int32_t)value;
    return status;
}

static void set_dense(struct model_spec *spec, int32_t layer)
{
    spec->n_dense_layers += !spec->is_dense_layer[layer];
    spec->is_dense_layer[layer] = true;
}

/* qwen2_moe, qwen3_moe: layers of mlp_only_layers have no experts, and only each
 * decoder_sparse_step-th layer has some. */
static enum status read_sparse(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct weights_json_node *list = weights_json_find(config->object, "mlp_only_layers");
    int32_t step;
    enum status status = read_size(config, "decoder_sparse_step", 1, &step);
    for (int32_t i = 0; i < spec->n_layers && status == STATUS_OK; i++)
        if ((i + 1) % step != 0)
            set_dense(spec, i);
    if (status != STATUS_OK || list == NULL || list->kind == WEIGHTS_JSON_NULL)
        return status;
    if (list->kind != WEIGHTS_JSON_ARRAY)
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: mlp_only_layers isn't a list");
    const struct weights_json_node *element = list + 1;
    for (uint32_t i = 0; i < list->n; i++, element = weights_json_next(element)) {
        int64_t layer = -1;
        if (!weights_json_to_i64(element, &layer) || layer < 0 || layer >= spec->n_layers)
            return fault_set(config->fault, STATUS_BAD_INPUT,
                             "config.json: mlp_only_layers holds something else than layers");
        set_dense(spec, (int32_t)layer);
    }
    return STATUS_OK;
}

/* The values that these families have without a key. */
static const struct sharing {
    const char *architecture;
    int32_t n_groups, n_groups_used, n_shared, n_dense, n_ignored;
    float scale;
    bool is_sigmoid;
} sharings[] = {
    { "glm4moe", 1, 1, 1, 1, 1, 1.0f, true },
    { "deepseek2", 1, 1, 2, 0, 0, 1.0f, false },
    { "deepseek3", 8, 4, 1, 3, 1, 2.5f, true },
};

static const struct sharing *sharing_of(const struct model_spec *spec)
{
    for (size_t i = 0; i < COUNT_OF(sharings); i++)
        if (strcmp(sharings[i].architecture, spec->architecture) == 0)
            return &sharings[i];
    return NULL;
}

/* Reads the groups of experts. DeepSeek-V2 has some only with one of its two methods, and there a
 * group counts as much as its best expert. */
static enum status read_groups(const struct weights_json_from *config, const struct sharing *usual,
                               struct expert_spec *experts)
{
    bool is_v2 = strcmp(usual->architecture, "deepseek2") == 0;
    const char *method = "greedy";
    enum status status = read_size(config, "n_group", usual->n_groups, &experts->n_groups);
    if (status == STATUS_OK)
        status = read_size(config, "topk_group", usual->n_groups_used, &experts->n_groups_used);
    if (status == STATUS_OK && is_v2)
        status = weights_json_text(config, "topk_method", &method);
    if (status != STATUS_OK || !is_v2)
        return status;
    experts->is_group_by_best = strcmp(method, "group_limited_greedy") == 0;
    if (strcmp(method, "greedy") == 0)
        experts->n_groups = experts->n_groups_used = 1;
    else if (!experts->is_group_by_best)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: topk_method \"%.60s\" is not supported; \"greedy\" and "
                         "\"group_limited_greedy\" are",
                         method);
    return STATUS_OK;
}

/* glm4_moe, deepseek: groups, shared experts, dense layers first. */
static enum status read_sharing(const struct weights_json_from *config, const struct sharing *usual,
                                struct model_spec *spec)
{
    struct expert_spec *experts = &spec->experts;
    int64_t n_shared = usual->n_shared, n_dense = usual->n_dense, n_ignored = usual->n_ignored;
    experts->is_sigmoid = usual->is_sigmoid;
    experts->scale = usual->scale;
    enum status status = read_groups(config, usual, experts);
    if (status == STATUS_OK)
        status = weights_json_i64(config, "n_shared_experts", 0, LIMIT_EXPERTS, &n_shared);
    if (status == STATUS_OK)
        status = weights_json_i64(config, "first_k_dense_replace", 0, INT32_MAX, &n_dense);
    if (status == STATUS_OK)
        status = weights_json_i64(config, "num_nextn_predict_layers", 0, 64, &n_ignored);
    if (status == STATUS_OK)
        status = weights_json_f32(config, "routed_scaling_factor", &experts->scale);
    if (status == STATUS_OK)
        status = weights_json_bool(config, "use_qk_norm", &spec->has_qk_norm);
    if (status != STATUS_OK)
        return status;
    if (!(experts->scale > 0)) /* 0 would stand for 1 */
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: routed_scaling_factor is %g, expected more than 0",
                         (double)experts->scale);
    spec->ffn_width = (int32_t)min_i64(n_shared * experts->width, INT32_MAX);
    spec->n_ignored_layers = (int32_t)n_ignored;
    for (int32_t i = 0; i < spec->n_layers && i < n_dense; i++)
        set_dense(spec, i);
    return STATUS_OK;
}

static enum status read_layers(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct sharing *sharing = sharing_of(spec);
    bool is_qwen = strncmp(spec->architecture, "qwen", 4) == 0;
    if (spec->n_layers > LIMIT_LAYERS || (sharing == NULL && !is_qwen))
        return STATUS_OK; /* model_spec_check refuses the first */
    enum status status =
        sharing != NULL ? read_sharing(config, sharing, spec) : read_sparse(config, spec);
    if (status != STATUS_OK || spec->n_dense_layers == 0)
        return status;
    if (spec->n_dense_layers == spec->n_layers)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: no layer has experts (%s), which is not supported",
                         sharing != NULL ? "first_k_dense_replace"
                                         : "decoder_sparse_step, mlp_only_layers");
    if (weights_json_member(config->object, "intermediate_size") == NULL)
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: intermediate_size is missing");
    return read_size(config, "intermediate_size", 0, &spec->dense_width);
}

enum status weights_hf_experts(const struct weights_json_from *config, struct model_spec *spec)
{
    struct expert_spec *experts = &spec->experts;
    const struct row *row = rows;
    while (row < rows + COUNT_OF(rows) && strcmp(row->architecture, spec->architecture) != 0)
        row++;
    if (row == rows + COUNT_OF(rows))
        return STATUS_OK;
    if (weights_json_member(config->object, row->width) == NULL)
        return fault_set(config->fault, STATUS_BAD_INPUT, "config.json: %s is missing", row->width);
    experts->is_scaled_to_one = row->is_scaled_to_one;
    enum status status =
        read_size(config, row->n_experts, row->n_experts_usual, &experts->n_experts);
    if (status == STATUS_OK)
        status = read_size(config, "num_experts_per_tok", row->n_used_usual, &experts->n_used);
    if (status == STATUS_OK)
        status = read_size(config, row->width, 0, &experts->width);
    if (status == STATUS_OK)
        status = weights_json_bool(config, "norm_topk_prob", &experts->is_scaled_to_one);
    return status != STATUS_OK ? status : read_layers(config, spec);
}
