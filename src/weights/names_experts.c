/* The tensors of mixtures of experts. */
#include "weights/names_experts.h"
#include "weights/name_groups.h"

const struct weights_name weights_names_experts_gguf_mixtral[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_Q, 0, "blk.%d.attn_q.weight" },
    { WEIGHTS_K, 0, "blk.%d.attn_k.weight" },
    { WEIGHTS_V, 0, "blk.%d.attn_v.weight" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_ROUTER, 0, "blk.%d.ffn_gate_inp.weight" },
    GGUF_GATED(WEIGHTS_EXPERT_, 0, "_exps"),
    END,
};
const struct weights_name weights_names_experts_gguf_qwen2moe[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_ROUTER, 0, "blk.%d.ffn_gate_inp.weight" },
    GGUF_GATED(WEIGHTS_EXPERT_, 0, "_exps"),
    { WEIGHTS_SHARED_GATE, 0, "blk.%d.ffn_gate_inp_shexp.weight" },
    GGUF_GATED(WEIGHTS_, 0, "_shexp"),
    END,
};
/* qwen3moe and olmoe. */
const struct weights_name weights_names_experts_gguf_qwen3moe[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_Q, 0, "blk.%d.attn_q.weight" },
    { WEIGHTS_K, 0, "blk.%d.attn_k.weight" },
    { WEIGHTS_V, 0, "blk.%d.attn_v.weight" },
    GGUF_QK_NORMS(0),
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_ROUTER, 0, "blk.%d.ffn_gate_inp.weight" },
    GGUF_GATED(WEIGHTS_EXPERT_, 0, "_exps"),
    END,
};
const struct weights_name weights_names_experts_hf_mixtral[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    { WEIGHTS_Q, 0, "*layers.%d.self_attn.q_proj.weight" },
    { WEIGHTS_K, 0, "*layers.%d.self_attn.k_proj.weight" },
    { WEIGHTS_V, 0, "*layers.%d.self_attn.v_proj.weight" },
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_ROUTER, 0, "*layers.%d.block_sparse_moe.gate.weight" },
    { WEIGHTS_EXPERT_GATE, 0, "*layers.%d.block_sparse_moe.experts.%d.w1.weight" },
    { WEIGHTS_EXPERT_UP, 0, "*layers.%d.block_sparse_moe.experts.%d.w3.weight" },
    { WEIGHTS_EXPERT_DOWN, 0, "*layers.%d.block_sparse_moe.experts.%d.w2.weight" },
    END,
};
const struct weights_name weights_names_experts_hf_qwen2_moe[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_ROUTER, 0, "*layers.%d.mlp.gate.weight" },
    HF_GATED(WEIGHTS_EXPERT_, 0, "*layers.%d.mlp.experts.%d"),
    HF_GATED(WEIGHTS_, DENSE, "*layers.%d.mlp"),
    { WEIGHTS_SHARED_GATE, 0, "*layers.%d.mlp.shared_expert_gate.weight" },
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp.shared_expert"),
    END,
};
/* qwen3_moe and olmoe. */
const struct weights_name weights_names_experts_hf_qwen3_moe[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_QK_NORMS(0),
    HF_O,
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_ROUTER, 0, "*layers.%d.mlp.gate.weight" },
    HF_GATED(WEIGHTS_EXPERT_, 0, "*layers.%d.mlp.experts.%d"),
    HF_GATED(WEIGHTS_, DENSE, "*layers.%d.mlp"),
    END,
};

