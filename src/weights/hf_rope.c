/* From config.json to rotations: bases, what contexts are stretched by, and which part of a head is
 * rotated.
 *
 * A key that is absent has the value that the transformers library gives it. */
#include "weights/hf_rope.h"
#include "base/num.h"
#include <string.h>

static enum status refuse(const struct weights_json_from *config, const char *key,
                          const char *value)
{
    return fault_set(config->fault, STATUS_UNSUPPORTED,
                     "config.json: %s \"%.60s\" is not supported", key, value);
}

/* phi3's factors for each frequency, or the name of older files for them. */
static bool is_long(const struct model_spec *spec, const char *kind)
{
    return strcmp(spec->architecture, "phi3") == 0 &&
           (strcmp(kind, "longrope") == 0 || strcmp(kind, "su") == 0 || strcmp(kind, "yarn") == 0);
}

/* What follows from the contexts before and after stretching, unless the file says it. */
static enum status read_long(const struct weights_json_from *config,
                             const struct weights_json_from *from, const struct model_spec *spec,
                             struct rope_scaling *scaling)
{
    int64_t n_original = 4096; /* what transformers takes */
    enum status status =
        weights_json_i64(config, "original_max_position_embeddings", 2, LIMIT_CONTEXT, &n_original);
    if (status == STATUS_OK)
        status = weights_json_i64(from, "original_max_position_embeddings", 2, LIMIT_CONTEXT,
                                  &n_original);
    if (status != STATUS_OK)
        return status;
    double factor = (double)spec->n_positions_max / (double)n_original;
    double usual = 1.0 + num_log(factor > 1.0 ? factor : 1.0) / num_log((double)n_original);
    *scaling = (struct rope_scaling){ .kind = ROPE_SCALING_LONG,
                                      .n_positions_original = (int32_t)n_original,
                                      .attention_factor = (float)num_sqrt(usual),
                                      .is_long = spec->n_positions_max > n_original };
    return weights_json_f32(from, "attention_factor", &scaling->attention_factor);
}

/* rope: the object rope_scaling, or rope_parameters as newer files have it. */
static enum status read_scaling(const struct weights_json_from *config,
                                const struct weights_json_node *rope, const struct model_spec *spec,
                                struct rope_scaling *out)
{
    struct weights_json_from from = { rope, "config.json: rope scaling", config->fault };
    struct rope_scaling scaling = { .factor = 1.0f,
                                    .low_freq_factor = 1.0f,
                                    .high_freq_factor = 4.0f };
    const char *kind = "default";
    int64_t n_original = spec->n_positions_max;
    enum status status = weights_json_text(&from, "type", &kind);
    if (status == STATUS_OK)
        status = weights_json_text(&from, "rope_type", &kind);
    if (status != STATUS_OK || strcmp(kind, "default") == 0)
        return status;
    if (is_long(spec, kind))
        return read_long(config, &from, spec, out);
    if (strcmp(kind, "linear") == 0)
        scaling.kind = ROPE_SCALING_LINEAR;
    else if (strcmp(kind, "llama3") == 0)
        scaling.kind = ROPE_SCALING_LLAMA3;
    else
        return refuse(config, "rope scaling", kind);
    status = weights_json_f32(&from, "factor", &scaling.factor);
    if (status == STATUS_OK)
        status = weights_json_f32(&from, "low_freq_factor", &scaling.low_freq_factor);
    if (status == STATUS_OK)
        status = weights_json_f32(&from, "high_freq_factor", &scaling.high_freq_factor);
    if (status == STATUS_OK)
        status = weights_json_i64(&from, "original_max_position_embeddings", 1, LIMIT_CONTEXT,
                                  &n_original);
    if (scaling.kind == ROPE_SCALING_LLAMA3)
        scaling.n_positions_original = (int32_t)n_original;
    else
        scaling.low_freq_factor = scaling.high_freq_factor = 0;
    *out = scaling;
    return status;
}

/* Where scaling is written: in rope_parameters, or in rope_scaling as older files have it. */
static const struct weights_json_node *scaling_of(const struct weights_json_node *config)
{
    const struct weights_json_node *rope = weights_json_find(config, "rope_parameters");
    return rope != NULL ? rope : weights_json_find(config, "rope_scaling");
}

