/* From config.json to a spec: one row of key names per family, and what a family must not ask for.
 *
 * A key that is absent has the value that the transformers library gives it. */
#include "weights/hf_spec.h"
#include "weights/hf_rope.h"
#include "base/num.h"
#include <stdio.h>
#include <string.h>

#define SIZE_MAX_READ ((int64_t)1 << 30) /* model_spec_check narrows it */
#define ABSENT        ((int64_t)-1)

static const struct family {
    const char *model_type; /* NULL: llama and its kin */
    const char *layers, *width, *heads, *kv_heads, *ffn, *positions, *vocabulary, *epsilon, *act;
    float epsilon_usual;
    bool is_tied_usual;
    int32_t position_offset;
} families[] = {
    { "gpt2", "n_layer", "n_embd", "n_head", NULL, "n_inner", "n_positions", "vocab_size",
      "layer_norm_epsilon", "activation_function", 1e-5f, true, 0 },
    { "opt", "num_hidden_layers", "hidden_size", "num_attention_heads", NULL, "ffn_dim",
      "max_position_embeddings", "vocab_size", NULL, "activation_function", 1e-5f, true, 2 },
    { "chatglm", "num_layers", "hidden_size", "num_attention_heads", "multi_query_group_num",
      "ffn_hidden_size", "seq_length", "padded_vocab_size", "layernorm_epsilon", NULL, 1e-5f, false,
      0 },
    { "phi3", "num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads",
      "intermediate_size", "max_position_embeddings", "vocab_size", "rms_norm_eps", "hidden_act",
      1e-5f, false, 0 },
    { "gemma", "num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads",
      "intermediate_size", "max_position_embeddings", "vocab_size", "rms_norm_eps", "hidden_act",
      1e-6f, true, 0 },
    { "gemma3_text", "num_hidden_layers", "hidden_size", "num_attention_heads",
      "num_key_value_heads", "intermediate_size", "max_position_embeddings", "vocab_size",
      "rms_norm_eps", "hidden_activation", 1e-6f, true, 0 },
    { NULL, "num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads",
      "intermediate_size", "max_position_embeddings", "vocab_size", "rms_norm_eps", "hidden_act",
      1e-6f, false, 0 },
};

/* Switches that change the arithmetic: any other value than this is refused. */
static const struct {
    const char *model_type, *key;
    bool value;
} demands[] = {
    { "opt", "do_layer_norm_before", true },
    { "opt", "_remove_final_layer_norm", false },
    { "opt", "layer_norm_elementwise_affine", true },
    { "gpt2", "scale_attn_weights", true },
    { "gpt2", "scale_attn_by_inverse_layer_idx", false },
    { "gpt2", "add_cross_attention", false },
    { "gemma", "use_bidirectional_attention", false },
    { "gemma3_text", "use_bidirectional_attention", false },
    { "chatglm", "rmsnorm", true },
    { "chatglm", "post_layer_norm", true },
    { "chatglm", "apply_residual_connection_post_layernorm", false },
    { "chatglm", "add_bias_linear", false },
};

struct reader {
    struct weights_json_from from;
    const struct family *family;
};

static enum status refuse_text(const struct reader *r, const char *key, const char *value)
{
    return fault_set(r->from.fault, STATUS_UNSUPPORTED,
                     "config.json: %s \"%.60s\" is not supported", key, value);
}

static bool is_gemma3(const struct model_spec *spec)
{
    return strcmp(spec->architecture, "gemma3") == 0;
}

static enum status check_demands(const struct reader *r, const char *model_type)
{
    for (size_t i = 0; i < COUNT_OF(demands); i++) {
        bool value = demands[i].value;
        if (strcmp(demands[i].model_type, model_type) != 0)
            continue;
        enum status status = weights_json_bool(&r->from, demands[i].key, &value);
        if (status != STATUS_OK)
            return status;
        if (value != demands[i].value)
            return fault_set(r->from.fault, STATUS_UNSUPPORTED,
                             "config.json: %s is %s, which is not supported for %s", demands[i].key,
                             value ? "true" : "false", model_type);
    }
    if (weights_json_find(r->from.object, "quantization_config") != NULL)
        return fault_set(r->from.fault, STATUS_UNSUPPORTED,
                         "config.json: quantization_config: quantized checkpoints are not "
                         "supported");
    return STATUS_OK;
}

