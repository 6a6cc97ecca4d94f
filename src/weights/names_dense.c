/* The tensors of further dense families. */
#include "weights/names_dense.h"
#include "weights/name_groups.h"

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
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp"),
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
    HF_EMBEDDING,
    { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    HF_OUTPUT,
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_O,
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp"),
    END,
};
const struct weights_name weights_names_dense_hf_olmo2[] = {
    HF_EMBEDDING,
    { WEIGHTS_OUTPUT_NORM, 0, "*norm.weight" },
    HF_OUTPUT,
    HF_QKV,
    HF_QK_NORMS(0),
    HF_O,
    { WEIGHTS_ATTENTION_POST_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp"),
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

const struct weights_name weights_names_dense_gguf_olmo2[] = {
    GGUF_ENDS,
    GGUF_QKV,
    GGUF_QK_NORMS(0),
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_ATTENTION_POST_NORM, 0, "blk.%d.post_attention_norm.weight" },
    GGUF_GATED(WEIGHTS_, 0, ""),
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
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp"),
    { WEIGHTS_FFN_POST_NORM, LESS_1, "*layers.%d.post_feedforward_layernorm.weight" },
    HF_ROTARY,
    END,
};

const struct weights_name weights_names_dense_gguf_gemma2[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_ATTENTION_POST_NORM, 0, "blk.%d.post_attention_norm.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    GGUF_GATED(WEIGHTS_, 0, ""),
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
    GGUF_GATED(WEIGHTS_, 0, ""),
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
/* With a second norm, it is attention's, and the first is the feed-forward's: see bind_end.c. */
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
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    GGUF_GATED(WEIGHTS_, 0, ""),
    END,
};