/* gemma3: layers that see everything have a base and a scaling of their own. */
static enum status read_two_ropes(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct weights_json_node *rope = weights_json_find(config->object, "rope_parameters");
    const struct weights_json_node *full = weights_json_find(rope, "full_attention");
    const struct weights_json_node *local = weights_json_find(rope, "sliding_attention");
    struct weights_json_from from_full = { full, "config.json: full_attention", config->fault };
    struct weights_json_from from_local = { local, "config.json: sliding_attention",
                                            config->fault };
    spec->rope_base = 1e4f;
    spec->rope_base_full = 1e6f;
    enum status status = weights_json_f32(config, "rope_theta", &spec->rope_base_full);
    if (status == STATUS_OK)
        status = weights_json_f32(config, "rope_local_base_freq", &spec->rope_base);
    if (status == STATUS_OK)
        status = weights_json_f32(&from_full, "rope_theta", &spec->rope_base_full);
    if (status == STATUS_OK)
        status = weights_json_f32(&from_local, "rope_theta", &spec->rope_base);
    if (full == NULL)
        full = weights_json_find(config->object, "rope_scaling");
    if (status == STATUS_OK && full != NULL)
        status = read_scaling(config, full, spec, &spec->rope_scaling_full);
    return status != STATUS_OK || local == NULL
               ? status
               : read_scaling(config, local, spec, &spec->rope_scaling);
}

/* The first part of each head is rotated. */
static enum status read_partial(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct weights_json_node *rope = weights_json_find(config->object, "rope_parameters");
    struct weights_json_from nested = { rope, "config.json: rope_parameters", config->fault };
    float partial = 1.0f;
    enum status status = weights_json_f32(config, "partial_rotary_factor", &partial);
    if (status == STATUS_OK)
        status = weights_json_f32(&nested, "partial_rotary_factor", &partial);
    if (status != STATUS_OK || partial == 1.0f)
        return status;
    if (strcmp(spec->architecture, "phi3") != 0)
        return refuse(config, "partial_rotary_factor", "not 1");
    if (!(partial > 0.0f && partial < 1.0f))
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: partial_rotary_factor is %g, expected at most 1",
                         (double)partial);
    spec->n_rope_dims = (int32_t)((double)spec->head_dim * (double)partial);
    return STATUS_OK;
}

enum status weights_hf_rope(const struct weights_json_from *config, struct model_spec *spec)
{
    float ratio = 1.0f;
    spec->rope_base = 10000.0f;
    if (spec->position == POSITION_LEARNED)
        return STATUS_OK;
    enum status status = read_partial(config, spec);
    if (status != STATUS_OK || strcmp(spec->architecture, "gemma3") == 0)
        return status != STATUS_OK ? status : read_two_ropes(config, spec);
    const struct weights_json_node *rope = weights_json_find(config->object, "rope_parameters");
    struct weights_json_from nested = { rope, "config.json: rope_parameters", config->fault };
    status = weights_json_f32(config, "rope_theta", &spec->rope_base);
    if (status == STATUS_OK)
        status = weights_json_f32(&nested, "rope_theta", &spec->rope_base);
    if (status == STATUS_OK)
        status = weights_json_f32(config, "rope_ratio", &ratio);
    if (status != STATUS_OK)
        return status;
    spec->rope_base *= ratio; /* ChatGLM's long variants */
    rope = scaling_of(config->object);
    return rope != NULL ? read_scaling(config, rope, spec, &spec->rope_scaling) : STATUS_OK;
}

enum status weights_hf_rope_factors(const struct weights_json_node *config,
                                    const struct model_spec *spec, struct pile *pile,
                                    struct tensor *out, struct fault *fault)
{
    const char *key = spec->rope_scaling.is_long ? "long_factor" : "short_factor";
    int32_t n = spec->n_rope_dims / 2;
    if (spec->rope_scaling.kind != ROPE_SCALING_LONG)
        return STATUS_OK;
    const struct weights_json_node *list = weights_json_find(scaling_of(config), key);
    if (list == NULL || list->kind != WEIGHTS_JSON_ARRAY || list->n != (uint32_t)n)
        return fault_set(fault, STATUS_BAD_INPUT, "config.json: %s isn't a list of %d numbers", key,
                         n);
    float *factors = pile_take(pile, (size_t)n * sizeof(*factors));
    const struct weights_json_node *value = list + 1;
    for (int32_t i = 0; i < n; i++, value = weights_json_next(value)) {
        double factor = 0;
        if (!weights_json_to_f64(value, &factor) || !(factor >= 1e-6 && factor <= 1e6))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "config.json: %s holds something else than numbers of 1e-6 to 1e6",
                             key);
        factors[i] = (float)factor;
    }
    *out = (struct tensor){ factors, DTYPE_F32, 1, n, dtype_row_bytes(DTYPE_F32, n), false };
    return STATUS_OK;
}
