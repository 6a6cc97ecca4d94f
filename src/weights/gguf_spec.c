/* From GGUF metadata to a spec: keys begin with the architecture's name ("llama.block_count"). */
#include "weights/gguf_spec.h"
#include "weights/bind.h"
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
};

static void print_key(const struct reader *r, const char *rest, char key[96])
{
    snprintf(key, 96, "%s.%s", r->architecture, rest);
}

/* *out keeps its value when the key is absent, unless it is ABSENT: then the key must be there. */
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

static enum status read_sizes(const struct reader *r, struct model_spec *spec)
{
    int64_t n_layers = ABSENT, width = ABSENT, n_heads = ABSENT, ffn = ABSENT, n_positions = ABSENT;
    int64_t window = 0, n_experts = 0;
    const struct {
        const char *rest;
        int64_t *out;
    } rows[] = {
        { "block_count", &n_layers },         { "embedding_length", &width },
        { "attention.head_count", &n_heads }, { "feed_forward_length", &ffn },
        { "context_length", &n_positions },   { "attention.sliding_window", &window },
        { "expert_count", &n_experts },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_size(r, rows[i].rest, rows[i].out);
        if (status != STATUS_OK)
            return status;
    }
    if (n_experts > 0)
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "%s: %s.expert_count is %lld: mixtures of experts are not supported",
                         r->gguf->label, r->architecture, (long long)n_experts);
    if (n_heads < 1)
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: %s.attention.head_count is 0",
                         r->gguf->label, r->architecture);
    spec->n_layers = (int32_t)n_layers;
    spec->width = (int32_t)width;
    spec->n_heads = (int32_t)n_heads;
    spec->ffn_width = (int32_t)ffn;
    spec->n_positions_max = (int32_t)n_positions;
    spec->window = (int32_t)window;
    return STATUS_OK;
}

static enum status read_heads(const struct reader *r, struct model_spec *spec)
{
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

/* Layers that see everything: gemma3's, which rotate by a base and a scaling of their own. */
static enum status read_turns(const struct reader *r, struct model_spec *spec)
{
    int64_t every = 6;
    if (strcmp(spec->architecture, "gemma3") != 0 || spec->window == 0)
        return STATUS_OK;
    enum status status = read_size(r, "attention.sliding_window_pattern", &every);
    if (status != STATUS_OK)
        return status;
    model_spec_set_full(spec, (int32_t)every);
    spec->rope_base_full = spec->rope_base;
    spec->rope_scaling_full = spec->rope_scaling;
    spec->rope_base = 10000.0f;
    spec->rope_scaling = (struct rope_scaling){ .kind = ROPE_SCALING_NONE };
    return read_float(r, "rope.freq_base_swa", &spec->rope_base);
}

/* gemma3: what scores are divided by, which the file does not say; caps are none of ours. */
static enum status read_scores(const struct reader *r, struct model_spec *spec)
{
    enum { LAYERS_27B = 62 };
    float attention_cap = 0, logit_cap = 0;
    if (strcmp(spec->architecture, "gemma3") != 0)
        return STATUS_OK;
    spec->score_divisor =
        (float)(spec->n_layers == LAYERS_27B ? spec->width / spec->n_heads : spec->head_dim);
    enum status status = read_float(r, "attn_logit_softcapping", &attention_cap);
    if (status == STATUS_OK)
        status = read_float(r, "final_logit_softcapping", &logit_cap);
    if (status == STATUS_OK && (attention_cap != 0 || logit_cap != 0))
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "%s: gemma3.%s_logit_softcapping is not "
                         "supported",
                         r->gguf->label, attention_cap != 0 ? "attn" : "final");
    return status;
}

/* Factors for each frequency: phi3's two tensors, of which the context decides. */
static enum status read_long(const struct reader *r, struct model_spec *spec,
                             const struct weights_architecture *architecture)
{
    const struct weights_catalog *catalog = &r->gguf->catalog;
    bool has_short = weights_bind_entry(architecture, false, WEIGHTS_ROPE_FACTORS, catalog) != NULL;
    bool has_long =
        weights_bind_entry(architecture, false, WEIGHTS_ROPE_FACTORS_LONG, catalog) != NULL;
    int64_t n_original = spec->n_positions_max;
    struct rope_scaling scaling = { .kind = ROPE_SCALING_LONG, .attention_factor = 1.0f };
    enum status status = read_size(r, "rope.scaling.original_context_length", &n_original);
    if (status == STATUS_OK)
        status = read_float(r, "rope.scaling.attn_factor", &scaling.attention_factor);
    if (status != STATUS_OK)
        return status;
    scaling.n_positions_original = (int32_t)n_original;
    scaling.is_long = spec->n_positions_max > n_original;
    if (!(scaling.is_long ? has_long : has_short))
        return fault_set(r->fault, STATUS_BAD_INPUT, "%s: tensor rope_factors_%s.weight is missing",
                         r->gguf->label, scaling.is_long ? "long" : "short");
    spec->rope_scaling = scaling;
    return STATUS_OK;
}

