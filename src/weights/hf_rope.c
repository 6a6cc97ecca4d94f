/* From config.json to rotations: bases, the stretching of contexts, and the rotated part of a head.
 *
 * The scaling is in rope_scaling, or in rope_parameters of newer files. An absent key has the value
 * that the transformers library gives it. When its versions differ, the newest one counts
 * (docs/MODELS.md). */
#include "weights/hf_rope.h"
#include "base/num.h"
#include <string.h>

/* The object that describes one rotation. */
struct source {
    const struct weights_json_from *config;
    struct weights_json_from from;
    const struct model_spec *spec;
    bool is_nested; /* it is for one kind of layers (gemma3) */
};

static bool is_family(const struct model_spec *spec, const char *name)
{
    return strcmp(spec->architecture, name) == 0;
}

static enum status refuse(const struct source *source, const char *key, const char *value)
{
    return fault_set(source->from.fault, STATUS_UNSUPPORTED,
                     "%s: %s \"%.60s\" is not supported for %s", source->from.label, key, value,
                     source->spec->architecture);
}

static enum status read_needed(const struct source *source, const char *key, float *out)
{
    if (weights_json_find(source->from.object, key) == NULL)
        return fault_set(source->from.fault, STATUS_BAD_INPUT, "%s: %s is missing",
                         source->from.label, key);
    return weights_json_f32(&source->from, key, out);
}

/* Reads the context before stretching. */
static enum status read_original(const struct source *source, struct rope_scaling *scaling)
{
    const char *key = "original_max_position_embeddings";
    const struct weights_json_from *first = source->config, *second = &source->from;
    int64_t n = source->spec->n_positions_max;
    bool is_phi3 = is_family(source->spec, "phi3");
    if (source->is_nested || (!is_phi3 && weights_json_find(first->object, key) == NULL))
        first = second;
    if (is_phi3)
        n = 4096; /* phi3's default precedes that of the scaling */
    enum status status = weights_json_i64(first, key, 2, LIMIT_CONTEXT, &n);
    scaling->n_positions_original = (int32_t)n;
    return status;
}

/* Reads the factor of sines and cosines; `usual` when the file has none. */
static enum status read_attention(const struct source *source, double usual,
                                  struct rope_scaling *scaling)
{
    float factor = (float)usual;
    enum status status = weights_json_f32(&source->from, "attention_factor", &factor);
    if (status == STATUS_OK && !(factor > 0))
        return fault_set(source->from.fault, STATUS_BAD_INPUT,
                         "%s: attention_factor is %g, expected more than 0", source->from.label,
                         (double)factor);
    scaling->attention_factor = factor;
    return status;
}

/* Reads the stretching of the context: the file's factor, or the ratio of the two contexts. */
static enum status read_stretch(const struct source *source, struct rope_scaling *scaling)
{
    enum status status = read_original(source, scaling);
    scaling->factor =
        (float)((double)source->spec->n_positions_max / (double)scaling->n_positions_original);
    return status != STATUS_OK ? status
                               : weights_json_f32(&source->from, "factor", &scaling->factor);
}

static enum status read_long(const struct source *source, struct rope_scaling *scaling)
{
    if (source->is_nested)
        return refuse(source, "rope_type", "longrope");
    enum status status = read_stretch(source, scaling);
    if (status != STATUS_OK)
        return status;
    double factor = (double)scaling->factor, original = (double)scaling->n_positions_original;
    double usual = factor > 1.0 ? num_sqrt(1.0 + num_log(factor) / num_log(original)) : 1.0;
    scaling->factor = 0;
    scaling->is_long = source->spec->n_positions_max > scaling->n_positions_original;
    return read_attention(source, usual, scaling);
}

static double yarn_scale(double factor, double by)
{
    return factor > 1.0 ? 0.1 * by * num_log(factor) + 1.0 : 1.0;
}

