/* Toy models for the tests of operations: random weights of any type, run on any device, over a
 * cache of shuffled blocks. All memory that a pass should not read is full of NaN. */
#pragma once
#include "compute/packed.h"

enum { TOY_WEIGHTS_MAX = 128, TOY_REGISTERS = 18, TOY_SEQUENCES_MAX = 8 };

struct toy_options {
    enum dtype dtype; /* of the matrices */
    int32_t n_layers, width, n_heads, n_kv_heads, head_dim, ffn, n_vocabulary, n_positions;
    int32_t n_rope_dims, window;
    bool has_post_norms; /* of the outputs of attention and feed-forward */
    bool is_mixed;       /* every other layer has no window and another rope */
    bool is_layer_norm, is_gated, has_bias, has_qk_norm, is_pairs, is_learned, is_transposed;
    int32_t n_experts, n_used; /* experts of width ffn beside the feed-forward; 0: none */
    bool is_scaled_to_one;
    struct compute_experts router; /* its sigmoid (then the choice has a bias), groups and scale */
    bool has_expert_bias, has_sinks;
    bool is_clamped; /* the gates of experts */
    float cap;       /* of scores and logits; 0: none */
    /* Latent attention: head_dim is rank + n_rope_dims, and there is one KV head. 0: none */
    int32_t rank, key_dim, value_dim;
    enum act_kind act;
    enum dtype kv_dtype;
};

struct toy { /* a model in a "file" */
    struct toy_options options;
    struct tensor tensors[TOY_WEIGHTS_MAX];
    int n_tensors;
    struct compute_op ops[96];
    int n_ops;
    int32_t widths[TOY_REGISTERS];
    bool is_logit_rows[TOY_REGISTERS], is_expert_rows[TOY_REGISTERS];
    float *frequencies; /* of two ropes */
    uint64_t seed;
};
void toy_init(struct toy *toy, const struct toy_options *options, uint64_t seed);
void toy_free(struct toy *toy);
/* Returns a random matrix (n_rows, n_columns). The caller frees data by mem_give. */
struct tensor toy_tensor(enum dtype dtype, int32_t n_rows, int32_t n_columns, uint64_t seed);

struct toy_model { /* loaded by a device, with a cache for TOY_SEQUENCES_MAX sequences */
    const struct toy *toy;
    struct compute_device *device;
    struct compute_program program;
    struct compute_packed packed;
    struct compute_kv kv;
    uint32_t *blocks; /* (TOY_SEQUENCES_MAX, n_heads, blocks_per_sequence) */
    int32_t blocks_per_sequence;
    int32_t n_heads; /* of the tables: of all layers, or 1 */
};
void toy_load(struct toy_model *model, const struct toy *toy, struct compute_device *device,
              int32_t block_tokens);
/* Loads with a head-wise cache. */
void toy_load_heads(struct toy_model *model, const struct toy *toy, struct compute_device *device,
                    int32_t block_tokens);
void toy_unload(struct toy_model *model); /* the device stays open */

struct toy_item { /* rows of one sequence in a pass */
    int sequence;
    int32_t n_before, n_rows;
};
/* Runs one pass; the token at (sequence, position) is a hash of both. The logits of every row go to
 * logits + ((sequence * n_positions) + position) * n_vocabulary. */
void toy_run(struct toy_model *model, const struct toy_item *items, int n_items, float *logits);
/* Each position has a class of its own, so that a pass has rows of both. */
static inline uint8_t toy_class(int32_t position)
{
    return position % 7 >= 5 ? COMPUTE_ROW_GENERATED : COMPUTE_ROW_PROMPT;
}
int32_t toy_token(const struct toy *toy, int sequence, int32_t position);
size_t toy_logits_count(const struct toy *toy); /* number of floats in the array above */
/* A single product: logits (n_rows, n_outputs) = the input's rows 0, 1, .. n_distinct - 1, 0, ..
 * times the weight. The device packed both: (n_distinct, n_columns), (n_outputs, n_columns). */
struct toy_product {
    int32_t n_columns, n_outputs, n_distinct;
};
void toy_multiply(const struct compute_packed *packed, const struct toy_product *product,
                  int32_t n_rows, float *logits);
/* Returns the toy's program over weights that were packed in the order of its tensors. */
struct compute_program toy_program(const struct toy *toy, const struct compute_packed *packed);
/* Packs n tensors on a device. */
void toy_pack(struct compute_packed *packed, struct compute_device *device,
              const struct tensor *tensors, int n);
/* Runs the pass on lane 0, in a workspace full of NaN, whose bounds it must keep. */
void toy_compute(struct compute_device *device, struct compute_pass *pass);
