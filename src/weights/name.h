/* The name of a tensor: a row of the tables of names. */
#pragma once
#include <stdint.h>

enum weights_role {
    WEIGHTS_TOKEN_EMBEDDING,
    WEIGHTS_POSITION_EMBEDDING,
    WEIGHTS_TYPE_EMBEDDING, /* added to the positions, which come first */
    WEIGHTS_EMBEDDING_NORM,
    WEIGHTS_EMBEDDING_NORM_BIAS,
    WEIGHTS_POOLER,
    WEIGHTS_POOLER_BIAS,
    WEIGHTS_LABELS,
    WEIGHTS_LABELS_BIAS,
    WEIGHTS_OUTPUT_NORM,
    WEIGHTS_OUTPUT_NORM_BIAS,
    WEIGHTS_OUTPUT,
    WEIGHTS_OUTPUT_BIAS,
    WEIGHTS_ROPE_FACTORS,
    WEIGHTS_ROPE_FACTORS_LONG, /* instead, when spec.rope_scaling.is_long */
    WEIGHTS_ATTENTION_NORM,    /* from here on one per layer */
    WEIGHTS_ATTENTION_NORM_BIAS,
    WEIGHTS_Q,
    WEIGHTS_K,
    WEIGHTS_V,
    WEIGHTS_Q_BIAS,
    WEIGHTS_K_BIAS,
    WEIGHTS_V_BIAS,
    WEIGHTS_Q_NORM,
    WEIGHTS_K_NORM,
    WEIGHTS_O,
    WEIGHTS_O_BIAS,
    WEIGHTS_FFN_NORM,
    WEIGHTS_FFN_NORM_BIAS,
    WEIGHTS_GATE,
    WEIGHTS_UP,
    WEIGHTS_GATE_BIAS,
    WEIGHTS_UP_BIAS,
    WEIGHTS_DOWN,
    WEIGHTS_DOWN_BIAS,
    WEIGHTS_QKV, /* fused: rows of q, then of k, then of v */
    WEIGHTS_QKV_BIAS,
    WEIGHTS_GATE_UP, /* fused: rows of gate, then of up */
    WEIGHTS_ATTENTION_POST_NORM,
    WEIGHTS_FFN_POST_NORM,
    WEIGHTS_SINKS,
    WEIGHTS_Q_A, /* latent attention from here to V_B: makes the vector of queries */
    WEIGHTS_Q_A_NORM,
    WEIGHTS_KV_A, /* fused: rows of the latent, then of the key's rotated part */
    WEIGHTS_LATENT_NORM,
    WEIGHTS_KV_B,   /* each head's keys of the latent, then its values */
    WEIGHTS_K_B,    /* (n_heads, rank, key_dim) */
    WEIGHTS_V_B,    /* (n_heads, value_dim, rank) */
    WEIGHTS_ROUTER, /* from here on of layers with experts */
    WEIGHTS_ROUTER_BIAS,
    WEIGHTS_CHOICE_BIAS,
    WEIGHTS_SHARED_GATE,
    WEIGHTS_EXPERT_GATE, /* from here on one per expert, or all experts' in one tensor */
    WEIGHTS_EXPERT_UP,
    WEIGHTS_EXPERT_DOWN,
    WEIGHTS_EXPERT_GATE_BIAS,
    WEIGHTS_EXPERT_UP_BIAS,
    WEIGHTS_EXPERT_DOWN_BIAS,
    WEIGHTS_EXPERT_GATE_UP, /* fused: rows of gate, then of up */
    WEIGHTS_EXPERT_GATE_UP_BIAS,
    WEIGHTS_ROLE_N
};

enum weights_name_flag {
    WEIGHTS_NAME_OPTIONAL = 1,
    WEIGHTS_NAME_TRANSPOSED = 2, /* stored as (inputs, outputs) */
    WEIGHTS_NAME_IGNORED = 4,    /* a buffer that is not read; role means nothing */
    WEIGHTS_NAME_LESS_ONE = 8,   /* a vector stored as w - 1 */
    WEIGHTS_NAME_BY_HEADS = 16,  /* fused by KV heads: each one's queries, its key, its value */
    WEIGHTS_NAME_ALTERNATE = 32, /* fused, and the rows of gate and up take turns */
    WEIGHTS_NAME_BLOCKS = 64,    /* "..._blocks" of MXFP4, with "..._scales" beside it */
    WEIGHTS_NAME_DENSE = 128,    /* of layers without experts, among others with them */
};
struct weights_name {
    uint8_t role, flags;
    const char *pattern; /* "%d" is the layer, a second one the expert, and a leading "*" one of the
                            prefixes */
};
