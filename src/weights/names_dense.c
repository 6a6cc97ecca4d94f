/* Groups of rows that families share, and the tables that are made of them. */
#include "weights/names_dense.h"
#include <stddef.h>

enum {
    OPT = WEIGHTS_NAME_OPTIONAL,
    IGNORED = WEIGHTS_NAME_IGNORED,
    BY_HEADS = WEIGHTS_NAME_BY_HEADS,
    LESS_1 = WEIGHTS_NAME_LESS_ONE,
};

#define END                                                                                        \
    {                                                                                              \
        0, 0, NULL                                                                                 \
    }
#define WITH_BIAS(role, flags, name)                                                               \
    { role, 0, name ".weight" },                                                                   \
    {                                                                                              \
        role##_BIAS, flags, name ".bias"                                                           \
    }
#define HF_EMBEDDING                                                                               \
    {                                                                                              \
        WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_tokens.weight"                                         \
    }
#define HF_OUTPUT                                                                                  \
    {                                                                                              \
        WEIGHTS_OUTPUT, OPT, "lm_head.weight"                                                      \
    }
#define HF_QKV                                                                                     \
    WITH_BIAS(WEIGHTS_Q, OPT, "*layers.%d.self_attn.q_proj"),                                      \
        WITH_BIAS(WEIGHTS_K, OPT, "*layers.%d.self_attn.k_proj"),                                  \
        WITH_BIAS(WEIGHTS_V, OPT, "*layers.%d.self_attn.v_proj")
#define HF_O WITH_BIAS(WEIGHTS_O, OPT, "*layers.%d.self_attn.o_proj")
#define HF_GATED                                                                                   \
    { WEIGHTS_GATE, 0, "*layers.%d.mlp.gate_proj.weight" },                                        \
        { WEIGHTS_UP, 0, "*layers.%d.mlp.up_proj.weight" },                                        \
    {                                                                                              \
        WEIGHTS_DOWN, 0, "*layers.%d.mlp.down_proj.weight"                                         \
    }
#define HF_ROTARY                                                                                  \
    {                                                                                              \
        0, IGNORED, "*layers.%d.self_attn.rotary_emb.inv_freq"                                     \
    }

const struct weights_name weights_names_dense_hf_starcoder2[] = {
    HF_EMBEDDING,
    WITH_BIAS(WEIGHTS_OUTPUT_NORM, 0, "*norm"),
    HF_OUTPUT,
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm"),
    HF_QKV,
    HF_O,
    WITH_BIAS(WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm"),
    WITH_BIAS(WEIGHTS_UP, OPT, "*layers.%d.mlp.c_fc"),
    WITH_BIAS(WEIGHTS_DOWN, OPT, "*layers.%d.mlp.c_proj"),
    END,
};
/* The feed-forward has a norm of its own unless it is parallel. */
const struct weights_name weights_names_dense_hf_stablelm[] = {
    HF_EMBEDDING,
    WITH_BIAS(WEIGHTS_OUTPUT_NORM, 0, "*norm"),
    HF_OUTPUT,
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm"),
    HF_QKV,
    HF_O,
    { WEIGHTS_FFN_NORM, OPT, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_FFN_NORM_BIAS, OPT, "*layers.%d.post_attention_layernorm.bias" },
    HF_GATED,
    HF_ROTARY,
    END,
};
const struct weights_name weights_names_dense_hf_phi[] = {
    HF_EMBEDDING,
    WITH_BIAS(WEIGHTS_OUTPUT_NORM, 0, "*final_layernorm"),
    HF_OUTPUT,
    { WEIGHTS_OUTPUT_BIAS, 0, "lm_head.bias" },
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm"),
    HF_QKV,
    WITH_BIAS(WEIGHTS_O, OPT, "*layers.%d.self_attn.dense"),
    WITH_BIAS(WEIGHTS_UP, OPT, "*layers.%d.mlp.fc1"),
    WITH_BIAS(WEIGHTS_DOWN, OPT, "*layers.%d.mlp.fc2"),
    HF_ROTARY,
    END,
};
const struct weights_name weights_names_dense_hf_gpt_neox[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embed_in.weight" },
    WITH_BIAS(WEIGHTS_OUTPUT_NORM, 0, "*final_layer_norm"),
    { WEIGHTS_OUTPUT, OPT, "embed_out.weight" },
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm"),
    { WEIGHTS_QKV, BY_HEADS, "*layers.%d.attention.query_key_value.weight" },
    { WEIGHTS_QKV_BIAS, OPT | BY_HEADS, "*layers.%d.attention.query_key_value.bias" },
    WITH_BIAS(WEIGHTS_O, OPT, "*layers.%d.attention.dense"),
    WITH_BIAS(WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm"),
    WITH_BIAS(WEIGHTS_UP, OPT, "*layers.%d.mlp.dense_h_to_4h"),
    WITH_BIAS(WEIGHTS_DOWN, OPT, "*layers.%d.mlp.dense_4h_to_h"),
    { 0, IGNORED, "*layers.%d.attention.bias" }, /* the causal mask */
    { 0, IGNORED, "*layers.%d.attention.masked_bias" },
    { 0, IGNORED, "*layers.%d.attention.rotary_emb.inv_freq" },
    END,
};
/* The newer form has a norm for attention and one for the feed-forward. */
const struct weights_name weights_names_dense_hf_falcon[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*word_embeddings.weight" },
    WITH_BIAS(WEIGHTS_OUTPUT_NORM, 0, "*ln_f"),
    HF_OUTPUT,
    { WEIGHTS_ATTENTION_NORM, OPT, "*h.%d.input_layernorm.weight" },
    { WEIGHTS_ATTENTION_NORM_BIAS, OPT, "*h.%d.input_layernorm.bias" },
    { WEIGHTS_ATTENTION_NORM, OPT, "*h.%d.ln_attn.weight" },
    { WEIGHTS_ATTENTION_NORM_BIAS, OPT, "*h.%d.ln_attn.bias" },
    { WEIGHTS_QKV, BY_HEADS, "*h.%d.self_attention.query_key_value.weight" },
    { WEIGHTS_QKV_BIAS, OPT | BY_HEADS, "*h.%d.self_attention.query_key_value.bias" },
    WITH_BIAS(WEIGHTS_O, OPT, "*h.%d.self_attention.dense"),
    { WEIGHTS_FFN_NORM, OPT, "*h.%d.post_attention_layernorm.weight" },
    { WEIGHTS_FFN_NORM_BIAS, OPT, "*h.%d.post_attention_layernorm.bias" },
    { WEIGHTS_FFN_NORM, OPT, "*h.%d.ln_mlp.weight" },
    { WEIGHTS_FFN_NORM_BIAS, OPT, "*h.%d.ln_mlp.bias" },
    WITH_BIAS(WEIGHTS_UP, OPT, "*h.%d.mlp.dense_h_to_4h"),
    WITH_BIAS(WEIGHTS_DOWN, OPT, "*h.%d.mlp.dense_4h_to_h"),
    END,
};
const struct weights_name weights_names_dense_hf_cohere[] = {
    HF_EMBEDDING, { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    HF_OUTPUT,    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,       HF_O,
    HF_GATED,     END,
};
const struct weights_name weights_names_dense_hf_olmo2[] = {
    HF_EMBEDDING,
    { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    HF_OUTPUT,
    HF_QKV,
    { WEIGHTS_Q_NORM, 0, "*layers.%d.self_attn.q_norm.weight" },
    { WEIGHTS_K_NORM, 0, "*layers.%d.self_attn.k_norm.weight" },
    HF_O,
    { WEIGHTS_ATTENTION_POST_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    HF_GATED,
    { WEIGHTS_FFN_POST_NORM, 0, "*layers.%d.post_feedforward_layernorm.weight" },
    END,
};
const struct weights_name weights_names_dense_hf_glm[] = {
    HF_EMBEDDING,
    { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    HF_OUTPUT,
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_O,
    { WEIGHTS_ATTENTION_POST_NORM, OPT, "*layers.%d.post_self_attn_layernorm.weight" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_GATE_UP, 0, "*layers.%d.mlp.gate_up_proj.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.mlp.down_proj.weight" },
    { WEIGHTS_FFN_POST_NORM, OPT, "*layers.%d.post_mlp_layernorm.weight" },
    END,
};
const struct weights_name weights_names_dense_hf_internlm2[] = {
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*tok_embeddings.weight" },
    { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    { WEIGHTS_OUTPUT, OPT, "output.weight" },
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.attention_norm.weight" },
    { WEIGHTS_QKV, BY_HEADS, "*layers.%d.attention.wqkv.weight" },
    { WEIGHTS_QKV_BIAS, OPT | BY_HEADS, "*layers.%d.attention.wqkv.bias" },
    WITH_BIAS(WEIGHTS_O, OPT, "*layers.%d.attention.wo"),
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.ffn_norm.weight" },
    { WEIGHTS_GATE, 0, "*layers.%d.feed_forward.w1.weight" },
    { WEIGHTS_UP, 0, "*layers.%d.feed_forward.w3.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.feed_forward.w2.weight" },
    END,
};

#define GGUF_ENDS                                                                                  \
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },                                           \
        { WEIGHTS_OUTPUT_NORM, 0, "output_norm.weight" },                                          \
    {                                                                                              \
        WEIGHTS_OUTPUT, OPT, "output.weight"                                                       \
    }
#define GGUF_QKV                                                                                   \
    WITH_BIAS(WEIGHTS_Q, OPT, "blk.%d.attn_q"), WITH_BIAS(WEIGHTS_K, OPT, "blk.%d.attn_k"),        \
        WITH_BIAS(WEIGHTS_V, OPT, "blk.%d.attn_v")

const struct weights_name weights_names_dense_gguf_olmo2[] = {
    GGUF_ENDS,
    GGUF_QKV,
    { WEIGHTS_Q_NORM, 0, "blk.%d.attn_q_norm.weight" },
    { WEIGHTS_K_NORM, 0, "blk.%d.attn_k_norm.weight" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_ATTENTION_POST_NORM, 0, "blk.%d.post_attention_norm.weight" },
    { WEIGHTS_GATE, 0, "blk.%d.ffn_gate.weight" },
    { WEIGHTS_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { WEIGHTS_FFN_POST_NORM, 0, "blk.%d.post_ffw_norm.weight" },
    END,
};
const struct weights_name weights_names_dense_gguf_glm4[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_ATTENTION_POST_NORM, 0, "blk.%d.post_attention_norm.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_GATE_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    { WEIGHTS_FFN_POST_NORM, 0, "blk.%d.post_ffw_norm.weight" },
    END,
};
/* Gemma's norms are stored as w - 1 here. */
const struct weights_name weights_names_dense_hf_gemma2[] = {
    HF_EMBEDDING,
    { WEIGHTS_OUTPUT_NORM, LESS_1, "*norm.weight" },
    HF_OUTPUT,
    { WEIGHTS_ATTENTION_NORM, LESS_1, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_O,
    { WEIGHTS_ATTENTION_POST_NORM, LESS_1, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_FFN_NORM, LESS_1, "*layers.%d.pre_feedforward_layernorm.weight" },
    HF_GATED,
    { WEIGHTS_FFN_POST_NORM, LESS_1, "*layers.%d.post_feedforward_layernorm.weight" },
    HF_ROTARY,
    END,
};

#define GGUF_O WITH_BIAS(WEIGHTS_O, OPT, "blk.%d.attn_output")
#define GGUF_ENDS_LAYER                                                                            \
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },                                           \
        WITH_BIAS(WEIGHTS_OUTPUT_NORM, 0, "output_norm"),                                          \
    {                                                                                              \
        WEIGHTS_OUTPUT, OPT, "output.weight"                                                       \
    }
#define GGUF_GATED                                                                                 \
    { WEIGHTS_GATE, 0, "blk.%d.ffn_gate.weight" }, { WEIGHTS_UP, 0, "blk.%d.ffn_up.weight" },      \
    {                                                                                              \
        WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight"                                                  \
    }
#define GGUF_UP_DOWN                                                                               \
    WITH_BIAS(WEIGHTS_UP, OPT, "blk.%d.ffn_up"), WITH_BIAS(WEIGHTS_DOWN, OPT, "blk.%d.ffn_down")

const struct weights_name weights_names_dense_gguf_gemma2[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_ATTENTION_POST_NORM, 0, "blk.%d.post_attention_norm.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    GGUF_GATED,
    { WEIGHTS_FFN_POST_NORM, 0, "blk.%d.post_ffw_norm.weight" },
    END,
};
const struct weights_name weights_names_dense_gguf_starcoder2[] = {
    GGUF_ENDS_LAYER,
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm"),
    GGUF_QKV,
    GGUF_O,
    WITH_BIAS(WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm"),
    GGUF_UP_DOWN,
    END,
};
const struct weights_name weights_names_dense_gguf_stablelm[] = {
    GGUF_ENDS_LAYER,
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm"),
    GGUF_QKV,
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, OPT, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_FFN_NORM_BIAS, OPT, "blk.%d.ffn_norm.bias" },
    GGUF_GATED,
    END,
};
/* Queries, keys and values are one matrix, or three. */
const struct weights_name weights_names_dense_gguf_phi2[] = {
    GGUF_ENDS_LAYER,
    { WEIGHTS_OUTPUT_BIAS, 0, "output.bias" },
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm"),
    { WEIGHTS_QKV, OPT, "blk.%d.attn_qkv.weight" },
    { WEIGHTS_QKV_BIAS, OPT, "blk.%d.attn_qkv.bias" },
    { WEIGHTS_Q, OPT, "blk.%d.attn_q.weight" },
    { WEIGHTS_K, OPT, "blk.%d.attn_k.weight" },
    { WEIGHTS_V, OPT, "blk.%d.attn_v.weight" },
    { WEIGHTS_Q_BIAS, OPT, "blk.%d.attn_q.bias" },
    { WEIGHTS_K_BIAS, OPT, "blk.%d.attn_k.bias" },
    { WEIGHTS_V_BIAS, OPT, "blk.%d.attn_v.bias" },
    GGUF_O,
    GGUF_UP_DOWN,
    END,
};
const struct weights_name weights_names_dense_gguf_gptneox[] = {
    GGUF_ENDS_LAYER,
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm"),
    WITH_BIAS(WEIGHTS_QKV, OPT, "blk.%d.attn_qkv"),
    GGUF_O,
    WITH_BIAS(WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm"),
    GGUF_UP_DOWN,
    END,
};
/* With a second norm, it is attention's, and the first is the feed-forward's: see bind.c. */
const struct weights_name weights_names_dense_gguf_falcon[] = {
    GGUF_ENDS_LAYER,
    WITH_BIAS(WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm"),
    { WEIGHTS_FFN_NORM, OPT, "blk.%d.attn_norm_2.weight" },
    { WEIGHTS_FFN_NORM_BIAS, OPT, "blk.%d.attn_norm_2.bias" },
    { WEIGHTS_QKV, 0, "blk.%d.attn_qkv.weight" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_UP, 0, "blk.%d.ffn_up.weight" },
    { WEIGHTS_DOWN, 0, "blk.%d.ffn_down.weight" },
    END,
};
const struct weights_name weights_names_dense_gguf_cohere[] = {
    GGUF_ENDS,  { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,   { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    GGUF_GATED, END,
};
