/* The table of architectures and of tensor names, one row set per architecture and format. */
#include "weights/names.h"
#include <string.h>

enum {
    OPT = WEIGHTS_NAME_OPTIONAL,
    TURNED = WEIGHTS_NAME_TRANSPOSED,
    IGNORED = WEIGHTS_NAME_IGNORED,
    LESS_1 = WEIGHTS_NAME_LESS_ONE,
};

/* llama, qwen2, gemma. The spec determines which of the optional ones are required. */
static const struct weights_name gguf_llama[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "output_norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "output.weight" },
    { WEIGHTS_ROPE_FACTORS, OPT, "rope_freqs.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_Q, 0, "blk.%d.attn_q.weight" },
    { WEIGHTS_K, 0, "blk.%d.attn_k.weight" },
    { WEIGHTS_V, 0, "blk.%d.attn_v.weight" },
    { WEIGHTS_Q_BIAS, OPT, "blk.%d.attn_q.bias" },
    { WEIGHTS_K_BIAS, OPT, "blk.%d.attn_k.bias" },
    { WEIGHTS_V_BIAS, OPT, "blk.%d.attn_v.bias" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_O_BIAS, OPT, "blk.%d.attn_output.bias" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_GATE, 0, "blk.%d.ffn_gate.weight" },
    { WEIGHTS_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { WEIGHTS_GATE_BIAS, OPT, "blk.%d.ffn_gate.bias" },
    { WEIGHTS_UP_BIAS, OPT, "blk.%d.ffn_up.bias" },
    { WEIGHTS_DOWN_BIAS, OPT, "blk.%d.ffn_down.bias" },
    { 0, IGNORED, "blk.%d.attn_rot_embd" },
    { 0, 0, NULL },
};
static const struct weights_name gguf_qwen3[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "output_norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "output.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_Q, 0, "blk.%d.attn_q.weight" },
    { WEIGHTS_K, 0, "blk.%d.attn_k.weight" },
    { WEIGHTS_V, 0, "blk.%d.attn_v.weight" },
    { WEIGHTS_Q_BIAS, OPT, "blk.%d.attn_q.bias" },
    { WEIGHTS_K_BIAS, OPT, "blk.%d.attn_k.bias" },
    { WEIGHTS_V_BIAS, OPT, "blk.%d.attn_v.bias" },
    { WEIGHTS_Q_NORM, 0, "blk.%d.attn_q_norm.weight" },
    { WEIGHTS_K_NORM, 0, "blk.%d.attn_k_norm.weight" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_O_BIAS, OPT, "blk.%d.attn_output.bias" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_GATE, 0, "blk.%d.ffn_gate.weight" },
    { WEIGHTS_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { 0, 0, NULL },
};
static const struct weights_name gguf_gpt2[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },
    { WEIGHTS_POSITION_EMBEDDING, 0, "position_embd.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "output_norm.weight" },
    { WEIGHTS_OUTPUT_NORM_BIAS, 0, "output_norm.bias" },
    { WEIGHTS_OUTPUT, OPT, "output.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_ATTENTION_NORM_BIAS, 0, "blk.%d.attn_norm.bias" },
    { WEIGHTS_QKV, 0, "blk.%d.attn_qkv.weight" },
    { WEIGHTS_QKV_BIAS, 0, "blk.%d.attn_qkv.bias" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_O_BIAS, 0, "blk.%d.attn_output.bias" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_FFN_NORM_BIAS, 0, "blk.%d.ffn_norm.bias" },
    { WEIGHTS_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_UP_BIAS, 0, "blk.%d.ffn_up.bias" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { WEIGHTS_DOWN_BIAS, 0, "blk.%d.ffn_down.bias" },
    { 0, 0, NULL },
};
static const struct weights_name gguf_chatglm[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "output_norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "output.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_QKV, 0, "blk.%d.attn_qkv.weight" },
    { WEIGHTS_QKV_BIAS, OPT, "blk.%d.attn_qkv.bias" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_GATE_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { 0, IGNORED, "rope_freqs.weight" },
    { 0, 0, NULL },
};

static const struct weights_name gguf_phi3[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "output_norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "output.weight" },
    { WEIGHTS_ROPE_FACTORS, OPT, "rope_factors_short.weight" },
    { WEIGHTS_ROPE_FACTORS_LONG, OPT, "rope_factors_long.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_QKV, 0, "blk.%d.attn_qkv.weight" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_GATE_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { 0, 0, NULL },
};
static const struct weights_name gguf_gemma3[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "output_norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "output.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_Q, 0, "blk.%d.attn_q.weight" },
    { WEIGHTS_K, 0, "blk.%d.attn_k.weight" },
    { WEIGHTS_V, 0, "blk.%d.attn_v.weight" },
    { WEIGHTS_Q_NORM, 0, "blk.%d.attn_q_norm.weight" },
    { WEIGHTS_K_NORM, 0, "blk.%d.attn_k_norm.weight" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_ATTENTION_POST_NORM, 0, "blk.%d.post_attention_norm.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_GATE, 0, "blk.%d.ffn_gate.weight" },
    { WEIGHTS_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { WEIGHTS_FFN_POST_NORM, 0, "blk.%d.post_ffw_norm.weight" },
    { 0, 0, NULL },
};

static const struct weights_name hf_llama[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_tokens.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    { WEIGHTS_Q, 0, "*layers.%d.self_attn.q_proj.weight" },
    { WEIGHTS_K, 0, "*layers.%d.self_attn.k_proj.weight" },
    { WEIGHTS_V, 0, "*layers.%d.self_attn.v_proj.weight" },
    { WEIGHTS_Q_BIAS, OPT, "*layers.%d.self_attn.q_proj.bias" },
    { WEIGHTS_K_BIAS, OPT, "*layers.%d.self_attn.k_proj.bias" },
    { WEIGHTS_V_BIAS, OPT, "*layers.%d.self_attn.v_proj.bias" },
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_O_BIAS, OPT, "*layers.%d.self_attn.o_proj.bias" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_GATE, 0, "*layers.%d.mlp.gate_proj.weight" },
    { WEIGHTS_UP, 0, "*layers.%d.mlp.up_proj.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.mlp.down_proj.weight" },
    { WEIGHTS_GATE_BIAS, OPT, "*layers.%d.mlp.gate_proj.bias" },
    { WEIGHTS_UP_BIAS, OPT, "*layers.%d.mlp.up_proj.bias" },
    { WEIGHTS_DOWN_BIAS, OPT, "*layers.%d.mlp.down_proj.bias" },
    { 0, IGNORED, "*layers.%d.self_attn.rotary_emb.inv_freq" },
    { 0, 0, NULL },
};
static const struct weights_name hf_qwen3[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_tokens.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    { WEIGHTS_Q, 0, "*layers.%d.self_attn.q_proj.weight" },
    { WEIGHTS_K, 0, "*layers.%d.self_attn.k_proj.weight" },
    { WEIGHTS_V, 0, "*layers.%d.self_attn.v_proj.weight" },
    { WEIGHTS_Q_BIAS, OPT, "*layers.%d.self_attn.q_proj.bias" },
    { WEIGHTS_K_BIAS, OPT, "*layers.%d.self_attn.k_proj.bias" },
    { WEIGHTS_V_BIAS, OPT, "*layers.%d.self_attn.v_proj.bias" },
    { WEIGHTS_Q_NORM, 0, "*layers.%d.self_attn.q_norm.weight" },
    { WEIGHTS_K_NORM, 0, "*layers.%d.self_attn.k_norm.weight" },
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_O_BIAS, OPT, "*layers.%d.self_attn.o_proj.bias" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_GATE, 0, "*layers.%d.mlp.gate_proj.weight" },
    { WEIGHTS_UP, 0, "*layers.%d.mlp.up_proj.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.mlp.down_proj.weight" },
    { 0, 0, NULL },
};
static const struct weights_name hf_phi3[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_tokens.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    { WEIGHTS_QKV, 0, "*layers.%d.self_attn.qkv_proj.weight" },
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_GATE_UP, 0, "*layers.%d.mlp.gate_up_proj.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.mlp.down_proj.weight" },
    { 0, IGNORED, "*layers.%d.self_attn.rotary_emb.inv_freq" },
    { 0, 0, NULL },
};
/* Gemma's norms are stored as w - 1 here; in GGUF files they are whole. */
static const struct weights_name hf_gemma[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_tokens.weight" },
    { WEIGHTS_OUTPUT_NORM, LESS_1, "*norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    { WEIGHTS_ATTENTION_NORM, LESS_1, "*layers.%d.input_layernorm.weight" },
    { WEIGHTS_Q, 0, "*layers.%d.self_attn.q_proj.weight" },
    { WEIGHTS_K, 0, "*layers.%d.self_attn.k_proj.weight" },
    { WEIGHTS_V, 0, "*layers.%d.self_attn.v_proj.weight" },
    { WEIGHTS_Q_BIAS, OPT, "*layers.%d.self_attn.q_proj.bias" },
    { WEIGHTS_K_BIAS, OPT, "*layers.%d.self_attn.k_proj.bias" },
    { WEIGHTS_V_BIAS, OPT, "*layers.%d.self_attn.v_proj.bias" },
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_O_BIAS, OPT, "*layers.%d.self_attn.o_proj.bias" },
    { WEIGHTS_FFN_NORM, LESS_1, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_GATE, 0, "*layers.%d.mlp.gate_proj.weight" },
    { WEIGHTS_UP, 0, "*layers.%d.mlp.up_proj.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.mlp.down_proj.weight" },
    { 0, IGNORED, "*layers.%d.self_attn.rotary_emb.inv_freq" },
    { 0, 0, NULL },
};
static const struct weights_name hf_gemma3[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_tokens.weight" },
    { WEIGHTS_OUTPUT_NORM, LESS_1, "*norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    { WEIGHTS_ATTENTION_NORM, LESS_1, "*layers.%d.input_layernorm.weight" },
    { WEIGHTS_Q, 0, "*layers.%d.self_attn.q_proj.weight" },
    { WEIGHTS_K, 0, "*layers.%d.self_attn.k_proj.weight" },
    { WEIGHTS_V, 0, "*layers.%d.self_attn.v_proj.weight" },
    { WEIGHTS_Q_NORM, LESS_1, "*layers.%d.self_attn.q_norm.weight" },
    { WEIGHTS_K_NORM, LESS_1, "*layers.%d.self_attn.k_norm.weight" },
    { WEIGHTS_Q_BIAS, OPT, "*layers.%d.self_attn.q_proj.bias" },
    { WEIGHTS_K_BIAS, OPT, "*layers.%d.self_attn.k_proj.bias" },
    { WEIGHTS_V_BIAS, OPT, "*layers.%d.self_attn.v_proj.bias" },
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_O_BIAS, OPT, "*layers.%d.self_attn.o_proj.bias" },
    { WEIGHTS_ATTENTION_POST_NORM, LESS_1, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_FFN_NORM, LESS_1, "*layers.%d.pre_feedforward_layernorm.weight" },
    { WEIGHTS_GATE, 0, "*layers.%d.mlp.gate_proj.weight" },
    { WEIGHTS_UP, 0, "*layers.%d.mlp.up_proj.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.mlp.down_proj.weight" },
    { WEIGHTS_FFN_POST_NORM, LESS_1, "*layers.%d.post_feedforward_layernorm.weight" },
    { 0, 0, NULL },
};
/* GPT-2's Conv1D keeps its matrices as (inputs, outputs). */
static const struct weights_name hf_gpt2[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*wte.weight" },
    { WEIGHTS_POSITION_EMBEDDING, 0, "*wpe.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "*ln_f.weight" },
    { WEIGHTS_OUTPUT_NORM_BIAS, 0, "*ln_f.bias" },
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "*h.%d.ln_1.weight" },
    { WEIGHTS_ATTENTION_NORM_BIAS, 0, "*h.%d.ln_1.bias" },
    { WEIGHTS_QKV, TURNED, "*h.%d.attn.c_attn.weight" },
    { WEIGHTS_QKV_BIAS, 0, "*h.%d.attn.c_attn.bias" },
    { WEIGHTS_O, TURNED, "*h.%d.attn.c_proj.weight" },
    { WEIGHTS_O_BIAS, 0, "*h.%d.attn.c_proj.bias" },
    { WEIGHTS_FFN_NORM, 0, "*h.%d.ln_2.weight" },
    { WEIGHTS_FFN_NORM_BIAS, 0, "*h.%d.ln_2.bias" },
    { WEIGHTS_UP, TURNED, "*h.%d.mlp.c_fc.weight" },
    { WEIGHTS_UP_BIAS, 0, "*h.%d.mlp.c_fc.bias" },
    { WEIGHTS_DOWN, TURNED, "*h.%d.mlp.c_proj.weight" },
    { WEIGHTS_DOWN_BIAS, 0, "*h.%d.mlp.c_proj.bias" },
    { 0, IGNORED, "*h.%d.attn.bias" }, /* the causal mask of older files */
    { 0, IGNORED, "*h.%d.attn.masked_bias" },
    { 0, 0, NULL },
};
static const struct weights_name hf_opt[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_tokens.weight" },
    { WEIGHTS_POSITION_EMBEDDING, 0, "*embed_positions.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "*final_layer_norm.weight" },
    { WEIGHTS_OUTPUT_NORM_BIAS, 0, "*final_layer_norm.bias" },
    { WEIGHTS_OUTPUT, OPT, "lm_head.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.self_attn_layer_norm.weight" },
    { WEIGHTS_ATTENTION_NORM_BIAS, 0, "*layers.%d.self_attn_layer_norm.bias" },
    { WEIGHTS_Q, 0, "*layers.%d.self_attn.q_proj.weight" },
    { WEIGHTS_K, 0, "*layers.%d.self_attn.k_proj.weight" },
    { WEIGHTS_V, 0, "*layers.%d.self_attn.v_proj.weight" },
    { WEIGHTS_Q_BIAS, OPT, "*layers.%d.self_attn.q_proj.bias" },
    { WEIGHTS_K_BIAS, OPT, "*layers.%d.self_attn.k_proj.bias" },
    { WEIGHTS_V_BIAS, OPT, "*layers.%d.self_attn.v_proj.bias" },
    { WEIGHTS_O, 0, "*layers.%d.self_attn.out_proj.weight" },
    { WEIGHTS_O_BIAS, OPT, "*layers.%d.self_attn.out_proj.bias" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.final_layer_norm.weight" },
    { WEIGHTS_FFN_NORM_BIAS, 0, "*layers.%d.final_layer_norm.bias" },
    { WEIGHTS_UP, 0, "*layers.%d.fc1.weight" },
    { WEIGHTS_UP_BIAS, OPT, "*layers.%d.fc1.bias" },
    { WEIGHTS_DOWN, 0, "*layers.%d.fc2.weight" },
    { WEIGHTS_DOWN_BIAS, OPT, "*layers.%d.fc2.bias" },
    { 0, 0, NULL },
};
static const struct weights_name hf_chatglm[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embedding.word_embeddings.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "*encoder.final_layernorm.weight" },
    { WEIGHTS_OUTPUT, OPT, "*output_layer.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "*encoder.layers.%d.input_layernorm.weight" },
    { WEIGHTS_QKV, 0, "*encoder.layers.%d.self_attention.query_key_value.weight" },
    { WEIGHTS_QKV_BIAS, OPT, "*encoder.layers.%d.self_attention.query_key_value.bias" },
    { WEIGHTS_O, 0, "*encoder.layers.%d.self_attention.dense.weight" },
    { WEIGHTS_FFN_NORM, 0, "*encoder.layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_GATE_UP, 0, "*encoder.layers.%d.mlp.dense_h_to_4h.weight" },
    { WEIGHTS_DOWN, 0, "*encoder.layers.%d.mlp.dense_4h_to_h.weight" },
    { 0, IGNORED, "*rotary_pos_emb.inv_freq" },
    { 0, 0, NULL },
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
    { "phi3", "phi3", NORM_RMS, ACT_SILU, true, false, POSITION_ROPE_HALVES, POSITION_ROPE_HALVES,
      GGUF(gguf_phi3), HF("model.", "", hf_phi3) },
    { "gemma", "gemma", NORM_RMS, ACT_GELU_TANH, true, false, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(gguf_llama), HF("model.", "", hf_gemma),
      .scales_embedding = true },
    { "gemma3", "gemma3_text", NORM_RMS, ACT_GELU_TANH, true, true, POSITION_ROPE_HALVES,
      POSITION_ROPE_HALVES, GGUF(gguf_gemma3), HF("model.", "", hf_gemma3), .has_post_norms = true,
      .scales_embedding = true },
    { "gpt2", "gpt2", NORM_LAYER, ACT_GELU_TANH, false, false, POSITION_LEARNED, POSITION_LEARNED,
      GGUF(gguf_gpt2), HF("transformer.", "", hf_gpt2) },
    { "opt", "opt", NORM_LAYER, ACT_RELU, false, false, POSITION_LEARNED, POSITION_LEARNED,
      GGUF(NULL), HF("model.decoder.", "decoder.", hf_opt) },
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
    if (strcmp(name, "gemma2") == 0)
        return ": it caps scores and logits";
    if (!is_hf && strcmp(name, "mistral") == 0)
        return ": GGUF files of such models call it llama";
    if (is_hf && strcmp(name, "gemma3") == 0)
        return ": it sees pictures; what is text alone is called gemma3_text";
    return "";
}
