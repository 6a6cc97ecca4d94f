/* From GGUF metadata to a spec: keys begin with the architecture's name ("llama.block_count"). */
#include "weights/gguf_spec.h"
#include "weights/bind.h"
#include "weights/gguf_keys.h"
#include "weights/gguf_latent.h"
#include "weights/keys.h"
#include "weights/gguf_meta.h"
#include "base/num.h"
#include <stdio.h>
#include <string.h>

#define SIZE_MAX_READ ((int64_t)1 << 30) /* model_spec_check narrows it */
#define ABSENT        ((int64_t)-1)

struct reader {
    const struct weights_gguf *gguf;
    const char *architecture;
    struct fault *fault;
    float attention_factor; /* the file's factor for sines and cosines */
};

static void print_key(const struct reader *r, const char *rest, char key[96])
{
    snprintf(key, 96, "%s.%s", r->architecture, rest);
}

/* Reads a size. When the key is absent out keeps its value, unless that is ABSENT: then the key is
 * required. */
static enum status read_size(const struct reader *r, const char *rest, int64_t *out)
{
    char key[96];
    print_key(r, rest, key);
    enum status status = weights_gguf_meta_i64(r->gguf, key, 0, SIZE_MAX_READ, out, r->fault);
    if (status == STATUS_OK && *out == ABSENT)
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: %s is missing", r->gguf->label, key);
    return status;
}

static enum status read_float(const struct reader *r, const char *rest, float *out)
{
    char key[96];
    print_key(r, rest, key);
    return weights_gguf_meta_f32(r->gguf, key, out, r->fault);
}

static enum status read_bool(const struct reader *r, const char *rest, bool *out)
{
    char key[96];
    print_key(r, rest, key);
    return weights_gguf_meta_bool(r->gguf, key, out, r->fault);
}

static enum status read_sizes(const struct reader *r, struct model_spec *spec)
{
    int64_t n_layers = ABSENT, width = ABSENT, n_heads = ABSENT, ffn = ABSENT, n_positions = ABSENT;
    const struct {
        const char *rest;
        int64_t *out;
    } rows[] = {
        { "block_count", &n_layers },         { "embedding_length", &width },
        { "attention.head_count", &n_heads }, { "feed_forward_length", &ffn },
        { "context_length", &n_positions },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_size(r, rows[i].rest, rows[i].out);
        if (status != STATUS_OK)
            return status;
    }
    if (n_heads < 1)
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: %s.attention.head_count is 0",
                         r->gguf->label, r->architecture);
    spec->n_layers = (int32_t)n_layers;
    spec->width = (int32_t)width;
    spec->n_heads = (int32_t)n_heads;
    spec->ffn_width = (int32_t)ffn;
    spec->n_positions_max = (int32_t)n_positions;
    return STATUS_OK;
}

static bool is_one_of(const struct model_spec *spec, const char *architectures)
{
    return weights_keys_hold(architectures, ' ', view_text(spec->architecture));
}

/* Reads sizes of experts. The formulas for absent ones are llama.cpp's. */
static enum status read_expert_widths(const struct reader *r, struct model_spec *spec)
{
    struct expert_spec *experts = &spec->experts;
    bool has_own = is_one_of(spec, "qwen2moe qwen3moe gpt-oss glm4moe deepseek2");
    int64_t ffn = spec->ffn_width, width = has_own ? ffn / experts->n_used : ffn;
    enum status status = has_own ? read_size(r, "expert_feed_forward_length", &width) : STATUS_OK;
    if (!is_one_of(spec, "qwen2moe"))
        ffn = 0;
    if (status == STATUS_OK && is_one_of(spec, "qwen2moe granitemoe"))
        status = read_size(r, "expert_shared_feed_forward_length", &ffn);

    experts->width = (int32_t)width;
    spec->ffn_width = (int32_t)ffn;
    return status;
}

