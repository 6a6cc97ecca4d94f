/* From config.json to a spec: one row of key names per family. An absent key has the value that the
 * transformers library gives it. */
#include "weights/hf_spec.h"
#include "weights/hf_dense.h"
#include "weights/hf_encoder.h"
#include "weights/hf_experts.h"
#include "weights/hf_keys.h"
#include "weights/hf_latent.h"
#include "weights/hf_rope.h"
#include "weights/hf_window.h"
#include "base/num.h"
#include <stdio.h>
#include <string.h>

#define SIZE_MAX_READ ((int64_t)1 << 30) /* model_spec_check narrows it */
#define ABSENT        ((int64_t)-1)
#define KEYS(kv_heads, ffn, epsilon)                                                               \
    "num_hidden_layers", "hidden_size", "num_attention_heads", kv_heads, ffn,                      \
        "max_position_embeddings", "vocab_size", epsilon
#define KEYS_WITH(ffn) KEYS("num_key_value_heads", ffn, "rms_norm_eps")
#define NORMED_KEYS    KEYS("num_key_value_heads", "intermediate_size", "layer_norm_eps")
#define LLAMA_KEYS     KEYS_WITH("intermediate_size")

static const struct family {
    const char *model_type;
    const char *layers, *width, *heads, *kv_heads, *ffn, *positions, *vocabulary, *epsilon, *act;
    float epsilon_usual;
    int32_t kv_heads_usual; /* when the key is absent; 0: as many as heads */
    int32_t head_dim_usual; /* 0: the width divided by the heads */
    int32_t position_offset;
    bool is_tied_usual;
} families[] = {
    { "llama", LLAMA_KEYS, "hidden_act", 1e-6f, 0, 0, 0, false },
    { "mistral", LLAMA_KEYS, "hidden_act", 1e-6f, 8, 0, 0, false },
    { "qwen2", LLAMA_KEYS, "hidden_act", 1e-6f, 32, 0, 0, false },
    { "qwen3", LLAMA_KEYS, "hidden_act", 1e-6f, 32, 128, 0, false },
    { "mixtral", KEYS_WITH(NULL), "hidden_act", 1e-5f, 8, 0, 0, false },
    { "olmoe", KEYS_WITH(NULL), "hidden_act", 1e-5f, 0, 0, 0, false },
    { "qwen2_moe", KEYS_WITH("shared_expert_intermediate_size"), "hidden_act", 1e-6f, 16, 0, 0,
      false },
    { "qwen3_moe", KEYS_WITH(NULL), "hidden_act", 1e-6f, 4, 0, 0, false },
    { "gpt_oss", KEYS_WITH(NULL), NULL, 1e-5f, 8, 64, 0, false },
    { "granitemoe", KEYS_WITH(NULL), "hidden_act", 1e-6f, 0, 0, 0, false },
    { "granitemoeshared", KEYS_WITH("shared_intermediate_size"), "hidden_act", 1e-6f, 0, 0, 0,
      false },
    { "glm4_moe", KEYS_WITH(NULL), "hidden_act", 1e-5f, 8, 0, 0, false },
    { "deepseek_v2", KEYS_WITH(NULL), "hidden_act", 1e-6f, 0, 0, 0, false },
    { "deepseek_v3", KEYS_WITH(NULL), "hidden_act", 1e-6f, 0, 0, 0, false },
    { "phi3", LLAMA_KEYS, "hidden_act", 1e-5f, 0, 0, 0, false },
    { "gemma", LLAMA_KEYS, "hidden_act", 1e-6f, 16, 256, 0, true },
    { "gemma2", LLAMA_KEYS, "hidden_activation", 1e-6f, 4, 256, 0, true },
    { "gemma3_text", LLAMA_KEYS, "hidden_activation", 1e-6f, 4, 256, 0, true },
    { "granite", LLAMA_KEYS, "hidden_act", 1e-6f, 0, 0, 0, false },
    { "smollm3", LLAMA_KEYS, "hidden_act", 1e-6f, 4, 0, 0, true },
    { "internlm2", LLAMA_KEYS, "hidden_act", 1e-6f, 0, 0, 0, false },
    { "olmo2", LLAMA_KEYS, "hidden_act", 1e-5f, 0, 0, 0, false },
    { "olmo3", LLAMA_KEYS, "hidden_act", 1e-5f, 0, 0, 0, false },
    { "glm", LLAMA_KEYS, "hidden_act", 1.5625e-7f, 2, 128, 0, false },
    { "glm4", LLAMA_KEYS, "hidden_act", 1.5625e-7f, 2, 128, 0, false },
    { "starcoder2", KEYS("num_key_value_heads", "intermediate_size", "norm_epsilon"), "hidden_act",
      1e-5f, 2, 0, 0, true },
    { "stablelm", NORMED_KEYS, "hidden_act", 1e-5f, 32, 0, 0, false },
    { "phi", NORMED_KEYS, "hidden_act", 1e-5f, 0, 0, 0, false },
    { "gpt_neox", KEYS(NULL, "intermediate_size", "layer_norm_eps"), "hidden_act", 1e-5f, 0, 0, 0,
      false },
    { "falcon", KEYS("num_kv_heads", "ffn_hidden_size", "layer_norm_epsilon"), "activation", 1e-5f,
      0, 0, 0, true },
    { "cohere", NORMED_KEYS, "hidden_act", 1e-5f, 0, 0, 0, true },
    { "cohere2", NORMED_KEYS, "hidden_act", 1e-5f, 0, 0, 0, true },
    { "gpt2", "n_layer", "n_embd", "n_head", NULL, "n_inner", "n_positions", "vocab_size",
      "layer_norm_epsilon", "activation_function", 1e-5f, 0, 0, 0, true },
    { "opt", "num_hidden_layers", "hidden_size", "num_attention_heads", NULL, "ffn_dim",
      "max_position_embeddings", "vocab_size", NULL, "activation_function", 1e-5f, 0, 0, 2, true },
    { "bert", KEYS(NULL, "intermediate_size", "layer_norm_eps"), "hidden_act", 1e-12f, 0, 0, 0,
      true },
    { "roberta", KEYS(NULL, "intermediate_size", "layer_norm_eps"), "hidden_act", 1e-12f, 0, 0, 0,
      true },
    { "xlm-roberta", KEYS(NULL, "intermediate_size", "layer_norm_eps"), "hidden_act", 1e-12f, 0, 0,
      0, true },
    { "chatglm", "num_layers", "hidden_size", "num_attention_heads", "multi_query_group_num",
      "ffn_hidden_size", "seq_length", "padded_vocab_size", "layernorm_epsilon", NULL, 1e-5f, 1,
      128, 0, false },
};

