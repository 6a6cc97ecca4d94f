/* The table of architectures and of tensor names, one row set per architecture and format. */
#include "weights/names.h"
#include "weights/catalog.h"
#include "weights/name_groups.h"
#include "weights/names_dense.h"
#include "weights/names_encoder.h"
#include "weights/names_experts.h"
#include <stdio.h>
#include <string.h>

/* llama, qwen2, gemma. The spec determines which of the optional ones are required. */
static const struct weights_name gguf_llama[] = {
    GGUF_ENDS,
    { WEIGHTS_ROPE_FACTORS, OPT, "rope_freqs.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    GGUF_O,
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    WITH_BIAS(WEIGHTS_GATE, OPT, "blk.%d.ffn_gate"),
    GGUF_UP_DOWN,
    { 0, IGNORED, "blk.%d.attn_rot_embd" },
    END,
};
static const struct weights_name gguf_qwen3[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    GGUF_QK_NORMS(0),
    GGUF_O,
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    GGUF_GATED(WEIGHTS_, 0, ""),
    END,
};
static const struct weights_name gguf_gpt2[] = {
    GGUF_ENDS_LAYER,
    { WEIGHTS_POSITION_EMBEDDING, 0, "position_embd.weight" },
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm"),
    WITH_BIAS(WEIGHTS_QKV, 0, "blk.%d.attn_qkv"),
    WITH_BIAS(WEIGHTS_O, 0, "blk.%d.attn_output"),
    WITH_BIAS(WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm"),
    WITH_BIAS(WEIGHTS_UP, 0, "blk.%d.ffn_up"),
    WITH_BIAS(WEIGHTS_DOWN, 0, "blk.%d.ffn_down"),
    END,
};
static const struct weights_name gguf_chatglm[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    WITH_BIAS(WEIGHTS_QKV, OPT, "blk.%d.attn_qkv"),
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_GATE_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { 0, IGNORED, "rope_freqs.weight" },
    END,
};

static const struct weights_name gguf_phi3[] = {
    GGUF_ENDS,
    { WEIGHTS_ROPE_FACTORS, OPT, "rope_factors_short.weight" },
    { WEIGHTS_ROPE_FACTORS_LONG, OPT, "rope_factors_long.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_QKV, 0, "blk.%d.attn_qkv.weight" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_GATE_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    END,
};
static const struct weights_name gguf_gemma3[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_Q, 0, "blk.%d.attn_q.weight" },
    { WEIGHTS_K, 0, "blk.%d.attn_k.weight" },
    { WEIGHTS_V, 0, "blk.%d.attn_v.weight" },
    GGUF_QK_NORMS(0),
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_ATTENTION_POST_NORM, 0, "blk.%d.post_attention_norm.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    GGUF_GATED(WEIGHTS_, 0, ""),
    { WEIGHTS_FFN_POST_NORM, 0, "blk.%d.post_ffw_norm.weight" },
    END,
};

static const struct weights_name hf_llama[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_O,
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp"),
    { WEIGHTS_GATE_BIAS, OPT, "*layers.%d.mlp.gate_proj.bias" },
    { WEIGHTS_UP_BIAS, OPT, "*layers.%d.mlp.up_proj.bias" },
    { WEIGHTS_DOWN_BIAS, OPT, "*layers.%d.mlp.down_proj.bias" },
    HF_ROTARY,
    END,
};
static const struct weights_name hf_qwen3[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_QK_NORMS(0),
    HF_O,
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp"),
    END,
};
static const struct weights_name hf_phi3[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    { WEIGHTS_QKV, 0, "*layers.%d.self_attn.qkv_proj.weight" },
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_GATE_UP, 0, "*layers.%d.mlp.gate_up_proj.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.mlp.down_proj.weight" },
    HF_ROTARY,
    END,
};
/* Gemma's norms are stored as w - 1 here; in GGUF files they are whole. */
static const struct weights_name hf_gemma[] = {
    HF_ENDS(LESS_1),
    { WEIGHTS_ATTENTION_NORM, LESS_1, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_O,
    { WEIGHTS_FFN_NORM, LESS_1, "*layers.%d.post_attention_layernorm.weight" },
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp"),
    HF_ROTARY,
    END,
};
static const struct weights_name hf_gemma3[] = {
    HF_ENDS(LESS_1),
    { WEIGHTS_ATTENTION_NORM, LESS_1, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_QK_NORMS(LESS_1),
    HF_O,
    { WEIGHTS_ATTENTION_POST_NORM, LESS_1, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_FFN_NORM, LESS_1, "*layers.%d.pre_feedforward_layernorm.weight" },
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp"),
    { WEIGHTS_FFN_POST_NORM, LESS_1, "*layers.%d.post_feedforward_layernorm.weight" },
    END,
};
/* GPT-2's Conv1D keeps its matrices as (inputs, outputs). */
static const struct weights_name hf_gpt2[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*wte.weight" },
    { WEIGHTS_POSITION_EMBEDDING, 0, "*wpe.weight" },
    WITH_BIAS(WEIGHTS_OUTPUT_NORM, 0, "*ln_f"),
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "*h.%d.ln_1"),
    { WEIGHTS_QKV, TURNED, "*h.%d.attn.c_attn.weight" },
    { WEIGHTS_QKV_BIAS, 0, "*h.%d.attn.c_attn.bias" },
    { WEIGHTS_O, TURNED, "*h.%d.attn.c_proj.weight" },
    { WEIGHTS_O_BIAS, 0, "*h.%d.attn.c_proj.bias" },
    WITH_BIAS(WEIGHTS_FFN_NORM, 0, "*h.%d.ln_2"),
    { WEIGHTS_UP, TURNED, "*h.%d.mlp.c_fc.weight" },
    { WEIGHTS_UP_BIAS, 0, "*h.%d.mlp.c_fc.bias" },
    { WEIGHTS_DOWN, TURNED, "*h.%d.mlp.c_proj.weight" },
    { WEIGHTS_DOWN_BIAS, 0, "*h.%d.mlp.c_proj.bias" },
    { 0, IGNORED, "*h.%d.attn.bias" }, /* the causal mask of older files */
    { 0, IGNORED, "*h.%d.attn.masked_bias" },
    END,
};
static const struct weights_name hf_opt[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_tokens.weight" },
    { WEIGHTS_POSITION_EMBEDDING, 0, "*embed_positions.weight" },
    WITH_BIAS(WEIGHTS_OUTPUT_NORM, 0, "*final_layer_norm"),
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.self_attn_layer_norm"),
    HF_QKV,
    WITH_BIAS(WEIGHTS_O, OPT, "*layers.%d.self_attn.out_proj"),
    WITH_BIAS(WEIGHTS_FFN_NORM, 0, "*layers.%d.final_layer_norm"),
    WITH_BIAS(WEIGHTS_UP, OPT, "*layers.%d.fc1"),
    WITH_BIAS(WEIGHTS_DOWN, OPT, "*layers.%d.fc2"),
    END,
};
static const struct weights_name hf_chatglm[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embedding.word_embeddings.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "*encoder.final_layernorm.weight" },
    { WEIGHTS_OUTPUT, OPT, "*output_layer.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "*encoder.layers.%d.input_layernorm.weight" },
    WITH_BIAS(WEIGHTS_QKV, OPT, "*encoder.layers.%d.self_attention.query_key_value"),
    { WEIGHTS_O, 0, "*encoder.layers.%d.self_attention.dense.weight" },
    { WEIGHTS_FFN_NORM, 0, "*encoder.layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_GATE_UP, 0, "*encoder.layers.%d.mlp.dense_h_to_4h.weight" },
    { WEIGHTS_DOWN, 0, "*encoder.layers.%d.mlp.dense_4h_to_h.weight" },
    { 0, IGNORED, "*rotary_pos_emb.inv_freq" },
    END,
};

#define GGUF(table)                                                                                \
    {                                                                                              \
        .prefixes = { "", NULL }, .rows = (table)                                                  \
    }
#define HF(prefix, other, table)                                                                   \
    {                                                                                              \
        .prefixes = { (prefix), (other) }, .rows = (table)                                         \
    }

/* GGUF files of llama, which are mistral's too, have q and k permuted for rotation in pairs. */
static const struct weights_architecture architectures[] = {
    { "llama", "llama", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS, POSITION_ROPE_HALVES,
      GGUF(gguf_llama), HF("model.", "", hf_llama) },
    { "mistral", "mistral", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_HALVES, GGUF(NULL), HF("model.", "", hf_llama) },
    { "qwen2", "qwen2", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_HALVES, POSITION_ROPE_HALVES,
      GGUF(gguf_llama), HF("model.", "", hf_llama) },
    { "qwen3", "qwen3", NORM_RMS, ACT_SILU, true, true, POSITION_ROPE_HALVES, POSITION_ROPE_HALVES,
      GGUF(gguf_qwen3), HF("model.", "", hf_qwen3) },
    { "mixtral", "mixtral", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_HALVES, GGUF(weights_names_experts_gguf_mixtral),
      HF("model.", "", weights_names_experts_hf_mixtral), .gguf_name = "llama" },
    { "olmoe", "olmoe", NORM_RMS, ACT_SILU, true, true, POSITION_ROPE_HALVES, POSITION_ROPE_HALVES,
      GGUF(weights_names_experts_gguf_qwen3moe),
      HF("model.", "", weights_names_experts_hf_qwen3_moe), .norms_heads_together = true },
    { "qwen2moe", "qwen2_moe", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_experts_gguf_qwen2moe),
      HF("model.", "", weights_names_experts_hf_qwen2_moe) },
    { "qwen3moe", "qwen3_moe", NORM_RMS, ACT_SILU, true, true, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_experts_gguf_qwen3moe),
      HF("model.", "", weights_names_experts_hf_qwen3_moe) },
    { "gpt-oss", "gpt_oss", NORM_RMS, ACT_SWIGLU_CLAMPED, true, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_experts_gguf_gpt_oss),
      HF("model.", "", weights_names_experts_hf_gpt_oss), .has_sinks = true },
    { "granitemoe", "granitemoe", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_HALVES, GGUF(weights_names_experts_gguf_granitemoe),
      HF("model.", "", weights_names_experts_hf_granitemoe) },
    { "granitemoe", "granitemoeshared", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_HALVES, GGUF(NULL), HF("model.", "", weights_names_experts_hf_granitemoe) },
    { "glm4moe", "glm4_moe", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_experts_gguf_glm4moe),
      HF("model.", "", weights_names_experts_hf_glm4_moe) },
    { "deepseek2", "deepseek_v2", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_PAIRS, GGUF(weights_names_experts_gguf_deepseek2),
      HF("model.", "", weights_names_experts_hf_deepseek_v2) },
    { "deepseek3", "deepseek_v3", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_PAIRS, GGUF(NULL), HF("model.", "", weights_names_experts_hf_deepseek_v3) },
    { "phi3", "phi3", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_HALVES, POSITION_ROPE_HALVES,
      GGUF(gguf_phi3), HF("model.", "", hf_phi3) },
    { "gemma", "gemma", NORM_RMS, ACT_GELU_TANH, true, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(gguf_llama), HF("model.", "", hf_gemma),
      .scales_embedding = true },
    { "gemma2", "gemma2", NORM_RMS, ACT_GELU_TANH, true, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_dense_gguf_gemma2),
      HF("model.", "", weights_names_dense_hf_gemma2), .has_post_norms = true,
      .scales_embedding = true },
    { "gemma3", "gemma3_text", NORM_RMS, ACT_GELU_TANH, true, true, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(gguf_gemma3),
      .hf = { { "model.", "", "language_model.model.", "model.language_model." }, hf_gemma3 },
      .has_post_norms = true, .scales_embedding = true },
    { "granite", "granite", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_HALVES, GGUF(gguf_llama), HF("model.", "", hf_llama) },
    { "smollm3", "smollm3", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_HALVES, GGUF(gguf_llama), HF("model.", "", hf_llama) },
    { "internlm2", "internlm2", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_HALVES, GGUF(gguf_llama), HF("model.", "", weights_names_dense_hf_internlm2) },
    { "olmo2", "olmo2", NORM_RMS, ACT_SILU, true, true, POSITION_ROPE_HALVES, POSITION_ROPE_HALVES,
      GGUF(weights_names_dense_gguf_olmo2), HF("model.", "", weights_names_dense_hf_olmo2),
      .has_post_norms = true, .has_no_pre_norms = true, .norms_heads_together = true },
    { "olmo3", "olmo3", NORM_RMS, ACT_SILU, true, true, POSITION_ROPE_HALVES, POSITION_ROPE_HALVES,
      GGUF(NULL), HF("model.", "", weights_names_dense_hf_olmo2), .has_post_norms = true,
      .has_no_pre_norms = true, .norms_heads_together = true },
    { "glm", "glm", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS, POSITION_ROPE_PAIRS,
      GGUF(NULL), HF("model.", "", weights_names_dense_hf_glm) },
    { "glm4", "glm4", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS, POSITION_ROPE_PAIRS,
      GGUF(weights_names_dense_gguf_glm4), HF("model.", "", weights_names_dense_hf_glm),
      .has_post_norms = true },
    { "starcoder2", "starcoder2", NORM_LAYER, ACT_GELU_TANH, false, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_dense_gguf_starcoder2),
      HF("model.", "", weights_names_dense_hf_starcoder2) },
    { "stablelm", "stablelm", NORM_LAYER, ACT_SILU, true, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_dense_gguf_stablelm),
      HF("model.", "", weights_names_dense_hf_stablelm) },
    { "phi2", "phi", NORM_LAYER, ACT_GELU_TANH, false, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_dense_gguf_phi2),
      HF("model.", "", weights_names_dense_hf_phi), .is_parallel = true },
    { "gptneox", "gpt_neox", NORM_LAYER, ACT_GELU_ERF, false, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_dense_gguf_gptneox),
      HF("gpt_neox.", "", weights_names_dense_hf_gpt_neox) },
    { "falcon", "falcon", NORM_LAYER, ACT_GELU_ERF, false, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(weights_names_dense_gguf_falcon),
      HF("transformer.", "", weights_names_dense_hf_falcon) },
    { "command-r", "cohere", NORM_LAYER, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_PAIRS, GGUF(weights_names_dense_gguf_cohere),
      HF("model.", "", weights_names_dense_hf_cohere), .is_parallel = true },
    { "cohere2", "cohere2", NORM_LAYER, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_PAIRS, GGUF(weights_names_dense_gguf_cohere),
      HF("model.", "", weights_names_dense_hf_cohere), .is_parallel = true },
    { "gpt2", "gpt2", NORM_LAYER, ACT_GELU_TANH, false, false, POSITION_LEARNED, POSITION_LEARNED,
      GGUF(gguf_gpt2), HF("transformer.", "", hf_gpt2) },
    { "opt", "opt", NORM_LAYER, ACT_RELU, false, false, POSITION_LEARNED, POSITION_LEARNED,
      GGUF(NULL), HF("model.decoder.", "decoder.", hf_opt) },
    { "bert", "bert", NORM_LAYER, ACT_GELU_ERF, false, false, POSITION_LEARNED, POSITION_LEARNED,
      GGUF(NULL), HF("bert.", "", weights_names_encoder_hf_bert), .has_no_pre_norms = true },
    { "roberta", "roberta", NORM_LAYER, ACT_GELU_ERF, false, false, POSITION_LEARNED,
      POSITION_LEARNED, GGUF(NULL), HF("roberta.", "", weights_names_encoder_hf_roberta),
      .has_no_pre_norms = true },
    { "xlm-roberta", "xlm-roberta", NORM_LAYER, ACT_GELU_ERF, false, false, POSITION_LEARNED,
      POSITION_LEARNED, GGUF(NULL), HF("roberta.", "", weights_names_encoder_hf_roberta),
      .has_no_pre_norms = true },
    { "chatglm", "chatglm", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_PAIRS,
      POSITION_ROPE_PAIRS, GGUF(gguf_chatglm), HF("transformer.", "", hf_chatglm) },
};