/* deepseek2: shares are a softmax, unless the file has 2, for sigmoids. */
static enum status read_gating(const struct reader *r, struct expert_spec *experts)
{
    int64_t kind = 2;
    bool is_glm = strcmp(r->architecture, "glm4moe") == 0;
    enum status status = STATUS_OK;
    if (!is_glm) {
        kind = 0;
        status = read_size(r, "expert_gating_func", &kind);
    }
    experts->is_sigmoid = kind == 2;
    if (status == STATUS_OK && kind > 2)
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "%s: %s.expert_gating_func is %lld, expected 0 to 2 (softmax, sigmoids)",
                         r->gguf->label, r->architecture, (long long)kind);
    if (status == STATUS_OK && kind != 2 && experts->n_groups > 1)
        return fault_set(
            r->fault, STATUS_UNSUPPORTED,
            "%s: %s.expert_group_count is %d for shares by softmax, where files do not "
            "say how groups are compared: take the model as safetensors",
            r->gguf->label, r->architecture, experts->n_groups);
    return status;
}

/* glm4moe, deepseek2: groups, shared experts, dense layers first, and behind the last layers that
 * predict further tokens. */
static enum status read_glm(const struct reader *r, struct model_spec *spec, int32_t dense_width)
{
    struct expert_spec *experts = &spec->experts;
    int64_t n_shared = 0, n_dense = 0, n_ignored = 0, n_groups = 0, n_groups_used = 0;
    const struct {
        const char *rest;
        int64_t *out;
    } rows[] = {
        { "expert_shared_count", &n_shared },          { "leading_dense_block_count", &n_dense },
        { "nextn_predict_layers", &n_ignored },        { "expert_group_count", &n_groups },
        { "expert_group_used_count", &n_groups_used },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_size(r, rows[i].rest, rows[i].out);
        if (status != STATUS_OK)
            return status;
    }
    if (n_ignored > 0 && n_ignored >= spec->n_layers)
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: %s.nextn_predict_layers is %lld of %d",
                         r->gguf->label, r->architecture, (long long)n_ignored, spec->n_layers);
    spec->n_ignored_layers = (int32_t)n_ignored;
    spec->n_layers -= spec->n_ignored_layers;
    spec->ffn_width = (int32_t)min_i64(n_shared * experts->width, INT32_MAX);
    spec->dense_width = n_dense > 0 ? dense_width : 0;
    for (int32_t i = 0; i < spec->n_layers && i < n_dense && i < LIMIT_LAYERS;
         i++, spec->n_dense_layers++)
        spec->is_dense_layer[i] = true;
    experts->n_groups = (int32_t)n_groups;
    experts->n_groups_used = (int32_t)n_groups_used;
    experts->is_scaled_to_one = false;
    enum status status = read_gating(r, experts);
    if (status == STATUS_OK)
        status = read_float(r, "expert_weights_scale", &experts->scale);
    return status != STATUS_OK ? status
                               : read_bool(r, "expert_weights_norm", &experts->is_scaled_to_one);
}

static enum status read_experts(const struct reader *r, struct model_spec *spec)
{
    int64_t n_experts = 0, n_used = ABSENT;
    enum status status = read_size(r, "expert_count", &n_experts);
    bool is_dense = !is_one_of(spec, "mixtral olmoe qwen2moe qwen3moe gpt-oss granitemoe glm4moe "
                                     "deepseek2");
    if (status != STATUS_OK || is_dense)
        return status;
    status = read_size(r, "expert_used_count", &n_used);
    if (status != STATUS_OK)
        return status;
    if (n_experts < 1 || n_used < 1)
        return fault_set(r->fault, STATUS_BAD_INPUT,
                         "%s: %s uses %lld of %lld experts, expected at least 1", r->gguf->label,
                         r->architecture, (long long)n_used, (long long)n_experts);
    spec->experts = (struct expert_spec){
        .n_experts = (int32_t)n_experts,
        .n_used = (int32_t)n_used,
        .is_scaled_to_one = is_one_of(spec, "mixtral qwen3moe gpt-oss granitemoe"),
    };
    int32_t dense_width = spec->ffn_width;
    status = read_expert_widths(r, spec);
    return status == STATUS_OK && is_one_of(spec, "glm4moe deepseek2")
               ? read_glm(r, spec, dense_width)
               : status;
}

static enum status read_epsilon(const struct reader *r, struct model_spec *spec)
{
    spec->norm_epsilon = -1;
    const char *rest = spec->norm == NORM_RMS ? "attention.layer_norm_rms_epsilon"
                                              : "attention.layer_norm_epsilon";
    enum status status = read_float(r, rest, &spec->norm_epsilon);
    if (status == STATUS_OK && spec->norm_epsilon == -1)
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: %s.%s is missing", r->gguf->label,
                         r->architecture, rest);
    return status;
}

