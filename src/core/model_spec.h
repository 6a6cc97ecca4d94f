/* A model's computation, as data. One forward pass with flags serves llama, mistral, qwen2, qwen3,
 * phi3, gemma, gemma3, OPT, GPT-2, ChatGLM2, further dense families (docs/MODELS.md), and the
 * mixtures of experts among them. */
#pragma once
#include "core/dtype.h"
#include "core/limits.h"
#include "base/status.h"

enum norm_kind { NORM_RMS, NORM_LAYER };
enum act_kind {
    ACT_SILU,
    ACT_GELU_TANH,
    ACT_GELU_ERF,
    ACT_RELU,
    ACT_TANH,
    ACT_SWIGLU_CLAMPED, /* with a gate only (gpt-oss): see vmath_swiglu_clamped */
};
/* Which rows of a text its embedding is made of. */
enum pooling_kind { POOLING_LAST, POOLING_MEAN, POOLING_FIRST };
enum position_kind {
    POSITION_ROPE_HALVES, /* rotates (x[i], x[i + n/2]): Hugging Face's llama, qwen */
    POSITION_ROPE_PAIRS,  /* rotates (x[2i], x[2i + 1]): GGUF's llama, ChatGLM2 */
    POSITION_LEARNED,     /* a table of positions: GPT-2, OPT */
};
enum rope_scaling_kind {
    ROPE_SCALING_NONE,
    ROPE_SCALING_LINEAR,
    ROPE_SCALING_LLAMA3,
    ROPE_SCALING_LONG, /* by factors of its own for each frequency: model_weights.rope_factors */
    ROPE_SCALING_YARN, /* low frequencies are divided by a factor, high ones kept (YaRN, 3.2) */
};

struct rope_scaling {
    enum rope_scaling_kind kind;
    float factor;                 /* LINEAR, LLAMA3 and YARN */
    float low_freq_factor;        /* LLAMA3 */
    float high_freq_factor;       /* LLAMA3 */
    int32_t n_positions_original; /* LLAMA3, LONG and YARN */
    float attention_factor;       /* sines and cosines are multiplied by it; 0 stands for 1 */
    bool is_long; /* LONG: use the factors for more positions than the original ones */
    /* YARN: a frequency with more than beta_fast turns within the original positions is kept. One
     * with fewer than beta_slow turns is divided, and those between are blended. */
    float beta_fast, beta_slow;
    bool is_untruncated; /* YARN: these two limits are not rounded to whole frequencies */
};

/* A group of layers whose KV has one shape. All real models of today need one group. A window drops
 * the KV behind it, so a model in which some layers see all positions has no window. */
struct kv_group {
    int32_t n_layers, n_kv_heads, head_dim;
    int32_t window;     /* positions that a token sees, itself included; 0 = all */
    bool has_keys_only; /* the keys are the values, too */
};

/* Multi-head latent attention (DeepSeek-V2, 2.1). The cache holds one key for all heads of a layer:
 * the rotated part (n_rope_dims), then the latent (rank). head_dim is the sum of both. The matrix
 * that makes a head's keys of the latent is multiplied with the query instead (absorbed), and the
 * one that makes values is multiplied with the attention's output. */
struct latent_spec {
    int32_t rank;       /* 0: none */
    int32_t query_rank; /* queries are made of a normed vector of this width; 0: of the stream */
    int32_t key_dim;    /* of a head's query, without the rotated part behind it */
    int32_t value_dim;  /* of a head's output */
    float norm_epsilon; /* of the norms of the latent and of that vector */
};

/* A mixture of experts, in every layer that is not dense: a token uses the n_used feed-forwards
 * with the highest router logits. Their outputs are added, each times its share. The shares are a
 * softmax over all router logits, or their sigmoids. With a bias for the choice (a tensor) the
 * highest sums of share and bias are chosen. */
struct expert_spec {
    int32_t n_experts; /* 0: none */
    int32_t n_used;
    int32_t width;         /* of an expert's inner activations */
    bool is_scaled_to_one; /* the shares of those used are divided by their sum */
    bool is_sigmoid;
    /* Only experts of the n_groups_used best groups are chosen. A group counts as much as its two
     * best experts together, or as its best one. 0 or 1: no groups. */
    int32_t n_groups, n_groups_used;
    bool is_group_by_best;
    float scale; /* shares are multiplied by it in the end; 0 stands for 1 */
};