/* Experts are in MXFP4, or in floats with inputs as rows. */
const struct weights_name weights_names_experts_hf_gpt_oss[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    { WEIGHTS_SINKS, 0, "*layers.%d.self_attn.sinks" },
    HF_O,
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    WITH_BIAS(WEIGHTS_ROUTER, 0, "*layers.%d.mlp.router"),
    { WEIGHTS_EXPERT_GATE_UP, OPT | TURNED | ALTERNATE, "*layers.%d.mlp.experts.gate_up_proj" },
    { WEIGHTS_EXPERT_GATE_UP, OPT | BLOCKS | ALTERNATE,
      "*layers.%d.mlp.experts.gate_up_proj_blocks" },
    { WEIGHTS_EXPERT_GATE_UP_BIAS, ALTERNATE, "*layers.%d.mlp.experts.gate_up_proj_bias" },
    { WEIGHTS_EXPERT_DOWN, OPT | TURNED, "*layers.%d.mlp.experts.down_proj" },
    { WEIGHTS_EXPERT_DOWN, OPT | BLOCKS, "*layers.%d.mlp.experts.down_proj_blocks" },
    { WEIGHTS_EXPERT_DOWN_BIAS, 0, "*layers.%d.mlp.experts.down_proj_bias" },
    END,
};
const struct weights_name weights_names_experts_gguf_gpt_oss[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    { WEIGHTS_SINKS, 0, "blk.%d.attn_sinks.weight" },
    GGUF_O,
    { WEIGHTS_FFN_NORM, 0, "blk.%d.post_attention_norm.weight" },
    WITH_BIAS(WEIGHTS_ROUTER, 0, "blk.%d.ffn_gate_inp"),
    GGUF_GATED(WEIGHTS_EXPERT_, 0, "_exps"),
    { WEIGHTS_EXPERT_GATE_BIAS, 0, "blk.%d.ffn_gate_exps.bias" },
    { WEIGHTS_EXPERT_UP_BIAS, 0, "blk.%d.ffn_up_exps.bias" },
    { WEIGHTS_EXPERT_DOWN_BIAS, 0, "blk.%d.ffn_down_exps.bias" },
    END,
};
const struct weights_name weights_names_experts_hf_granitemoe[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_O,
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    { WEIGHTS_ROUTER, 0, "*layers.%d.block_sparse_moe.router.layer.weight" },
    { WEIGHTS_EXPERT_GATE_UP, 0, "*layers.%d.block_sparse_moe.input_linear.weight" },
    { WEIGHTS_EXPERT_DOWN, 0, "*layers.%d.block_sparse_moe.output_linear.weight" },
    { WEIGHTS_GATE_UP, 0, "*layers.%d.shared_mlp.input_linear.weight" },
    { WEIGHTS_DOWN, 0, "*layers.%d.shared_mlp.output_linear.weight" },
    END,
};
const struct weights_name weights_names_experts_gguf_granitemoe[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    GGUF_O,
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    { WEIGHTS_ROUTER, 0, "blk.%d.ffn_gate_inp.weight" },
    GGUF_GATED(WEIGHTS_EXPERT_, 0, "_exps"),
    GGUF_GATED(WEIGHTS_, 0, "_shexp"),
    END,
};
/* The first layers are dense. Layers behind the last one predict further tokens, see bind.c. */
const struct weights_name weights_names_experts_hf_glm4_moe[] = {
    HF_ENDS(0),
    { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },
    HF_QKV,
    HF_QK_NORMS(OPT),
    { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },
    { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },
    HF_GATED(WEIGHTS_, DENSE, "*layers.%d.mlp"),
    { WEIGHTS_ROUTER, 0, "*layers.%d.mlp.gate.weight" },
    { WEIGHTS_CHOICE_BIAS, 0, "*layers.%d.mlp.gate.e_score_correction_bias" },
    HF_GATED(WEIGHTS_EXPERT_, 0, "*layers.%d.mlp.experts.%d"),
    HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp.shared_experts"),
    END,
};
/* DeepSeek. Queries are made in two steps, or in one. */
#define HF_LATENT                                                                                  \
    HF_ENDS(0), { WEIGHTS_ATTENTION_NORM, 0, "*layers.%d.input_layernorm.weight" },                \
        { WEIGHTS_Q, OPT, "*layers.%d.self_attn.q_proj.weight" },                                  \
        { WEIGHTS_Q_A, OPT, "*layers.%d.self_attn.q_a_proj.weight" },                              \
        { WEIGHTS_Q_A_NORM, OPT, "*layers.%d.self_attn.q_a_layernorm.weight" },                    \
        { WEIGHTS_Q, OPT, "*layers.%d.self_attn.q_b_proj.weight" },                                \
        { WEIGHTS_KV_A, 0, "*layers.%d.self_attn.kv_a_proj_with_mqa.weight" },                     \
        { WEIGHTS_LATENT_NORM, 0, "*layers.%d.self_attn.kv_a_layernorm.weight" },                  \
        { WEIGHTS_KV_B, 0, "*layers.%d.self_attn.kv_b_proj.weight" },                              \
        { WEIGHTS_O, 0, "*layers.%d.self_attn.o_proj.weight" },                                    \
        { WEIGHTS_FFN_NORM, 0, "*layers.%d.post_attention_layernorm.weight" },                     \
        HF_GATED(WEIGHTS_, DENSE, "*layers.%d.mlp"),                                               \
        { WEIGHTS_ROUTER, 0, "*layers.%d.mlp.gate.weight" },                                       \
        HF_GATED(WEIGHTS_EXPERT_, 0, "*layers.%d.mlp.experts.%d"),                                 \
        HF_GATED(WEIGHTS_, 0, "*layers.%d.mlp.shared_experts"), HF_ROTARY