static enum status read_heads(const struct reader *r, struct model_spec *spec)
{
    if (is_one_of(spec, "deepseek2"))
        return weights_gguf_latent_heads(r->gguf, spec, r->fault);
    int64_t n_kv_heads = spec->n_heads, head_dim = spec->width / spec->n_heads;
    enum status status = read_size(r, "attention.head_count_kv", &n_kv_heads);
    if (status == STATUS_OK)
        status = read_size(r, "attention.key_length", &head_dim);
    int64_t value_dim = head_dim, n_rope_dims = head_dim;
    if (status == STATUS_OK)
        status = read_size(r, "attention.value_length", &value_dim);
    if (status == STATUS_OK && spec->position != POSITION_LEARNED)
        status = read_size(r, "rope.dimension_count", &n_rope_dims);
    if (status != STATUS_OK)
        return status;
    if (value_dim != head_dim)
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "%s: heads of %lld for keys and %lld for values are not supported",
                         r->gguf->label, (long long)head_dim, (long long)value_dim);
    spec->n_kv_heads = (int32_t)n_kv_heads;
    spec->head_dim = (int32_t)head_dim;
    spec->n_rope_dims = spec->position != POSITION_LEARNED ? (int32_t)n_rope_dims : 0;
    return STATUS_OK;
}

/* Reads a list that tells for each layer whether it has the window. */
static enum status read_pattern_list(const struct reader *r, const struct weights_gguf_value *list,
                                     struct model_spec *spec)
{
    bool is_text = list->of == GGUF_TEXT;
    if (is_text || spec->n_layers > LIMIT_LAYERS || list->n != (uint64_t)spec->n_layers)
        return fault_set(r->fault, STATUS_BAD_INPUT,
                         "%s: %.*s lists %llu layers, expected a bool for each of %d",
                         r->gguf->label, (int)list->key.n, list->key.at,
                         (unsigned long long)list->n, spec->n_layers);
    size_t n_bytes = list->n_bytes / (size_t)spec->n_layers;
    for (int32_t i = 0; i < spec->n_layers; i++) {
        bool has_window = false;
        for (size_t k = 0; k < n_bytes; k++)
            has_window = has_window || list->at[(size_t)i * n_bytes + k] != 0;
        spec->is_full_layer[i] = !has_window;
        spec->n_full_layers += !has_window;
    }
    return STATUS_OK;
}

static enum status read_pattern(const struct reader *r, struct model_spec *spec)
{
    char key[96];
    int64_t every = 6;
    print_key(r, "attention.sliding_window_pattern", key);
    const struct weights_gguf_value *value = weights_gguf_meta_find(r->gguf, key);
    if (value != NULL && value->type == GGUF_ARRAY && spec->n_layers > 0)
        return read_pattern_list(r, value, spec);
    enum status status = read_size(r, "attention.sliding_window_pattern", &every);
    if (status == STATUS_OK)
        model_spec_set_full(spec, (int32_t)every);
    return status;
}

/* Checks that heads are alike in all layers, since only this is supported. */
static enum status check_heads_alike(const struct reader *r, const struct model_spec *spec)
{
    const struct {
        const char *rest;
        int32_t expected;
    } rows[] = {
        { "attention.key_length_swa", spec->head_dim },
        { "attention.value_length_swa", spec->head_dim },
        { "rope.dimension_count_swa", spec->n_rope_dims },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t n = rows[i].expected;
        enum status status = read_size(r, rows[i].rest, &n);
        if (status != STATUS_OK)
            return status;
        if (n != rows[i].expected)
            return fault_set(r->fault, STATUS_UNSUPPORTED,
                             "%s: %s.%s is %lld, and only the %d of the other layers is supported",
                             r->gguf->label, r->architecture, rows[i].rest, (long long)n,
                             rows[i].expected);
    }
    return STATUS_OK;
}

/* Sets the windows of families in which every so-many-th layer has none: gpt-oss and gemma2 (2),
 * cohere2 (4), whose full layers do not rotate. */
static void set_turns(struct model_spec *spec, int32_t every)
{
    model_spec_set_full(spec, every);
    for (int32_t i = 0; i < spec->n_layers && i < LIMIT_LAYERS && is_one_of(spec, "cohere2"); i++)
        spec->is_unrotated_layer[i] = spec->is_full_layer[i];
}