static enum status read_yarn(const struct source *source, struct rope_scaling *scaling)
{
    float by = 0, by_all = 0;
    bool is_truncated = true;
    const struct {
        const char *key;
        float *out;
    } rows[] = {
        { "beta_fast", &scaling->beta_fast },
        { "beta_slow", &scaling->beta_slow },
        { "mscale", &by },
        { "mscale_all_dim", &by_all },
    };
    enum status status = read_stretch(source, scaling);
    for (size_t i = 0; i < COUNT_OF(rows) && status == STATUS_OK; i++)
        status = weights_json_f32(&source->from, rows[i].key, rows[i].out);
    if (status == STATUS_OK && !source->is_nested)
        status = weights_json_bool(&source->from, "truncate", &is_truncated);
    if (status != STATUS_OK)
        return status;
    scaling->is_untruncated = !is_truncated;
    scaling->beta_fast = scaling->beta_fast != 0 ? scaling->beta_fast : 32.0f;
    scaling->beta_slow = scaling->beta_slow != 0 ? scaling->beta_slow : 1.0f;
    double factor = (double)scaling->factor;
    bool has_both = by != 0 && by_all != 0;
    return read_attention(source,
                          has_both
                              ? yarn_scale(factor, (double)by) / yarn_scale(factor, (double)by_all)
                              : yarn_scale(factor, 1.0),
                          scaling);
}

static enum status read_llama3(const struct source *source, struct rope_scaling *scaling)
{
    enum status status = read_original(source, scaling);
    if (status == STATUS_OK)
        status = read_needed(source, "factor", &scaling->factor);
    if (status == STATUS_OK)
        status = read_needed(source, "low_freq_factor", &scaling->low_freq_factor);
    return status != STATUS_OK
               ? status
               : read_needed(source, "high_freq_factor", &scaling->high_freq_factor);
}

static enum status read_linear(const struct source *source, struct rope_scaling *scaling)
{
    return read_needed(source, "factor", &scaling->factor);
}

/* Up to the model's context this rotates as without scaling, and nothing is computed beyond it. */
static enum status read_dynamic(const struct source *source, struct rope_scaling *scaling)
{
    scaling->kind = ROPE_SCALING_NONE;
    float factor = 0;
    return read_needed(source, "factor", &factor);
}

static const struct kind {
    const char *name;
    enum rope_scaling_kind kind;
    enum status (*read)(const struct source *source, struct rope_scaling *scaling);
} kinds[] = {
    { "linear", ROPE_SCALING_LINEAR, read_linear }, { "dynamic", ROPE_SCALING_NONE, read_dynamic },
    { "llama3", ROPE_SCALING_LLAMA3, read_llama3 }, { "yarn", ROPE_SCALING_YARN, read_yarn },
    { "longrope", ROPE_SCALING_LONG, read_long },
};

static enum status read_scaling(const struct source *source, struct rope_scaling *out)
{
    const char *name = NULL;
    const struct weights_json_node *object = source->from.object;
    if (object == NULL)
        return STATUS_OK;
    if (object->kind != WEIGHTS_JSON_OBJECT)
        return fault_set(source->from.fault, STATUS_BAD_INPUT, "%s isn't an object",
                         source->from.label);
    enum status status = weights_json_text(&source->from, "type", &name);
    if (status == STATUS_OK)
        status = weights_json_text(&source->from, "rope_type", &name);
    if (status != STATUS_OK)
        return status;
    if (name == NULL && weights_json_find(object, "factor") != NULL)
        return fault_set(source->from.fault, STATUS_BAD_INPUT,
                         "%s has a factor, but no rope_type that says what it does",
                         source->from.label);
    if (name == NULL || strcmp(name, "default") == 0)
        return STATUS_OK;
    if (is_family(source->spec, "phi3") && (strcmp(name, "su") == 0 || strcmp(name, "yarn") == 0))
        name = "longrope"; /* its name in older files */
    else if (is_family(source->spec, "phi3") && strcmp(name, "longrope") != 0)
        return refuse(source, "rope_type", name);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *out = (struct rope_scaling){ .kind = kinds[i].kind };
            return kinds[i].read(source, out);
        }
    return refuse(source, "rope_type", name);
}

const struct weights_json_node *weights_hf_rope_scaling(const struct weights_json_node *config)
{
    const struct weights_json_node *scaling = weights_json_find(config, "rope_scaling");
    bool is_empty = scaling != NULL && scaling->kind == WEIGHTS_JSON_OBJECT && scaling->n == 0;
    return scaling != NULL && !is_empty ? scaling : weights_json_find(config, "rope_parameters");
}