/* *out keeps its value when the key is absent, unless it is ABSENT: then the key must be there. */
static enum status read_size(const struct reader *r, const char *key, int32_t *out, int64_t usual)
{
    int64_t value = usual;
    if (key != NULL) {
        enum status status = weights_json_i64(&r->from, key, 0, SIZE_MAX_READ, &value);
        if (status != STATUS_OK)
            return status;
    }
    if (value == ABSENT)
        return fault_set(r->from.fault, STATUS_BAD_INPUT, "config.json: %s is missing", key);
    *out = (int32_t)value;
    return STATUS_OK;
}

static enum status read_sizes(const struct reader *r, struct model_spec *spec)
{
    const struct family *family = r->family;
    const struct {
        const char *key;
        int32_t *out;
    } rows[] = {
        { family->layers, &spec->n_layers },         { family->width, &spec->width },
        { family->heads, &spec->n_heads },           { family->positions, &spec->n_positions_max },
        { family->vocabulary, &spec->n_vocabulary },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_size(r, rows[i].key, rows[i].out, ABSENT);
        if (status != STATUS_OK)
            return status;
    }
    if (spec->n_heads < 1)
        return fault_set(r->from.fault, STATUS_BAD_INPUT, "config.json: %s is 0", family->heads);
    bool is_gpt2 = strcmp(spec->architecture, "gpt2") == 0;
    return read_size(r, family->ffn, &spec->ffn_width, is_gpt2 ? 4 * (int64_t)spec->width : ABSENT);
}

static enum status read_heads(const struct reader *r, struct model_spec *spec)
{
    bool is_chatglm = strcmp(spec->architecture, "chatglm") == 0;
    bool shares_kv = !is_chatglm;
    bool is_gemma = strncmp(spec->architecture, "gemma", 5) == 0;
    int32_t head_dim_usual = is_gemma ? 256
                             : strcmp(spec->architecture, "qwen3") == 0
                                 ? 128
                                 : spec->width / spec->n_heads;
    enum status status = weights_json_bool(&r->from, "multi_query_attention", &shares_kv);
    if (status == STATUS_OK)
        status = read_size(r, shares_kv ? r->family->kv_heads : NULL, &spec->n_kv_heads,
                           is_gemma ? ABSENT : spec->n_heads);
    if (status == STATUS_OK)
        status =
            read_size(r, is_chatglm ? "kv_channels" : "head_dim", &spec->head_dim, head_dim_usual);
    if (spec->position != POSITION_LEARNED)
        spec->n_rope_dims = is_chatglm ? spec->head_dim / 2 : spec->head_dim;
    return status;
}

static enum status read_act(const struct reader *r, struct model_spec *spec)
{
    static const struct {
        const char *name;
        enum act_kind act;
    } acts[] = {
        { "silu", ACT_SILU },           { "swish", ACT_SILU },
        { "gelu_new", ACT_GELU_TANH },  { "gelu_pytorch_tanh", ACT_GELU_TANH },
        { "gelu_fast", ACT_GELU_TANH }, { "gelu", ACT_GELU_ERF },
        { "relu", ACT_RELU },
    };
    const char *name = NULL;
    if (r->family->act == NULL)
        return STATUS_OK;
    enum status status = weights_json_text(&r->from, r->family->act, &name);
    if (status != STATUS_OK || name == NULL)
        return status;
    for (size_t i = 0; i < COUNT_OF(acts); i++)
        if (strcmp(acts[i].name, name) == 0) {
            /* Gemma was trained with the tanh form, also where older files say "gelu". */
            bool is_gemma = strncmp(spec->architecture, "gemma", 5) == 0;
            bool is_exact = acts[i].act == ACT_GELU_ERF;
            spec->act = is_gemma && is_exact ? ACT_GELU_TANH : acts[i].act;
            return STATUS_OK;
        }
    return refuse_text(r, r->family->act, name);
}