/* gemma3: layers with a window, which rotate by a base of their own, and layers without. Others:
 * see set_turns. llama.cpp gives a window to no other architecture that is
 * loaded here, even if the file has one. */
static enum status read_turns(const struct reader *r, struct model_spec *spec)
{
    int64_t window = 0;
    bool is_gemma3 = is_one_of(spec, "gemma3"), is_gemma2 = is_one_of(spec, "gemma2");
    if (!is_gemma3 && !is_gemma2 && !is_one_of(spec, "gpt-oss cohere2"))
        return STATUS_OK;
    window = is_gemma2 ? 4096 : 0;
    enum status status = read_size(r, "attention.sliding_window", &window);
    if (status == STATUS_OK && is_gemma3)
        status = check_heads_alike(r, spec);
    if (status == STATUS_OK && window == 0 && is_one_of(spec, "cohere2 gpt-oss"))
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: %s.attention.sliding_window is missing",
                         r->gguf->label, r->architecture);
    if (status != STATUS_OK || window == 0)
        return status;
    spec->window = (int32_t)window;
    spec->rope_base_full = spec->rope_base;
    spec->rope_scaling_full = spec->rope_scaling;
    if (!is_gemma3) {
        set_turns(spec, is_one_of(spec, "cohere2") ? 4 : 2);
        return STATUS_OK;
    }
    spec->rope_base = 10000.0f;
    spec->rope_scaling = (struct rope_scaling){ .attention_factor = r->attention_factor };
    status = read_float(r, "rope.freq_base_swa", &spec->rope_base);
    return status != STATUS_OK ? status : read_pattern(r, spec);
}

/* gemma2, gemma3: sets the divisor of scores, which the file does not have. */
static void set_scores(struct model_spec *spec)
{
    bool is_gemma2 = is_one_of(spec, "gemma2");
    int32_t layers_27b = is_gemma2 ? 46 : 62;
    if (is_gemma2 || is_one_of(spec, "gemma3"))
        spec->score_divisor =
            (float)(spec->n_layers == layers_27b ? spec->width / spec->n_heads : spec->head_dim);
}

/* Reads what only some dense families have, as llama.cpp does. */
static enum status read_dense(const struct reader *r, struct model_spec *spec)
{
    enum status status = STATUS_OK;
    spec->act = spec->act == ACT_GELU_ERF ? ACT_GELU_TANH : spec->act;
    if (is_one_of(spec, "gemma2")) {
        spec->score_cap = 50.0f;
        spec->logit_cap = 30.0f;
        status = read_float(r, "attn_logit_softcapping", &spec->score_cap);
        if (status == STATUS_OK)
            status = read_float(r, "final_logit_softcapping", &spec->logit_cap);
    }
    if (is_one_of(spec, "command-r cohere2")) {
        status = read_float(r, "logit_scale", &spec->logit_scale);
        spec->logit_scale = spec->logit_scale != 0 ? spec->logit_scale : 1.0f;
    }
    if (is_one_of(spec, "falcon"))
        spec->is_parallel = true;
    if (is_one_of(spec, "gptneox")) {
        spec->is_parallel = true;
        status = read_bool(r, "use_parallel_residual", &spec->is_parallel);
    }
    for (int32_t i = 3; is_one_of(spec, "smollm3") && i < spec->n_layers && i < LIMIT_LAYERS;
         i += 4)
        spec->is_unrotated_layer[i] = true;
    return status;
}

/* granite: reads the scales, as llama.cpp does; 0 means none. */
static enum status read_scales(const struct reader *r, struct model_spec *spec)
{
    float logits = -1, residual = 0, embedding = 0, attention = 0;
    const struct {
        const char *rest;
        float *out;
    } rows[] = {
        { "logit_scale", &logits },
        { "residual_scale", &residual },
        { "embedding_scale", &embedding },
        { "attention.scale", &attention },
    };
    if (!is_one_of(spec, "granite granitemoe"))
        return STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_float(r, rows[i].rest, rows[i].out);
        if (status == STATUS_OK && !(*rows[i].out >= 0))
            return fault_set(r->fault, STATUS_BAD_INPUT, "%s: %s.%s is missing or less than 0",
                             r->gguf->label, r->architecture, rows[i].rest);
        if (status != STATUS_OK)
            return status;
    }
    spec->embedding_scale = embedding != 0 ? embedding : 1.0f;
    spec->logit_scale = logits != 0 ? (float)(1.0 / (double)logits) : 1.0f;
    if (attention != 0)
        spec->score_divisor = (float)(1.0 / ((double)attention * (double)attention));
    if (attention != 0 && spec->score_divisor == 0) /* which would stand for the head dimension */
        return fault_set(r->fault, STATUS_BAD_INPUT,
                         "%s: %s.attention.scale is %g, which is too large", r->gguf->label,
                         r->architecture, (double)attention);
    return model_spec_scale_residual(spec, residual != 0 ? residual : 1.0f, r->fault);
}

