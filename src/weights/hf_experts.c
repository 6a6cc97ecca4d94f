/* One row of key names per family. An absent key has the value that the transformers library gives
 * it. */
#include "weights/hf_experts.h"
#include <string.h>

static const struct row {
    const char *architecture, *n_experts, *width;
    int32_t n_experts_usual, n_used_usual;
    bool is_scaled_to_one; /* unless norm_topk_prob determines it */
} rows[] = {
    { "mixtral", "num_local_experts", "intermediate_size", 8, 2, true },
    { "olmoe", "num_experts", "intermediate_size", 64, 8, false },
    { "qwen2moe", "num_experts", "moe_intermediate_size", 60, 4, false },
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
    return status;
}