/* gemma3, olmo3: layers with full attention have a base and a scaling of their own. */
static enum status read_two_ropes(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct weights_json_node *rope = weights_json_find(config->object, "rope_parameters");
    const struct weights_json_node *old = weights_json_find(config->object, "rope_scaling");
    const struct weights_json_node *nested = weights_json_find(rope, "full_attention");
    struct source full = {
        config, { nested, "config.json: full_attention", config->fault }, spec, true
    };
    struct source local = { config,
                            { weights_json_find(rope, "sliding_attention"),
                              "config.json: sliding_attention", config->fault },
                            spec,
                            true };
    bool is_olmo3 = is_family(spec, "olmo3");
    spec->rope_base = is_olmo3 ? 5e5f : 1e4f;
    spec->rope_base_full = is_olmo3 ? 5e5f : 1e6f;
    if (nested != NULL && old != NULL)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: rope_scaling and rope_parameters are both there, which is "
                         "not supported for %s",
                         spec->architecture);
    if (weights_json_find(old, "type") != NULL && weights_json_find(old, "rope_type") == NULL)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: rope_scaling has a type, but no rope_type, and %s reads "
                         "only rope_type",
                         spec->architecture);
    enum status status = weights_json_f32(config, "rope_theta", &spec->rope_base_full);
    if (status == STATUS_OK && !is_olmo3)
        status = weights_json_f32(config, "rope_local_base_freq", &spec->rope_base);
    if (status == STATUS_OK)
        status = weights_json_f32(&full.from, "rope_theta", &spec->rope_base_full);
    if (status == STATUS_OK)
        status = weights_json_f32(&local.from, "rope_theta", &spec->rope_base);
    if (nested == NULL)
        full.from = (struct weights_json_from){ old, "config.json: rope_scaling", config->fault };
    if (status == STATUS_OK)
        status = read_scaling(&full, &spec->rope_scaling_full);
    return status != STATUS_OK ? status : read_scaling(&local, &spec->rope_scaling);
}

/* Reads the size of the part of each head that is rotated: the first one. */
static enum status read_partial(const struct weights_json_from *config, struct model_spec *spec)
{
    struct weights_json_from nested = { weights_hf_rope_scaling(config->object),
                                        "config.json: rope scaling", config->fault };
    bool is_neox = is_family(spec, "gptneox");
    bool is_half = is_family(spec, "glm") || is_family(spec, "glm4") ||
                   is_family(spec, "glm4moe") || is_family(spec, "phi2");
    bool is_quarter = is_neox || is_family(spec, "stablelm");
    float partial = is_half ? 0.5f : is_quarter ? 0.25f : 1.0f;
    const char *key = is_neox ? "rotary_pct" : "partial_rotary_factor";
    enum status status = weights_json_f32(config, key, &partial);
    if (status == STATUS_OK)
        status = weights_json_f32(&nested, "partial_rotary_factor", &partial);
    if (status != STATUS_OK || partial == 1.0f)
        return status;
    if (!is_family(spec, "phi3") && !is_half && !is_quarter)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: partial_rotary_factor is %g, and %s supports only 1",
                         (double)partial, spec->architecture);
    if (!(partial > 0.0f && partial < 1.0f))
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: partial_rotary_factor is %g, expected more than 0 and at "
                         "most 1",
                         (double)partial);
    spec->n_rope_dims = (int32_t)((double)spec->head_dim * (double)partial);
    if (spec->n_rope_dims < 2 || spec->n_rope_dims % 2 != 0)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: partial_rotary_factor is %g, which makes the rotated part "
                         "of a head %d, expected an even number",
                         (double)partial, spec->n_rope_dims);
    return STATUS_OK;
}

/* ChatGLM's long variants: ChatGLM2 divides positions by rope_ratio, ChatGLM3 and later multiply
 * the base by it. Only the name of the model tells the two apart. */