/* The layers of a list that see everything, and its length; 0: there is none. */
static enum status read_layer_types(const struct reader *r, struct model_spec *spec,
                                    uint32_t *n_listed)
{
    const struct weights_json_node *types = weights_json_find(r->from.object, "layer_types");
    *n_listed = types != NULL && types->kind == WEIGHTS_JSON_ARRAY ? types->n : 0;
    const struct weights_json_node *type = *n_listed > 0 ? types + 1 : NULL;
    for (uint32_t i = 0; i < *n_listed; i++, type = weights_json_next(type)) {
        bool is_full = weights_json_is_text(type, "full_attention");
        if (!is_full && !weights_json_is_text(type, "sliding_attention"))
            return refuse_text(r, "layer_types",
                               type->kind == WEIGHTS_JSON_TEXT ? type->text : "?");
        if (i < LIMIT_LAYERS)
            spec->is_full_layer[i] = is_full;
        spec->n_full_layers += is_full;
    }
    return STATUS_OK;
}

/* gemma3: every sixth layer sees everything, unless a list says which. */
static enum status read_turns(const struct reader *r, struct model_spec *spec)
{
    uint32_t n_listed = 0;
    int32_t every = 6;
    spec->window = 4096;
    enum status status = read_size(r, "sliding_window", &spec->window, spec->window);
    if (status == STATUS_OK)
        status = read_size(r, "_sliding_window_pattern", &every, every);
    if (status == STATUS_OK)
        status = read_size(r, "sliding_window_pattern", &every, every);
    if (status == STATUS_OK)
        status = read_layer_types(r, spec, &n_listed);
    if (status == STATUS_OK && n_listed > 0 && n_listed != (uint32_t)spec->n_layers)
        return fault_set(r->from.fault, STATUS_BAD_INPUT,
                         "config.json: layer_types has %u elements for %d layers", n_listed,
                         spec->n_layers);
    if (status != STATUS_OK || n_listed > 0)
        return status;
    if (every < 1)
        return fault_set(r->from.fault, STATUS_BAD_INPUT,
                         "config.json: sliding_window_pattern is 0");
    model_spec_set_full(spec, every);
    return STATUS_OK;
}

static enum status read_window(const struct reader *r, struct model_spec *spec)
{
    bool is_qwen = strncmp(spec->architecture, "qwen", 4) == 0, is_sliding = !is_qwen;
    uint32_t n_listed = 0;
    int32_t window = 0, n_full = spec->n_layers;
    if (spec->position == POSITION_LEARNED)
        return STATUS_OK;
    if (is_gemma3(spec))
        return read_turns(r, spec);
    enum status status = weights_json_bool(&r->from, "use_sliding_window", &is_sliding);
    if (status == STATUS_OK)
        status = read_size(r, "sliding_window", &window, 0);
    if (status == STATUS_OK)
        status = read_size(r, "max_window_layers", &n_full, spec->n_layers);
    if (status != STATUS_OK)
        return status;
    /* qwen: the first n_full layers see everything. */
    if (is_qwen && is_sliding && n_full >= spec->n_layers)
        is_sliding = false;
    else if (is_qwen && is_sliding && n_full > 0)
        return refuse_text(r, "max_window_layers", "full and sliding attention mixed");
    status = read_layer_types(r, spec, &n_listed);
    if (status != STATUS_OK)
        return status;
    if (spec->n_full_layers > 0 && spec->n_full_layers != (int32_t)n_listed)
        return refuse_text(r, "layer_types", "full and sliding attention mixed");
    is_sliding = n_listed > 0 ? spec->n_full_layers == 0 : is_sliding;
    model_spec_set_full(spec, 0);
    spec->window = is_sliding ? window : 0;
    return STATUS_OK;
}

static enum status read_rope(const struct reader *r, struct model_spec *spec)
{
    return weights_hf_rope(&r->from, spec);
}

