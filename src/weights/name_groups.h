/* Groups of rows that the tables of names share. A group's `flags` apply to each of its rows.
 * Biases in a group are optional. */
#pragma once
#include "weights/name.h"
#include <stddef.h>

enum {
    OPT = WEIGHTS_NAME_OPTIONAL,
    TURNED = WEIGHTS_NAME_TRANSPOSED,
    IGNORED = WEIGHTS_NAME_IGNORED,
    LESS_1 = WEIGHTS_NAME_LESS_ONE,
    BY_HEADS = WEIGHTS_NAME_BY_HEADS,
    ALTERNATE = WEIGHTS_NAME_ALTERNATE,
    BLOCKS = WEIGHTS_NAME_BLOCKS,
    DENSE = WEIGHTS_NAME_DENSE,
};

#define END                                                                                        \
    {                                                                                              \
        0, 0, NULL                                                                                 \
    }
/* A matrix or a norm, and its bias. The flags apply to the bias alone. */
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
#define HF_ENDS(flags) HF_EMBEDDING, { WEIGHTS_OUTPUT_NORM, flags, "*norm.weight" }, HF_OUTPUT
#define HF_QKV                                                                                     \
    WITH_BIAS(WEIGHTS_Q, OPT, "*layers.%d.self_attn.q_proj"),                                      \
        WITH_BIAS(WEIGHTS_K, OPT, "*layers.%d.self_attn.k_proj"),                                  \
        WITH_BIAS(WEIGHTS_V, OPT, "*layers.%d.self_attn.v_proj")
#define HF_QK_NORMS(flags)                                                                         \
    { WEIGHTS_Q_NORM, flags, "*layers.%d.self_attn.q_norm.weight" },                               \
    {                                                                                              \
        WEIGHTS_K_NORM, flags, "*layers.%d.self_attn.k_norm.weight"                                \
    }
#define HF_O WITH_BIAS(WEIGHTS_O, OPT, "*layers.%d.self_attn.o_proj")
/* kind: WEIGHTS_ or WEIGHTS_EXPERT_; at: the module that has the three matrices. */
#define HF_GATED(kind, flags, at)                                                                  \
    { kind##GATE, flags, at ".gate_proj.weight" }, { kind##UP, flags, at ".up_proj.weight" },      \
    {                                                                                              \
        kind##DOWN, flags, at ".down_proj.weight"                                                  \
    }
#define HF_ROTARY                                                                                  \
    {                                                                                              \
        0, IGNORED, "*layers.%d.self_attn.rotary_emb.inv_freq"                                     \
    }

#define GGUF_ENDS                                                                                  \
    { WEIGHTS_TOKEN_EMBEDDING, 0, "token_embd.weight" },                                           \
        { WEIGHTS_OUTPUT_NORM, 0, "output_norm.weight" },                                          \
    {                                                                                              \
        WEIGHTS_OUTPUT, OPT, "output.weight"                                                       \
    }
/* GGUF_ENDS of models whose norms have biases. */
#define GGUF_ENDS_LAYER                                                                            \
    GGUF_ENDS,                                                                                     \
    {                                                                                              \
        WEIGHTS_OUTPUT_NORM_BIAS, 0, "output_norm.bias"                                            \
    }
#define GGUF_QKV                                                                                   \
    WITH_BIAS(WEIGHTS_Q, OPT, "blk.%d.attn_q"), WITH_BIAS(WEIGHTS_K, OPT, "blk.%d.attn_k"),        \
        WITH_BIAS(WEIGHTS_V, OPT, "blk.%d.attn_v")
#define GGUF_QK_NORMS(flags)                                                                       \
    { WEIGHTS_Q_NORM, flags, "blk.%d.attn_q_norm.weight" },                                        \
    {                                                                                              \
        WEIGHTS_K_NORM, flags, "blk.%d.attn_k_norm.weight"                                         \
    }
#define GGUF_O WITH_BIAS(WEIGHTS_O, OPT, "blk.%d.attn_output")
/* kind: as in HF_GATED; end: "_exps" for experts, "_shexp" for shared ones, otherwise "". */
#define GGUF_GATED(kind, flags, end)                                                               \
    { kind##GATE, flags, "blk.%d.ffn_gate" end ".weight" },                                        \
        { kind##UP, flags, "blk.%d.ffn_up" end ".weight" },                                        \
    {                                                                                              \
        kind##DOWN, flags, "blk.%d.ffn_down" end ".weight"                                         \
    }
#define GGUF_UP_DOWN                                                                               \
    WITH_BIAS(WEIGHTS_UP, OPT, "blk.%d.ffn_up"), WITH_BIAS(WEIGHTS_DOWN, OPT, "blk.%d.ffn_down")