const struct weights_architecture *weights_names_find(const char *name, bool is_hf)
{
    for (size_t i = 0; i < COUNT_OF(architectures); i++) {
        const struct weights_architecture *row = &architectures[i];
        bool has_rows = (is_hf ? row->hf.rows : row->gguf.rows) != NULL;
        if (has_rows && strcmp(is_hf ? row->hf_name : row->name, name) == 0)
            return row;
    }
    return NULL;
}

const char *weights_names_refusal(const char *name, bool is_hf)
{

    if (!is_hf && strcmp(name, "mistral") == 0)
        return ": GGUF files of such models call it llama";
    return "";
}

void weights_names_print(const char *pattern, const char *prefix, int layer, int expert, char *name)
{
    const int numbers[] = { layer, expert };
    const char *number, *start = pattern[0] == '*' ? prefix : "";
    size_t n = (size_t)snprintf(name, CATALOG_NAME_BYTES, "%s", start);
    pattern += pattern[0] == '*';
    for (int i = 0; (number = strstr(pattern, "%d")) != NULL && i < 2; i++) {
        n += (size_t)snprintf(name + n, CATALOG_NAME_BYTES - n, "%.*s%d", (int)(number - pattern),
                              pattern, numbers[i]);
        pattern = number + 2;
    }
    snprintf(name + n, CATALOG_NAME_BYTES - n, "%s", pattern);
}

int weights_names_n_numbers(const char *pattern)
{
    const char *first = strstr(pattern, "%d");
    return first == NULL ? 0 : strstr(first + 2, "%d") == NULL ? 1 : 2;
}