const struct weights_name weights_names_experts_hf_deepseek_v2[] = {
    HF_LATENT,
    END,
};
const struct weights_name weights_names_experts_hf_deepseek_v3[] = {
    HF_LATENT,
    { WEIGHTS_CHOICE_BIAS, 0, "*layers.%d.mlp.gate.e_score_correction_bias" },
    END,
};
/* Older conversions have attn_kv_b instead of attn_k_b and attn_v_b. */
const struct weights_name weights_names_experts_gguf_deepseek2[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    { WEIGHTS_Q, OPT, "blk.%d.attn_q.weight" },
    { WEIGHTS_Q_A, OPT, "blk.%d.attn_q_a.weight" },
    { WEIGHTS_Q_A_NORM, OPT, "blk.%d.attn_q_a_norm.weight" },
    { WEIGHTS_Q, OPT, "blk.%d.attn_q_b.weight" },
    { WEIGHTS_KV_A, 0, "blk.%d.attn_kv_a_mqa.weight" },
    { WEIGHTS_LATENT_NORM, 0, "blk.%d.attn_kv_a_norm.weight" },
    { WEIGHTS_KV_B, OPT, "blk.%d.attn_kv_b.weight" },
    { WEIGHTS_K_B, OPT, "blk.%d.attn_k_b.weight" },
    { WEIGHTS_V_B, OPT, "blk.%d.attn_v_b.weight" },
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.ffn_norm.weight" },
    GGUF_GATED(WEIGHTS_, DENSE, ""),
    { WEIGHTS_ROUTER, 0, "blk.%d.ffn_gate_inp.weight" },
    { WEIGHTS_CHOICE_BIAS, OPT, "blk.%d.exp_probs_b.bias" },
    GGUF_GATED(WEIGHTS_EXPERT_, 0, "_exps"),
    GGUF_GATED(WEIGHTS_, 0, "_shexp"),
    END,
};
const struct weights_name weights_names_experts_gguf_glm4moe[] = {
    GGUF_ENDS,
    { WEIGHTS_ATTENTION_NORM, 0, "blk.%d.attn_norm.weight" },
    GGUF_QKV,
    GGUF_QK_NORMS(OPT),
    { WEIGHTS_O, 0, "blk.%d.attn_output.weight" },
    { WEIGHTS_FFN_NORM, 0, "blk.%d.post_attention_norm.weight" },
    GGUF_GATED(WEIGHTS_, DENSE, ""),
    { WEIGHTS_ROUTER, 0, "blk.%d.ffn_gate_inp.weight" },
    { WEIGHTS_CHOICE_BIAS, 0, "blk.%d.exp_probs_b.bias" },
    GGUF_GATED(WEIGHTS_EXPERT_, 0, "_exps"),
    GGUF_GATED(WEIGHTS_, 0, "_shexp"),
    END,
};