struct reader {
    struct weights_json_from from;
    const struct family *family;
};

/* Reads a size. When the key is absent out keeps its value, unless that is ABSENT: then the key is
 * required. */
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

/* GPT-2's sizes may have the names of other families in the library, and these take precedence. */
static enum status check_aliases(const struct reader *r)
{
    static const char *const rows[][2] = {
        { "n_layer", "num_hidden_layers" },
        { "n_embd", "hidden_size" },
        { "n_head", "num_attention_heads" },
        { "n_positions", "max_position_embeddings" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int32_t own = 0, other = 0;
        enum status status = read_size(r, rows[i][0], &own, ABSENT);
        if (status == STATUS_OK)
            status = read_size(r, rows[i][1], &other, own);
        if (status != STATUS_OK)
            return status;
        if (own != other)
            return fault_set(r->from.fault, STATUS_BAD_INPUT,
                             "config.json: %s is %d and %s is %d, which are two names of one size",
                             rows[i][0], own, rows[i][1], other);
    }
    return STATUS_OK;
}

static enum status read_sizes(const struct reader *r, struct model_spec *spec)
{
    const struct family *family = r->family;
    bool is_gemma3 = strcmp(spec->architecture, "gemma3") == 0; /* published files lack some */
    const struct {
        const char *key;
        int32_t *out;
        int64_t usual;
    } rows[] = {
        { family->layers, &spec->n_layers, ABSENT },
        { family->width, &spec->width, ABSENT },
        { family->heads, &spec->n_heads, is_gemma3 ? 8 : ABSENT },
        { family->positions, &spec->n_positions_max, is_gemma3 ? 131072 : ABSENT },
        { family->vocabulary, &spec->n_vocabulary, is_gemma3 ? 262208 : ABSENT },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status = read_size(r, rows[i].key, rows[i].out, rows[i].usual);
        if (status != STATUS_OK)
            return status;
    }
    if (spec->n_heads < 1)
        return fault_set(r->from.fault, STATUS_BAD_INPUT, "config.json: %s is 0", family->heads);
    bool is_gpt2 = strcmp(spec->architecture, "gpt2") == 0;
    bool is_fourfold = is_gpt2 || strcmp(spec->architecture, "falcon") == 0;
    enum status status = is_gpt2 ? check_aliases(r) : STATUS_OK;
    int64_t usual = is_fourfold ? 4 * (int64_t)spec->width : family->ffn == NULL ? 0 : ABSENT;
    return status != STATUS_OK ? status : read_size(r, family->ffn, &spec->ffn_width, usual);
}

/* falcon: the older form has one KV head, or as many as heads. */
static enum status read_falcon_heads(const struct reader *r, int32_t *n_kv_heads, int32_t n_heads)
{
    bool is_newer = false, is_multi_query = true;
    enum status status = weights_json_bool(&r->from, "new_decoder_architecture", &is_newer);
    if (status == STATUS_OK)
        status = weights_json_bool(&r->from, "multi_query", &is_multi_query);
    if (status == STATUS_OK && !is_newer && is_multi_query)
        *n_kv_heads = 1;
    else if (status == STATUS_OK && !is_newer && *n_kv_heads != n_heads)
        return fault_set(r->from.fault, STATUS_BAD_INPUT,
                         "config.json: num_kv_heads is %d for %d heads, although multi_query and "
                         "new_decoder_architecture are false",
                         *n_kv_heads, n_heads);
    return status;
}

static enum status read_heads(const struct reader *r, struct model_spec *spec)
{
    const struct family *family = r->family;
    bool is_chatglm = strcmp(spec->architecture, "chatglm") == 0;
    bool shares_kv = family->kv_heads != NULL && !is_chatglm;
    int32_t head_dim = family->head_dim_usual;
    enum status status =
        is_chatglm ? weights_json_bool(&r->from, "multi_query_attention", &shares_kv) : STATUS_OK;
    const char *key = shares_kv ? family->kv_heads : NULL;
    bool is_absent = key != NULL && weights_json_member(r->from.object, key) == NULL;
    int32_t n_kv_heads = is_absent ? family->kv_heads_usual : 0;
    if (status == STATUS_OK)
        status = read_size(r, key, &spec->n_kv_heads, n_kv_heads > 0 ? n_kv_heads : spec->n_heads);
    if (status == STATUS_OK)
        status = read_size(r,
                           is_chatglm                 ? "kv_channels"
                           : family->kv_heads != NULL ? "head_dim"
                                                      : NULL,
                           &spec->head_dim, head_dim > 0 ? head_dim : spec->width / spec->n_heads);
    if (status == STATUS_OK && strcmp(spec->architecture, "falcon") == 0)
        status = read_falcon_heads(r, &spec->n_kv_heads, spec->n_heads);
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
        { "gelu_fast", ACT_GELU_TANH }, { "gelu_accurate", ACT_GELU_TANH },
        { "gelu", ACT_GELU_ERF },       { "gelu_python", ACT_GELU_ERF },
        { "relu", ACT_RELU },
    };
    const char *name = NULL;
    if (spec->act == ACT_SWIGLU_CLAMPED) {
        spec->act_limit = 7.0f;
        return weights_json_f32(&r->from, "swiglu_limit", &spec->act_limit);
    }
    if (r->family->act == NULL)
        return STATUS_OK;
    enum status status = weights_json_text(&r->from, r->family->act, &name);
    if (status != STATUS_OK || name == NULL)
        return status;
    for (size_t i = 0; i < COUNT_OF(acts); i++)
        if (strcmp(acts[i].name, name) == 0) {
            /* Gemma's first files have "gelu" and mean the tanh form, as the library knows. */
            bool is_first = strcmp(spec->architecture, "gemma") == 0 && strcmp(name, "gelu") == 0;
            spec->act = is_first ? ACT_GELU_TANH : acts[i].act;
            return STATUS_OK;
        }
    return fault_set(r->from.fault, STATUS_UNSUPPORTED,
                     "config.json: %s \"%.60s\" is not supported", r->family->act, name);
}