static enum status read_ratio(const struct weights_json_from *config, struct model_spec *spec)
{
    static const char *const later[] = { "chatglm3", "glm-4", "glm4" };
    float ratio = 1.0f;
    const char *name = "";
    enum status status = weights_json_f32(config, "rope_ratio", &ratio);
    if (status == STATUS_OK)
        status = weights_json_text(config, "_name_or_path", &name);
    if (status != STATUS_OK || ratio == 1.0f)
        return status;
    if (strcasestr(name, "chatglm2") != NULL) {
        spec->rope_scaling.kind = ROPE_SCALING_LINEAR;
        spec->rope_scaling.factor = ratio;
        return STATUS_OK;
    }
    for (size_t i = 0; i < COUNT_OF(later); i++)
        if (strcasestr(name, later[i]) != NULL) {
            spec->rope_base *= ratio;
            return STATUS_OK;
        }
    return fault_set(
        config->fault, STATUS_UNSUPPORTED,
        "config.json: rope_ratio is %g, which means one thing for ChatGLM2 and another "
        "from ChatGLM3 on: _name_or_path has to name one of them (it is \"%.60s\")",
        (double)ratio, name);
}

/* Reads the base of all layers. GPT-NeoX has a name of its own for it. */
static enum status read_base(const struct weights_json_from *config, struct model_spec *spec)
{
    bool is_neox = is_family(spec, "gptneox");
    enum status status =
        weights_json_f32(config, is_neox ? "rotary_emb_base" : "rope_theta", &spec->rope_base);
    float theta = spec->rope_base;
    if (status == STATUS_OK)
        status = weights_json_f32(config, "rope_theta", &theta);
    if (status == STATUS_OK && theta != spec->rope_base)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: rope_theta is %g and rotary_emb_base is %g, which are two "
                         "names of one number",
                         (double)theta, (double)spec->rope_base);
    return status;
}

/* The base without a key, by family. */
static float usual_base(const struct model_spec *spec)
{
    static const struct {
        const char *family;
        float base;
    } rows[] = { { "mixtral", 1e6f }, { "smollm3", 2e6f }, { "gpt-oss", 1.5e5f } };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (is_family(spec, rows[i].family))
            return rows[i].base;
    return 1e4f;
}

/* gpt_oss: without a key it is stretched 32 times. */
static void set_gpt_oss(struct model_spec *spec)
{
    spec->rope_scaling = (struct rope_scaling){ .kind = ROPE_SCALING_YARN,
                                                .factor = 32.0f,
                                                .n_positions_original = 4096,
                                                .attention_factor = (float)yarn_scale(32.0, 1.0),
                                                .beta_fast = 32.0f,
                                                .beta_slow = 1.0f,
                                                .is_untruncated = true };
}

enum status weights_hf_rope(const struct weights_json_from *config, struct model_spec *spec)
{
    spec->rope_base = usual_base(spec);
    if (spec->position == POSITION_LEARNED)
        return STATUS_OK;
    if (is_family(spec, "chatglm"))
        return read_ratio(config, spec);
    enum status status = read_partial(config, spec);
    if (status != STATUS_OK || is_family(spec, "gemma3") || is_family(spec, "olmo3"))
        return status != STATUS_OK ? status : read_two_ropes(config, spec);
    struct source source = { config,
                             { weights_hf_rope_scaling(config->object), "config.json: rope scaling",
                               config->fault },
                             spec,
                             false };
    if (weights_json_find(source.from.object, "full_attention") != NULL)
        return refuse(&source, "a rotation of its own for", "full_attention");
    status = read_base(config, spec);
    if (status == STATUS_OK)
        status = weights_json_f32(&source.from, "rope_theta", &spec->rope_base);
    if (status == STATUS_OK)
        status = read_scaling(&source, &spec->rope_scaling);
    if (is_family(spec, "gpt-oss") && source.from.object == NULL)
        set_gpt_oss(spec);
    spec->rope_base_full = spec->rope_base;
    spec->rope_scaling_full = spec->rope_scaling;
    return status;
}

enum status weights_hf_rope_factors(const struct weights_json_node *config,
                                    const struct model_spec *spec, struct pile *pile,
                                    struct tensor *out, struct fault *fault)
{
    const char *key = spec->rope_scaling.is_long ? "long_factor" : "short_factor";
    int32_t n = spec->n_rope_dims / 2;
    if (spec->rope_scaling.kind != ROPE_SCALING_LONG)
        return STATUS_OK;
    const struct weights_json_node *list = weights_json_find(weights_hf_rope_scaling(config), key);
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
