/* The one forward pass: a model's spec becomes a flat list of operations. Architectures differ in
 * data, not in code. */
#pragma once
#include "compute/compute.h"

enum { FORWARD_OPS_PER_LAYER = 32, FORWARD_OPS_AROUND = 8 };

/* The registers of the program. */
enum forward_register {
    FORWARD_X,      /* residual stream (width) */
    FORWARD_N,      /* normed (width); with post norms also the values to be normed and added */
    FORWARD_Q,      /* (n_heads, head_dim) */
    FORWARD_K,      /* (n_kv_heads, head_dim); with latents the rotated part */
    FORWARD_V,      /* (n_kv_heads, head_dim); with latents the latent */
    FORWARD_A,      /* attention's output (n_heads, head_dim) */
    FORWARD_G,      /* gate, or the only inner activation (ffn_width) */
    FORWARD_U,      /* up (ffn_width) */
    FORWARD_LAST,   /* rows that need logits (width) */
    FORWARD_LAST_N, /* normed (width) */
    FORWARD_PLAIN,  /* models without experts have those before */
    FORWARD_LABELS = FORWARD_PLAIN, /* scores of labels, without experts (n_labels) */
    FORWARD_ROUTER = FORWARD_PLAIN, /* logits of the router (n_experts) */
    FORWARD_SHARE, /* of the feed-forward that all tokens use, ahead of the sigmoid (1) */
    FORWARD_E,     /* expert rows: normed (width) */
    FORWARD_EG,    /* expert rows: gate (an expert's width) */
    FORWARD_EU,    /* expert rows: up (an expert's width) */
    FORWARD_ED,    /* expert rows: down (width) */
    FORWARD_EXPERTS_END,
    FORWARD_DG = FORWARD_EXPERTS_END, /* gate of layers without experts (dense_width) */
    FORWARD_DU,                       /* up (dense_width) */
    FORWARD_LQ,                       /* with latents: queries, each head's rotated part last */
    FORWARD_LA,                       /* what queries are made of (query_rank) */
    FORWARD_LV,                       /* attention's output (n_heads, value_dim) */
    FORWARD_REGISTERS,
};

/* Returns the most tensors that a model of this spec has. */
int run_forward_tensors_max(const struct model_spec *spec);
/* Lists the tensors of the program in the order of its weight indices, which run_forward_compile
 * writes. Returns how many there are (at most n_max). */
int run_forward_tensors(const struct model_spec *spec, const struct model_weights *weights,
                        const struct tensor **out, int n_max);
/* Fills ops (room for FORWARD_OPS_PER_LAYER * n_layers + FORWARD_OPS_AROUND). Returns how many.
 * has_vectors: the device makes vectors of a decoder's last rows, too. */
int run_forward_compile(const struct model_spec *spec, const struct model_weights *weights,
                        bool has_vectors, struct compute_op *ops);
/* The registers of the program. Returns how many there are. */
struct forward_registers {
    int32_t widths[FORWARD_REGISTERS];
    bool is_logit_rows[FORWARD_REGISTERS], is_expert_rows[FORWARD_REGISTERS];
};
int run_forward_registers(const struct model_spec *spec, struct forward_registers *out);
/* Returns how many ropes the layers need. */
int run_forward_ropes(const struct model_spec *spec);
/* Writes the inverse frequencies (n_rope_dims / 2) of one rope, with its scaling. Returns the scale
 * of sines and cosines. rope_factors are divisors from the file, and may be absent. */
float run_forward_frequencies(const struct model_spec *spec, const struct tensor *rope_factors,
                              int rope, float *out);
