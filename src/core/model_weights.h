/* The tensors of a model by role, independent of their names in the file. Absent ones have data ==
 * NULL. */
#pragma once
#include "core/model_spec.h"
#include "core/tensor.h"

struct expert_weights {
    struct tensor gate, up, down;
    struct tensor gate_bias, up_bias, down_bias; /* of all experts or of none */
};
struct latent_weights {       /* of one head */
    struct tensor key, value; /* (rank, key_dim), (value_dim, rank) */
};
struct layer_weights {
    struct tensor attention_norm, attention_norm_bias;
    struct tensor q, k, v, q_bias, k_bias,
        v_bias;                   /* rows of one fused matrix if the file fuses them */
    struct tensor q_norm, k_norm; /* (head_dim), or of all heads together */
    struct tensor o, o_bias;
    struct tensor ffn_norm, ffn_norm_bias;
    struct tensor gate, up, gate_bias, up_bias; /* gate absent unless spec.is_gated */
    struct tensor down, down_bias;
    struct tensor attention_post_norm, ffn_post_norm; /* (width), of spec.has_post_norms */
    struct tensor sinks;                              /* (n_heads), of spec.has_sinks */
    struct tensor router, router_bias;                /* (n_experts, width) */
    struct tensor choice_bias;      /* (n_experts): added to the shares for the choice alone */
    struct tensor shared_gate;      /* (width): its sigmoid scales the feed-forward of all tokens */
    struct expert_weights *experts; /* (spec.experts.n_experts) */
    /* With spec.latent k makes the rotated part of the key and v the latent, whose norm is
     * latent_norm. q makes queries of q_a's normed output, if there is q_a. */
    struct tensor q_a, q_a_norm, latent_norm;
    struct latent_weights *latents; /* (n_heads) */
};
struct model_weights {
    struct tensor token_embedding, position_embedding;
    struct tensor embedding_norm, embedding_norm_bias; /* of spec.has_embedding_norm */
    struct tensor output_norm, output_norm_bias;
    struct tensor output, output_bias; /* output is the embedding when spec.is_tied */
    struct tensor pooler,
        pooler_bias; /* (width, width), with spec.n_labels: tanh of it is scored */
    struct tensor labels, labels_bias; /* (n_labels, width) */
    struct tensor rope_factors;   /* (n_rope_dims / 2) divisors of the frequencies (GGUF llama-3,
                                phi3), may be absent */
    struct layer_weights *layers; /* spec.n_layers */
};
