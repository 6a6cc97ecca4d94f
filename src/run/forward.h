/* The one forward pass: a model's spec becomes a flat list of operations. Architectures differ in
 * data, not in code. */
#pragma once
#include "compute/compute.h"

enum {
    FORWARD_OPS_PER_LAYER = 20,
    FORWARD_OPS_AROUND = 8,
    FORWARD_WEIGHTS_PER_LAYER = 22,
    FORWARD_WEIGHTS_AROUND = 8
};

/* The registers of the program. */
enum forward_register {
    FORWARD_X,      /* residual stream (width) */
    FORWARD_N,      /* normed (width); with post norms also the values to be normed and added */
    FORWARD_Q,      /* (n_heads, head_dim) */
    FORWARD_K,      /* (n_kv_heads, head_dim) */
    FORWARD_V,      /* (n_kv_heads, head_dim) */
    FORWARD_A,      /* attention's output (n_heads, head_dim) */
    FORWARD_G,      /* gate, or the only inner activation (ffn_width) */
    FORWARD_U,      /* up (ffn_width) */
    FORWARD_LAST,   /* rows that need logits (width) */
    FORWARD_LAST_N, /* normed (width) */
    FORWARD_REGISTERS,
};

/* Lists the tensors of the program in the order of its weight indices, which run_forward_compile
 * writes. Returns how many there are (at most n_max). */
int run_forward_tensors(const struct model_spec *spec, const struct model_weights *weights,
                        const struct tensor **out, int n_max);
/* Fills ops (room for FORWARD_OPS_PER_LAYER * n_layers + FORWARD_OPS_AROUND). Returns how many. */
int run_forward_compile(const struct model_spec *spec, const struct model_weights *weights,
                        struct compute_op *ops);
void run_forward_widths(const struct model_spec *spec, int32_t widths[FORWARD_REGISTERS],
                        bool is_logit_rows[FORWARD_REGISTERS]);
/* Returns how many ropes the layers need. */
int run_forward_ropes(const struct model_spec *spec);
/* Writes the inverse frequencies (n_rope_dims / 2) of one rope, with its scaling. Returns the scale
 * of sines and cosines. rope_factors are divisors from the file, and may be absent. */
float run_forward_frequencies(const struct model_spec *spec, const struct tensor *rope_factors,
                              int rope, float *out);