struct model_spec {
    char architecture[24]; /* "llama", "gpt2", ... */
    int32_t n_layers, width, n_heads, n_kv_heads, head_dim, n_vocabulary;
    int32_t ffn_width; /* of the feed-forward that all tokens use; 0 if there are only experts */
    struct expert_spec experts;
    struct latent_spec latent;
    int32_t dense_width; /* of the feed-forward of layers without experts, among others with them */
    int32_t n_dense_layers;
    bool is_dense_layer[LIMIT_LAYERS]; /* layers without experts */
    int32_t n_positions_max;           /* the context that it was trained for */
    int32_t window;                    /* sliding window, 0 = none */
    enum norm_kind norm;
    float norm_epsilon;
    enum act_kind act;
    bool is_gated;             /* down(act(gate(x)) * up(x)), else down(act(up(x))) */
    bool has_qk_norm;          /* RMS norm of each head's q and k before the rotation */
    bool norms_heads_together; /* with has_qk_norm: one norm over all heads (OLMoE) */
    bool has_post_norms;   /* what attention and feed-forward give is normed before it is added */
    bool has_no_pre_norms; /* attention and feed-forward read the residual stream itself (OLMo 2) */
    bool is_parallel; /* the feed-forward reads the layer's input, as attention does; without a norm
                         of its own it reads attention's (Phi-2, Cohere) */
    bool norms_sums;  /* the stream itself is normed, after attention and feed-forward were added
                         (BERT) */
    bool has_embedding_norm; /* the stream is normed once before the first layer (BERT) */
    bool is_encoder; /* each position sees the whole text, and the model makes vectors alone */
    int32_t n_types; /* of tokens: the table of positions has one part for each (BERT); 0: none */
    enum pooling_kind pooling;
    bool is_pooling_given, is_normalized; /* the files say so; its vectors have the length 1 */
    int32_t n_labels;    /* a vector has a score for each, instead of the hidden state; 0: none */
    float score_divisor; /* scores are divided by its square root; 0 means the head dimension */
    float score_cap;     /* scores become cap * tanh(score / cap); 0: none (Gemma 2) */
    float logit_cap;     /* the same for logits */
    float act_limit;     /* of ACT_SWIGLU_CLAMPED */
    int32_t n_ignored_layers; /* of the file, behind the last: they predict further tokens */
    bool has_sinks;           /* a logit per head joins each softmax of attention (gpt-oss) */
    enum position_kind position;
    int32_t n_rope_dims; /* the first ones of each head; the others are not rotated */
    float rope_base;
    struct rope_scaling rope_scaling;
    /* Marks the layers that see all positions, whatever the window. They rotate with their own base
     * and scaling, which may equal those of the other layers (qwen2). */
    int32_t n_full_layers;
    bool is_full_layer[LIMIT_LAYERS];
    float rope_base_full;
    struct rope_scaling rope_scaling_full;
    bool is_unrotated_layer[LIMIT_LAYERS]; /* layers without rotation (SmolLM3, Cohere 2) */
    int32_t position_offset;               /* added before looking up POSITION_LEARNED (OPT: 2) */
    bool is_tied;                          /* the output matrix is the token embedding */
    float embedding_scale;                 /* 1 unless the model sets another */
    float logit_scale; /* logits are multiplied by it: the output norm's weights hold it */
    int64_t n_parameters;
    int32_t n_kv_groups;
    struct kv_group kv_groups[LIMIT_KV_GROUPS];
};

/* Returns the floats of a text's vector. */
static inline int32_t model_spec_vector(const struct model_spec *spec)
{
    return spec->n_labels > 0 ? spec->n_labels : spec->width;
}
/* Returns how many positions a token sees in this layer, itself included; 0 = all. */
static inline int32_t model_spec_window(const struct model_spec *spec, int32_t layer)
{
    return spec->is_full_layer[layer] ? 0 : spec->window;
}
/* Returns whether the layer has experts. */
static inline bool model_spec_has_experts(const struct model_spec *spec, int32_t layer)
{
    return spec->experts.n_experts > 0 && !spec->is_dense_layer[layer];
}
/* Makes each layer whose number (from 1) is a multiple of `every` see all positions; 0: no layer
 * does. */
void model_spec_set_full(struct model_spec *spec, int32_t every);
/* Makes what attention and feed-forward add to the residual stream count `scale` times (Granite).
 * The stream is kept divided by the scale instead, since norms undo it, and their epsilon shrinks
 * with its square. So nothing is multiplied in a layer. The embedding scale must be set. */
enum status model_spec_scale_residual(struct model_spec *spec, float scale,
                                      struct fault *fault) MUST_USE;
/* Makes one group of KV for all layers. */
void model_spec_group(struct model_spec *spec);
/* Checks that the numbers are in range and agree with each other. */
enum status model_spec_check(const struct model_spec *spec, struct fault *fault) MUST_USE;
/* Checks whether keys and values can be kept in this type: a head must be a whole number of its
 * blocks. */
enum status model_spec_check_kv(const struct model_spec *spec, const char *name,
                                enum dtype kv_dtype, struct fault *fault) MUST_USE;
/* Returns the bytes of K and V of one token over all layers in this type, which was checked
 * before. */
int64_t model_spec_kv_bytes_per_token(const struct model_spec *spec, enum dtype kv_dtype);
/* Returns the multiplications and additions of one token's matrices (2 per weight) without the
 * output matrix. */
double model_spec_flops_per_token(const struct model_spec *spec);
