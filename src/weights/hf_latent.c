/* An absent key has the value that the transformers library gives it. */
#include "weights/hf_latent.h"
#include "weights/hf_rope.h"
#include "base/num.h"
#include <string.h>

/* Reads the dimensions. The rank of queries may be null: then the stream makes them itself. */
static enum status read_dimensions(const struct weights_json_from *config, struct model_spec *spec)
{
    int64_t rank = 512, query_rank = 1536, rope = 64, key = 128, value = 128;
    const struct {
        const char *key;
        int64_t *out;
    } rows[] = {
        { "kv_lora_rank", &rank },    { "q_lora_rank", &query_rank }, { "qk_rope_head_dim", &rope },
        { "qk_nope_head_dim", &key }, { "v_head_dim", &value },
    };
    const struct weights_json_node *queries = weights_json_member(config->object, "q_lora_rank");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = weights_json_i64(config, rows[i].key, 2, 1 << 20, rows[i].out);
        if (status != STATUS_OK)
            return status;
    }
    spec->latent = (struct latent_spec){
        .rank = (int32_t)rank,
        .query_rank =
            queries != NULL && queries->kind == WEIGHTS_JSON_NULL ? 0 : (int32_t)query_rank,
        .key_dim = (int32_t)key,
        .value_dim = (int32_t)value,
        .norm_epsilon = 1e-6f, /* rms_norm_eps is for the other norms */
    };
    spec->n_kv_heads = 1;
    spec->n_rope_dims = (int32_t)rope;
    spec->head_dim = (int32_t)(rank + rope);
    return STATUS_OK;
}

/* Every head has keys and values of its own. */
static enum status check_heads(const struct weights_json_from *config,
                               const struct model_spec *spec)
{
    int64_t n = spec->n_heads, rope = 64, head_dim = 0;
    enum status status = weights_json_i64(config, "num_key_value_heads", 0, INT32_MAX, &n);
    if (status == STATUS_OK && n != spec->n_heads)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: num_key_value_heads is %lld, and %s supports only its %d "
                         "heads",
                         (long long)n, spec->architecture, spec->n_heads);
    if (status == STATUS_OK)
        status = weights_json_i64(config, "qk_rope_head_dim", 2, 1 << 20, &rope);
    if (status == STATUS_OK)
        status = weights_json_i64(config, "head_dim", 0, INT32_MAX, &head_dim);
    if (status == STATUS_OK && head_dim != 0 && head_dim != rope)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: head_dim is %lld, and %s supports only its "
                         "qk_rope_head_dim, which is %lld",
                         (long long)head_dim, spec->architecture, (long long)rope);
    return status;
}

/* V3: pairs are rotated, unless rope_interleave is false. */
static enum status read_rotation(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct weights_json_node *value = weights_json_member(config->object, "rope_interleave");
    bool is_pairs = value == NULL || value->kind != WEIGHTS_JSON_NULL;
    enum status status = weights_json_bool(config, "rope_interleave", &is_pairs);
    if (strcmp(spec->architecture, "deepseek3") == 0 && !is_pairs)
        spec->position = POSITION_ROPE_HALVES;
    return status;
}

/* Scores are multiplied by the square of YaRN's factor for all dimensions. */
static enum status read_scores(const struct weights_json_from *config, struct model_spec *spec)
{
    struct weights_json_from scaling = { weights_hf_rope_scaling(config->object),
                                         "config.json: rope scaling", config->fault };
    const char *kind = NULL;
    float by_all = 0, factor = 0;
    double scale = 1;
    spec->score_divisor = (float)(spec->latent.key_dim + spec->n_rope_dims);
    if (scaling.object == NULL || scaling.object->kind != WEIGHTS_JSON_OBJECT)
        return STATUS_OK; /* hf_rope.c refuses the second */
    enum status status = weights_json_text(&scaling, "type", &kind);
    if (status == STATUS_OK)
        status = weights_json_text(&scaling, "rope_type", &kind);
    if (status == STATUS_OK)
        status = weights_json_f32(&scaling, "mscale_all_dim", &by_all);
    if (status == STATUS_OK)
        status = weights_json_f32(&scaling, "factor", &factor);
    if (status != STATUS_OK || kind == NULL || strcmp(kind, "default") == 0 || by_all == 0)
        return status;
    if (factor == 0)
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: rope scaling has mscale_all_dim, but no factor");
    if (factor > 1.0f)
        scale = 0.1 * (double)by_all * num_log((double)factor) + 1.0;
    if (!(scale >= 0.1 && scale <= 10))
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: mscale_all_dim is %g, which is out of range",
                         (double)by_all);
    spec->score_divisor = (float)((double)spec->score_divisor / (scale * scale * scale * scale));
    return STATUS_OK;
}

enum status weights_hf_latent(const struct weights_json_from *config, struct model_spec *spec)
{
    if (strcmp(spec->architecture, "deepseek2") != 0 &&
        strcmp(spec->architecture, "deepseek3") != 0)
        return STATUS_OK;
    enum status status = check_heads(config, spec);
    if (status == STATUS_OK)
        status = read_dimensions(config, spec);
    if (status == STATUS_OK)
        status = read_rotation(config, spec);
    return status != STATUS_OK ? status : read_scores(config, spec);
}
