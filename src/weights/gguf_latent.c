/* The keys mean what llama.cpp takes them for. Conversions of 2025 and later have dimensions of the
 * heads under names that end with _mla. */
#include "weights/gguf_latent.h"
#include "weights/gguf_meta.h"
#include "base/num.h"

static enum status read_size(const struct weights_gguf *gguf, const char *key, int64_t *out,
                             struct fault *fault)
{
    enum status status = weights_gguf_meta_i64(gguf, key, 0, 1 << 20, out, fault);
    if (status == STATUS_OK && *out < 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s is missing", gguf->label, key);
    return status;
}

enum status weights_gguf_latent_heads(const struct weights_gguf *gguf, struct model_spec *spec,
                                      struct fault *fault)
{
    int64_t rank = -1, query_rank = 0, rope = -1, key = -1, value = -1, n_kv_heads = 1;
    bool is_newer = weights_gguf_meta_find(gguf, "deepseek2.attention.key_length_mla") != NULL;
    const struct {
        const char *key;
        int64_t *out;
    } rows[] = {
        { "deepseek2.attention.kv_lora_rank", &rank },
        { "deepseek2.attention.q_lora_rank", &query_rank },
        { "deepseek2.rope.dimension_count", &rope },
        { is_newer ? "deepseek2.attention.key_length_mla" : "deepseek2.attention.key_length",
          &key },
        { is_newer ? "deepseek2.attention.value_length_mla" : "deepseek2.attention.value_length",
          &value },
        { "deepseek2.attention.head_count_kv", &n_kv_heads },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_size(gguf, rows[i].key, rows[i].out, fault);
        if (status != STATUS_OK)
            return status;
    }
    if (rank < 1 || key <= rope)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: deepseek2.attention.kv_lora_rank is %lld, and %s is %lld for a "
                         "rotated part of %lld, expected at least 1, and more than that part",
                         gguf->label, (long long)rank, rows[3].key, (long long)key,
                         (long long)rope);
    if (n_kv_heads != 1 && n_kv_heads != spec->n_heads)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: deepseek2.attention.head_count_kv is %lld, expected 1 or %d",
                         gguf->label, (long long)n_kv_heads, spec->n_heads);
    spec->latent = (struct latent_spec){ .rank = (int32_t)rank,
                                         .query_rank = (int32_t)query_rank,
                                         .key_dim = (int32_t)(key - rope),
                                         .value_dim = (int32_t)value };
    spec->n_kv_heads = 1;
    spec->n_rope_dims = (int32_t)rope;
    spec->head_dim = (int32_t)(rank + rope);
    return STATUS_OK;
}

enum status weights_gguf_latent_scores(const struct weights_gguf *gguf, struct model_spec *spec,
                                       struct fault *fault)
{
    const char *const log_key = "deepseek2.rope.scaling.yarn_log_multiplier";
    const char *const factor_key = "deepseek2.rope.scaling.attn_factor";
    struct rope_scaling *scaling = &spec->rope_scaling;
    float by = 0, attention = 1;
    if (spec->latent.rank == 0)
        return STATUS_OK;
    spec->latent.norm_epsilon = spec->norm_epsilon;
    spec->score_divisor = (float)(spec->latent.key_dim + spec->n_rope_dims);
    enum status status = weights_gguf_meta_f32(gguf, log_key, &by, fault);
    if (status == STATUS_OK)
        status = weights_gguf_meta_f32(gguf, factor_key, &attention, fault);
    if (status != STATUS_OK)
        return status;
    bool has_none = scaling->kind == ROPE_SCALING_NONE,
         is_yarn = scaling->kind == ROPE_SCALING_YARN;
    if (attention != 1.0f || (!has_none && !is_yarn) || (is_yarn && !(by > 0 && by <= 1)))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: only the rotation of deepseek2 without scaling, or by yarn with a %s "
                         "from 0 to 1 and no other %s than 1 is supported",
                         gguf->label, log_key, factor_key);
    if (has_none || scaling->factor <= 1.0f)
        return STATUS_OK;
    double scale = 1.0 + (double)by * num_log((double)scaling->factor);
    spec->score_divisor = (float)((double)spec->score_divisor / (scale * scale * scale * scale));
    scaling->attention_factor = 1.0f;
    return STATUS_OK;
}