/* Reads how vectors of texts are made: llama.cpp's 1 is the mean, 2 the first position, 3 the last
 * one. Without the key, and with 0, nothing is said. */
static enum status read_pooling(const struct reader *r, struct model_spec *spec)
{
    static const enum pooling_kind kinds[] = { POOLING_LAST, POOLING_MEAN, POOLING_FIRST,
                                               POOLING_LAST };
    int64_t kind = 0;
    enum status status = read_size(r, "pooling_type", &kind);
    if (status == STATUS_OK && kind >= (int64_t)COUNT_OF(kinds))
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "%s: %s.pooling_type is %lld, expected 0 to 3 (none, mean, first, last)",
                         r->gguf->label, r->architecture, (long long)kind);
    if (status != STATUS_OK || kind == 0)
        return status;
    spec->pooling = kinds[kind];
    spec->is_pooling_given = spec->is_normalized = true;
    return STATUS_OK;
}

/* Reads the context before stretching; 0 means the model's own. */
static enum status read_original(const struct reader *r, struct model_spec *spec)
{
    int64_t n = 0;
    enum status status = read_size(r, "rope.scaling.original_context_length", &n);
    spec->rope_scaling.n_positions_original = n != 0 ? (int32_t)n : spec->n_positions_max;
    return status;
}

/* phi3: two tensors have a factor for each frequency. The context determines which one is used. */
static enum status read_long(const struct reader *r, struct model_spec *spec,
                             const struct weights_architecture *architecture, float factor)
{
    const struct weights_catalog *catalog = &r->gguf->catalog;
    bool has_short = weights_bind_entry(architecture, false, WEIGHTS_ROPE_FACTORS, catalog) != NULL;
    bool has_long =
        weights_bind_entry(architecture, false, WEIGHTS_ROPE_FACTORS_LONG, catalog) != NULL;
    spec->rope_scaling.kind = ROPE_SCALING_LONG;
    enum status status = read_original(r, spec);
    if (status != STATUS_OK)
        return status;
    if (factor != 0 && factor != 1.0f)
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "%s: %s.rope.scaling.factor is %g, beside a factor for each frequency",
                         r->gguf->label, r->architecture, (double)factor);
    bool is_long = spec->n_positions_max > spec->rope_scaling.n_positions_original;
    spec->rope_scaling.is_long = is_long;
    if (!(is_long ? has_long : has_short))
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: tensor rope_factors_%s.weight is missing",
                         r->gguf->label, is_long ? "long" : "short");
    return STATUS_OK;
}

/* Sets YaRN with llama.cpp's default limits, since it reads none for these architectures. */
static enum status set_yarn(const struct reader *r, struct model_spec *spec, float factor)
{
    struct rope_scaling *scaling = &spec->rope_scaling;
    double usual = factor > 1.0f ? 0.1 * num_log((double)factor) + 1.0 : 1.0;
    *scaling =
        (struct rope_scaling){ .kind = ROPE_SCALING_YARN,
                               .factor = factor,
                               .beta_fast = 32.0f,
                               .beta_slow = 1.0f,
                               .attention_factor = (float)(usual * (double)r->attention_factor) };
    return read_original(r, spec);
}