/* gemma3: what scores are divided by; caps, which Gemma 2 has, are none of ours. */
static enum status read_scores(const struct reader *r, struct model_spec *spec)
{
    float attention_cap = 0, logit_cap = 0;
    if (!is_gemma3(spec))
        return STATUS_OK;
    spec->score_divisor = 256;
    enum status status = weights_json_f32(&r->from, "query_pre_attn_scalar", &spec->score_divisor);
    if (status == STATUS_OK)
        status = weights_json_f32(&r->from, "attn_logit_softcapping", &attention_cap);
    if (status == STATUS_OK)
        status = weights_json_f32(&r->from, "final_logit_softcapping", &logit_cap);
    if (status == STATUS_OK && !(spec->score_divisor > 0))
        return fault_set(r->from.fault, STATUS_BAD_INPUT,
                         "config.json: query_pre_attn_scalar is %g", (double)spec->score_divisor);
    if (status == STATUS_OK && (attention_cap != 0 || logit_cap != 0))
        return fault_set(r->from.fault, STATUS_UNSUPPORTED, "config.json: %s is not supported",
                         attention_cap != 0 ? "attn_logit_softcapping" : "final_logit_softcapping");
    return status;
}

static enum status read_rest(const struct reader *r, struct model_spec *spec)
{
    spec->norm_epsilon = r->family->epsilon_usual;
    spec->is_tied = r->family->is_tied_usual;
    spec->position_offset = r->family->position_offset;
    enum status status = weights_json_bool(&r->from, "tie_word_embeddings", &spec->is_tied);
    if (status == STATUS_OK && r->family->epsilon != NULL)
        status = weights_json_f32(&r->from, r->family->epsilon, &spec->norm_epsilon);
    int32_t projected = spec->width;
    if (status == STATUS_OK)
        status = read_size(r, "word_embed_proj_dim", &projected, spec->width);
    if (status == STATUS_OK && projected != spec->width)
        return fault_set(r->from.fault, STATUS_UNSUPPORTED,
                         "config.json: word_embed_proj_dim is %d for a width of %d: project_in and "
                         "project_out are not supported",
                         projected, spec->width);
    return status;
}

static enum status find_architecture(struct reader *r,
                                     const struct weights_architecture **architecture)
{
    const char *model_type = NULL;
    enum status status = weights_json_text(&r->from, "model_type", &model_type);
    if (status != STATUS_OK)
        return status;
    if (model_type == NULL)
        return fault_set(r->from.fault, STATUS_BAD_INPUT, "config.json: model_type is missing");
    *architecture = weights_names_find(model_type, true);
    if (*architecture == NULL)
        return fault_set(r->from.fault, STATUS_UNSUPPORTED,
                         "config.json: model_type \"%.60s\" is not supported%s", model_type,
                         weights_names_refusal(model_type, true));
    r->family = families;
    while (r->family->model_type != NULL && strcmp(r->family->model_type, model_type) != 0)
        r->family++;
    return check_demands(r, model_type);
}

enum status weights_hf_spec(const struct weights_json_node *config, struct model_spec *spec,
                            const struct weights_architecture **architecture, struct fault *fault)
{
    struct reader r = { .from = { config, "config.json", fault } };
    if (config->kind != WEIGHTS_JSON_OBJECT)
        return fault_set(fault, STATUS_BAD_INPUT, "config.json: not an object");
    enum status status = find_architecture(&r, architecture);
    if (status != STATUS_OK)
        return status;
    const struct weights_architecture *row = *architecture;
    *spec = (struct model_spec){
        .norm = row->norm,
        .act = row->act,
        .is_gated = row->is_gated,
        .has_qk_norm = row->has_qk_norm,
        .position = row->hf_position,
        .has_post_norms = row->has_post_norms,
        .embedding_scale = 1.0f,
    };
    snprintf(spec->architecture, sizeof(spec->architecture), "%s", row->name);
    enum status (*const steps[])(const struct reader *, struct model_spec *) = {
        read_sizes, read_heads, read_act, read_window, read_rope, read_scores, read_rest
    };
    for (size_t i = 0; i < COUNT_OF(steps) && status == STATUS_OK; i++)
        status = steps[i](&r, spec);
    if (status != STATUS_OK)
        return status;
    if (row->scales_embedding)
        spec->embedding_scale = (float)num_sqrt((double)spec->width);
    model_spec_group(spec);
    return model_spec_check(spec, fault);
}
