/* One step per kind of switch. An absent key has the value that the transformers library gives it.
 */
#include "weights/hf_dense.h"
#include "weights/keys.h"
#include "base/num.h"

static bool is_one_of(const struct model_spec *spec, const char *architectures)
{
    return weights_keys_hold(architectures, ' ', view_text(spec->architecture));
}

static enum status read_positive(const struct weights_json_from *config, const char *key,
                                 float *out)
{
    enum status status = weights_json_f32(config, key, out);
    if (status == STATUS_OK && !(*out > 0))
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: %s is %g, expected more than 0", key, (double)*out);
    return status;
}

static enum status read_multipliers(const struct weights_json_from *config, struct model_spec *spec)
{
    float embedding = 1, logits = 1, residual = 1, attention = 1;
    const struct {
        const char *key;
        float *out;
    } rows[] = {
        { "embedding_multiplier", &embedding },
        { "logits_scaling", &logits },
        { "residual_multiplier", &residual },
        { "attention_multiplier", &attention },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_positive(config, rows[i].key, rows[i].out);
        if (status != STATUS_OK)
            return status;
    }
    spec->embedding_scale = embedding;
    spec->logit_scale = (float)(1.0 / (double)logits);
    spec->score_divisor = (float)(1.0 / ((double)attention * (double)attention));
    if (spec->score_divisor == 0) /* which would stand for the head dimension */
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: attention_multiplier is %g, which is too large",
                         (double)attention);
    return model_spec_scale_residual(spec, residual, config->fault);
}

static enum status read_parallel(const struct weights_json_from *config, struct model_spec *spec)
{
    bool is_falcon = is_one_of(spec, "falcon"), is_newer = false;
    int64_t n_norms = 0;
    spec->is_parallel = is_one_of(spec, "gptneox falcon");
    if (!is_falcon)
        return weights_json_bool(config, "use_parallel_residual", &spec->is_parallel);
    enum status status = weights_json_bool(config, "parallel_attn", &spec->is_parallel);
    if (status == STATUS_OK)
        status = weights_json_bool(config, "new_decoder_architecture", &is_newer);
    if (status == STATUS_OK)
        status = weights_json_i64(config, "num_ln_in_parallel_attn", 1, 2, &n_norms);
    if (status == STATUS_OK && n_norms == 2 && !is_newer)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: num_ln_in_parallel_attn is 2, which only "
                         "new_decoder_architecture supports");
    if (status == STATUS_OK && is_newer && !spec->is_parallel)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: parallel_attn is false and new_decoder_architecture is "
                         "true, which is not supported");
    return status;
}

/* smollm3: reads the list of layers with rotation, or the interval between layers without one. */
static enum status read_unrotated(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct weights_json_node *list = weights_json_find(config->object, "no_rope_layers");
    int64_t every = 4;
    enum status status =
        weights_json_i64(config, "no_rope_layer_interval", 1, LIMIT_LAYERS, &every);
    if (status != STATUS_OK)
        return status;
    bool has_list = list != NULL && list->kind == WEIGHTS_JSON_ARRAY;
    if (list != NULL && (!has_list || list->n != (uint32_t)spec->n_layers))
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: no_rope_layers isn't a list of %d numbers", spec->n_layers);
    const struct weights_json_node *element = has_list ? list + 1 : NULL;
    for (int32_t i = 0; i < spec->n_layers && i < LIMIT_LAYERS; i++) {
        int64_t rotates = (i + 1) % every != 0;
        if (has_list && (!weights_json_to_i64(element, &rotates) || rotates < 0 || rotates > 1))
            return fault_set(config->fault, STATUS_BAD_INPUT,
                             "config.json: no_rope_layers holds something else than 0 and 1");
        spec->is_unrotated_layer[i] = rotates == 0;
        element = has_list ? weights_json_next(element) : NULL;
    }
    return STATUS_OK;
}

enum status weights_hf_dense(const struct weights_json_from *config, struct model_spec *spec)
{
    if (is_one_of(spec, "granite granitemoe"))
        return read_multipliers(config, spec);
    if (is_one_of(spec, "gptneox stablelm falcon"))
        return read_parallel(config, spec);
    if (is_one_of(spec, "smollm3"))
        return read_unrotated(config, spec);
    if (!is_one_of(spec, "command-r cohere2"))
        return STATUS_OK;
    for (int32_t i = 0; i < spec->n_layers && i < LIMIT_LAYERS; i++)
        spec->is_unrotated_layer[i] = is_one_of(spec, "cohere2") && spec->is_full_layer[i];
    spec->logit_scale = 0.0625f;
    return read_positive(config, "logit_scale", &spec->logit_scale);
}