static enum status read_window(const struct reader *r, struct model_spec *spec)
{
    return weights_hf_window(&r->from, spec);
}

static enum status read_rope(const struct reader *r, struct model_spec *spec)
{
    return weights_hf_rope(&r->from, spec);
}

static enum status read_latent(const struct reader *r, struct model_spec *spec)
{
    return weights_hf_latent(&r->from, spec);
}

static enum status read_experts(const struct reader *r, struct model_spec *spec)
{
    return weights_hf_experts(&r->from, spec);
}

/* gemma2: reads a cap, which null removes. */
static enum status read_cap(const struct reader *r, const char *key, float usual, float *cap)
{
    const struct weights_json_node *value = weights_json_member(r->from.object, key);
    *cap = value == NULL ? usual : 0;
    enum status status = weights_json_f32(&r->from, key, cap);
    if (status == STATUS_OK && value != NULL && value->kind != WEIGHTS_JSON_NULL && !(*cap > 0))
        return fault_set(r->from.fault, STATUS_BAD_INPUT,
                         "config.json: %s is %g, expected more than 0", key, (double)*cap);
    return status;
}

/* gemma2, gemma3: reads the divisor of scores; gemma2: the caps. */
static enum status read_scores(const struct reader *r, struct model_spec *spec)
{
    bool is_gemma2 = strcmp(spec->architecture, "gemma2") == 0;
    enum status status = STATUS_OK;
    if (!is_gemma2 && strcmp(spec->architecture, "gemma3") != 0)
        return STATUS_OK;
    spec->score_divisor = 256;
    if (is_gemma2)
        status = read_cap(r, "attn_logit_softcapping", 50.0f, &spec->score_cap);
    if (status == STATUS_OK && is_gemma2)
        status = read_cap(r, "final_logit_softcapping", 30.0f, &spec->logit_cap);
    if (status == STATUS_OK)
        status = weights_json_f32(&r->from, "query_pre_attn_scalar", &spec->score_divisor);
    if (status == STATUS_OK && !(spec->score_divisor > 0))
        return fault_set(r->from.fault, STATUS_BAD_INPUT,
                         "config.json: query_pre_attn_scalar is %g, expected more than 0",
                         (double)spec->score_divisor);
    return status;
}