/* Reads the type of scaling, which is "linear" by default, and its factor; 0: none. */
static enum status read_scaling(struct reader *r, struct view *kind, float *factor)
{
    char key[96];
    float old = 0;
    *kind = view_text("linear");
    print_key(r, "rope.scaling.factor", key);
    bool has_factor = weights_gguf_meta_find(r->gguf, key) != NULL;
    enum status status = read_float(r, "rope.scale_linear", &old); /* the key of old files */
    *factor = has_factor ? 0 : old;
    if (status == STATUS_OK)
        status = read_float(r, "rope.scaling.factor", factor);
    r->attention_factor = 1.0f;
    if (status == STATUS_OK)
        status = read_float(r, "rope.scaling.attn_factor", &r->attention_factor);
    if (status == STATUS_OK && !(r->attention_factor > 0))
        return fault_set(r->fault, STATUS_BAD_INPUT,
                         "%s: %s.rope.scaling.attn_factor is %g, expected more than 0",
                         r->gguf->label, r->architecture, (double)r->attention_factor);
    print_key(r, "rope.scaling.type", key);
    return status != STATUS_OK ? status : weights_gguf_meta_text(r->gguf, key, kind, r->fault);
}

static enum status read_rope(struct reader *r, struct model_spec *spec,
                             const struct weights_architecture *architecture)
{
    struct view kind;
    const struct weights_catalog *catalog = &r->gguf->catalog;
    float factor;
    spec->rope_base = 10000.0f;
    if (spec->position == POSITION_LEARNED)
        return STATUS_OK;
    enum status status = read_float(r, "rope.freq_base", &spec->rope_base);
    if (status == STATUS_OK)
        status = read_scaling(r, &kind, &factor);
    if (status != STATUS_OK)
        return status;
    spec->rope_scaling.attention_factor = r->attention_factor;
    bool is_linear = view_equal_text(kind, "linear"), is_long = view_equal_text(kind, "longrope");
    bool is_phi3 = strcmp(spec->architecture, "phi3") == 0, is_none = view_equal_text(kind, "none");
    bool has_factors =
        is_phi3 &&
        (weights_bind_entry(architecture, false, WEIGHTS_ROPE_FACTORS, catalog) != NULL ||
         weights_bind_entry(architecture, false, WEIGHTS_ROPE_FACTORS_LONG, catalog) != NULL);
    if (is_phi3 && (is_long || (has_factors && (is_linear || is_none))))
        return read_long(r, spec, architecture, is_none ? 0 : factor);
    if (view_equal_text(kind, "yarn") && !has_factors)
        return set_yarn(r, spec, factor != 0 ? factor : 1.0f);
    if (!is_linear && !is_none)
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "%s: %s.rope.scaling.type %.*s is not supported", r->gguf->label,
                         r->architecture, (int)(kind.n < 32 ? kind.n : 32), kind.at);
    if (is_linear && factor != 0 && factor != 1.0f) {
        spec->rope_scaling.kind = ROPE_SCALING_LINEAR;
        spec->rope_scaling.factor = factor;
    }
    return STATUS_OK;
}

/* Reads the size of the vocabulary from the embedding, since lists of tokens may be shorter. */
static enum status read_tensors(const struct reader *r, struct model_spec *spec,
                                const struct weights_architecture *architecture)
{
    const struct weights_catalog *catalog = &r->gguf->catalog;
    const struct weights_entry *embedding =
        weights_bind_entry(architecture, false, WEIGHTS_TOKEN_EMBEDDING, catalog);
    if (embedding == NULL)
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: tensor token_embd.weight is missing",
                         r->gguf->label);
    int64_t n_vocabulary = embedding->dims[1];
    if (n_vocabulary > LIMIT_VOCABULARY)
        return fault_set(r->fault, STATUS_TOO_LARGE, "%s: a vocabulary of %lld, the limit is %d",
                         r->gguf->label, (long long)n_vocabulary, LIMIT_VOCABULARY);
    spec->n_vocabulary = (int32_t)n_vocabulary;
    spec->is_tied = weights_bind_entry(architecture, false, WEIGHTS_OUTPUT, catalog) == NULL;
    if (is_one_of(spec, "glm4moe"))
        spec->has_qk_norm =
            weights_bind_entry(architecture, false, WEIGHTS_Q_NORM, catalog) != NULL;
    if (is_one_of(spec, "stablelm")) /* as llama.cpp does it, whatever the key says */
        spec->is_parallel =
            weights_bind_entry(architecture, false, WEIGHTS_FFN_NORM, catalog) == NULL;
    return STATUS_OK;
}

/* GLM-4.7-Flash is called deepseek2, too. Its first files do not say that shares are sigmoids, and
 * llama.cpp knows them by their sizes. */