static enum status read_rope(const struct reader *r, struct model_spec *spec,
                             const struct weights_architecture *architecture)
{
    char key[96];
    struct view kind = view_text("");
    const struct weights_catalog *catalog = &r->gguf->catalog;
    bool is_phi3 = strcmp(spec->architecture, "phi3") == 0;
    float factor = 0;
    spec->rope_base = 10000.0f;
    if (spec->position == POSITION_LEARNED)
        return STATUS_OK;
    enum status status = read_float(r, "rope.freq_base", &spec->rope_base);
    if (status == STATUS_OK)
        status = read_float(r, "rope.scale_linear", &factor); /* the key of old files */
    if (factor != 0)
        kind = view_text("linear");
    if (status == STATUS_OK)
        status = read_float(r, "rope.scaling.factor", &factor);
    print_key(r, "rope.scaling.type", key);
    if (status == STATUS_OK)
        status = weights_gguf_meta_text(r->gguf, key, &kind, r->fault);
    if (status != STATUS_OK)
        return status;
    bool has_factors =
        weights_bind_entry(architecture, false, WEIGHTS_ROPE_FACTORS, catalog) != NULL ||
        weights_bind_entry(architecture, false, WEIGHTS_ROPE_FACTORS_LONG, catalog) != NULL;
    if (is_phi3 && (has_factors || view_equal_text(kind, "longrope")))
        return read_long(r, spec, architecture);
    if (kind.n == 0 || view_equal_text(kind, "none"))
        return STATUS_OK;
    if (!view_equal_text(kind, "linear"))
        return fault_set(r->fault, STATUS_UNSUPPORTED, "%s: %s %.*s is not supported",
                         r->gguf->label, key, (int)(kind.n < 32 ? kind.n : 32), kind.at);
    if (factor != 0 && factor != 1.0f)
        spec->rope_scaling = (struct rope_scaling){ .kind = ROPE_SCALING_LINEAR, .factor = factor };
    return STATUS_OK;
}

/* The vocabulary is what the embedding holds: lists of tokens may be shorter. */
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
    return weights_catalog_count(catalog, &spec->n_parameters, r->fault);
}

static enum status find_architecture(const struct weights_gguf *gguf,
                                     const struct weights_architecture **architecture,
                                     struct fault *fault)
{
    struct view name = view_text("");
    char text[64];
    enum status status = weights_gguf_meta_text(gguf, "general.architecture", &name, fault);
    if (status != STATUS_OK)
        return status;
    if (name.n == 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: general.architecture is missing",
                         gguf->label);
    snprintf(text, sizeof(text), "%.*s", (int)(name.n < 60 ? name.n : 60), name.at);
    *architecture = weights_names_find(text, false);
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
    struct reader r = { gguf, row->name, fault };
    *spec = (struct model_spec){
        .norm = row->norm,
        .act = row->act,
        .is_gated = row->is_gated,
        .has_qk_norm = row->has_qk_norm,
        .position = row->gguf_position,
        .has_post_norms = row->has_post_norms,
        .norm_epsilon = 1e-5f,
        .embedding_scale = 1.0f,
    };
    snprintf(spec->architecture, sizeof(spec->architecture), "%s", row->name);
    status = read_sizes(&r, spec);
    if (status == STATUS_OK)
        status = read_heads(&r, spec);
    if (status == STATUS_OK)
        status = read_rope(&r, spec, row);
    if (status == STATUS_OK)
        status = read_turns(&r, spec);
    if (status == STATUS_OK)
        status = read_scores(&r, spec);
    if (status == STATUS_OK)
        status = read_float(&r,
                            row->norm == NORM_RMS ? "attention.layer_norm_rms_epsilon"
                                                  : "attention.layer_norm_epsilon",
                            &spec->norm_epsilon);
    if (status == STATUS_OK)
        status = read_tensors(&r, spec, row);
    if (status != STATUS_OK)
        return status;
    if (row->scales_embedding)
        spec->embedding_scale = (float)num_sqrt((double)spec->width);
    model_spec_group(spec);
    return model_spec_check(spec, fault);
}