static enum status read_dense(const struct reader *r, struct model_spec *spec)
{
    return weights_hf_dense(&r->from, spec);
}

static enum status read_encoder(const struct reader *r, struct model_spec *spec)
{
    return weights_hf_encoder(&r->from, spec);
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
    if (status == STATUS_OK && strcmp(spec->architecture, "opt") == 0)
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
    size_t i = 0;
    while (i < COUNT_OF(families) && strcmp(families[i].model_type, model_type) != 0)
        i++;
    CHECK(i < COUNT_OF(families)); /* each architecture of names.c has a row */
    r->family = &families[i];
    return weights_hf_keys_check(&r->from, model_type);
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
        .norms_heads_together = row->norms_heads_together,
        .position = row->hf_position,
        .has_post_norms = row->has_post_norms,
        .has_no_pre_norms = row->has_no_pre_norms,
        .is_parallel = row->is_parallel,
        .has_sinks = row->has_sinks,
        .embedding_scale = 1.0f,
        .logit_scale = 1.0f,
    };
    snprintf(spec->architecture, sizeof(spec->architecture), "%s", row->name);
    enum status (*const steps[])(const struct reader *, struct model_spec *) = {
        read_sizes, read_heads,  read_latent, read_experts, read_act,     read_window,
        read_rope,  read_scores, read_rest,   read_dense,   read_encoder,
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