static enum status read_flash(const struct reader *r, struct model_spec *spec)
{
    int64_t kind = 0;
    bool has_layers = spec->n_layers == 47 || spec->n_layers == 48;
    bool is_flash = is_one_of(spec, "deepseek2") && has_layers && spec->n_vocabulary == 154880;
    enum status status = is_flash ? read_size(r, "expert_gating_func", &kind) : STATUS_OK;
    spec->experts.is_sigmoid = spec->experts.is_sigmoid || (is_flash && kind == 0);
    return status;
}

static enum status find_architecture(const struct weights_gguf *gguf,
                                     const struct weights_architecture **architecture,
                                     struct fault *fault)
{
    struct view name = view_text(""), type = view_text("model");
    char text[64];
    enum status status = weights_gguf_meta_text(gguf, "general.architecture", &name, fault);
    if (status == STATUS_OK)
        status = weights_gguf_meta_text(gguf, "general.type", &type, fault);
    if (status != STATUS_OK)
        return status;
    if (!view_equal_text(type, "model"))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: general.type is \"%.*s\", and only \"model\" is supported%s",
                         gguf->label, (int)(type.n < 32 ? type.n : 32), type.at,
                         view_equal_text(type, "adapter") ? ": name it in the adapters of its model"
                                                          : "");
    if (name.n == 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: general.architecture is missing",
                         gguf->label);
    snprintf(text, sizeof(text), "%.*s", (int)(name.n < 60 ? name.n : 60), name.at);
    int64_t n_experts = 0;
    status = weights_gguf_meta_i64(gguf, "llama.expert_count", 0, SIZE_MAX_READ, &n_experts, fault);
    if (status != STATUS_OK)
        return status;
    bool is_mixtral = view_equal_text(name, "llama") && n_experts > 0;
    *architecture = weights_names_find(is_mixtral ? "mixtral" : text, false);
    if (*architecture == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED, "%s: the architecture %s is not supported%s",
                         gguf->label, text, weights_names_refusal(text, false));
    return STATUS_OK;
}

enum status weights_gguf_spec(const struct weights_gguf *gguf, struct model_spec *spec,
                              const struct weights_architecture **architecture, struct fault *fault)
{
    enum status status = find_architecture(gguf, architecture, fault);
    if (status != STATUS_OK)
        return status;
    const struct weights_architecture *row = *architecture;
    struct reader r = { gguf, weights_names_gguf(row), fault, 1.0f };
    *spec = (struct model_spec){
        .norm = row->norm,
        .act = row->act,
        .is_gated = row->is_gated,
        .has_qk_norm = row->has_qk_norm,
        .norms_heads_together = row->norms_heads_together,
        .position = row->gguf_position,
        .has_post_norms = row->has_post_norms,
        .has_no_pre_norms = row->has_no_pre_norms,
        .is_parallel = row->is_parallel,
        .has_sinks = row->has_sinks,
        .act_limit = row->act == ACT_SWIGLU_CLAMPED ? 7.0f : 0, /* as llama.cpp has it */
        .embedding_scale = 1.0f,
        .logit_scale = 1.0f,
    };
    snprintf(spec->architecture, sizeof(spec->architecture), "%s", row->name);
    status = weights_gguf_keys_check(gguf, r.architecture, row->name, fault);
    if (status == STATUS_OK)
        status = read_sizes(&r, spec);
    if (status == STATUS_OK)
        status = read_experts(&r, spec);
    if (status == STATUS_OK)
        status = read_heads(&r, spec);
    if (status == STATUS_OK)
        status = read_rope(&r, spec, row);
    if (status == STATUS_OK)
        status = read_turns(&r, spec);
    if (status == STATUS_OK)
        status = read_epsilon(&r, spec);
    if (status == STATUS_OK)
        status = weights_gguf_latent_scores(gguf, spec, fault);
    if (status == STATUS_OK)
        status = read_scales(&r, spec);
    if (status == STATUS_OK)
        status = read_pooling(&r, spec);
    if (status == STATUS_OK)
        status = read_dense(&r, spec);
    if (status == STATUS_OK)
        status = read_tensors(&r, spec, row);
    if (status == STATUS_OK)
        status = read_flash(&r, spec);
    if (status != STATUS_OK)
        return status;
    set_scores(spec);
    if (row->scales_embedding)
        spec->embedding_scale = (float)num_sqrt((double)spec->width);
    model_spec_group(spec);
    return model_spec_check(spec, fault);
}
