/* The keys of GGUF metadata that begin with the architecture's name. The rows have all keys of
 * llama.cpp, as it treats them for the architectures that are loaded here. tools/model_keys.py
 * compares the rows with the package gguf. */
#include "weights/gguf_keys.h"
#include "weights/gguf_meta.h"
#include <stdio.h>
#include <string.h>

#define READ  WEIGHTS_READ
#define FIXED WEIGHTS_FIXED
#define INERT WEIGHTS_INERT

#define MIXED   "mixtral olmoe qwen2moe qwen3moe gpt-oss granitemoe glm4moe deepseek2"
#define LAYERED "gpt2 starcoder2 stablelm phi2 gptneox falcon command-r cohere2" /* layer norms */
#define GRANITE "granite granitemoe"
#define DENSE   "!" MIXED
#define ROPED   "!gpt2"

static const struct weights_key rows[] = {
    READ(NULL, "context_length"),
    READ(NULL, "embedding_length"),
    READ(NULL, "block_count"),
    READ(NULL, "feed_forward_length"),
    READ(NULL, "attention.head_count"),
    READ(NULL, "attention.head_count_kv"),
    READ(NULL, "attention.key_length"),
    READ(NULL, "attention.value_length"),
    READ("!" LAYERED, "attention.layer_norm_rms_epsilon"),
    READ(LAYERED, "attention.layer_norm_epsilon"),
    INERT("!" LAYERED, "attention.layer_norm_epsilon"),
    INERT(LAYERED, "attention.layer_norm_rms_epsilon"),
    READ(ROPED, "rope.dimension_count"),
    READ(ROPED, "rope.freq_base"),
    READ(ROPED, "rope.scale_linear"),
    READ(ROPED, "rope.scaling.type"),
    READ(ROPED, "rope.scaling.factor"),
    READ(ROPED, "rope.scaling.attn_factor"),
    READ(ROPED, "rope.scaling.original_context_length"),
    READ(MIXED, "expert_count"),
    READ(MIXED, "expert_used_count"),
    READ("qwen2moe qwen3moe gpt-oss glm4moe deepseek2", "expert_feed_forward_length"),
    READ("qwen2moe granitemoe", "expert_shared_feed_forward_length"),
    READ("gemma3 gpt-oss gemma2 cohere2", "attention.sliding_window"),
    READ("gemma3", "attention.sliding_window_pattern"),
    READ("gemma3", "rope.freq_base_swa"),
    READ("gemma3", "attention.key_length_swa"),
    READ("gemma3", "attention.value_length_swa"),
    READ("gemma3", "rope.dimension_count_swa"),
    /* Keys that change the mathematics. */
    FIXED(NULL, "attention.causal", "1"),
    FIXED(DENSE, "expert_count", "0"),
    FIXED(DENSE, "expert_used_count", "0"),
    FIXED("!qwen2moe qwen3moe gpt-oss glm4moe deepseek2", "expert_feed_forward_length", "0"),
    FIXED("!qwen2moe granitemoe", "expert_shared_feed_forward_length", "0"),
    FIXED(DENSE, "expert_gating_func", "0"),
    FIXED("mixtral olmoe qwen2moe qwen3moe granitemoe", "expert_gating_func",
          "0|1"),                                  /* 1: softmax */
    FIXED("glm4moe", "expert_gating_func", "0|2"), /* 2: sigmoid */
    READ("deepseek2", "expert_gating_func"),
    FIXED("gpt-oss", "expert_gating_func", "0|3"), /* 3: of those chosen */
    FIXED("!mixtral qwen3moe gpt-oss granitemoe glm4moe deepseek2", "expert_weights_norm", "0"),
    READ("glm4moe deepseek2", "expert_weights_norm"),
    FIXED("mixtral qwen3moe gpt-oss granitemoe", "expert_weights_norm",
          "0|1"), /* llama.cpp scales them always */
    FIXED("!glm4moe deepseek2", "expert_weights_scale", "0|1"),
    READ("glm4moe deepseek2", "expert_weights_scale"),
    FIXED("!gemma2", "final_logit_softcapping", "0"),
    FIXED("!gemma2", "attn_logit_softcapping", "0"),
    READ("gemma2", "final_logit_softcapping"),
    READ("gemma2", "attn_logit_softcapping"),
    FIXED("!glm4moe", "nextn_predict_layers", "0"),
    READ("glm4moe", "nextn_predict_layers"),
    FIXED(ROPED, "rope.scaling.yarn_beta_fast", "32"),
    FIXED(ROPED, "rope.scaling.yarn_beta_slow", "1"),
    FIXED(ROPED, "rope.scaling.yarn_attn_factor", "1"),
    FIXED(ROPED, "rope.scaling.yarn_ext_factor", "1|-1"),
    FIXED("!gpt2 deepseek2", "rope.scaling.yarn_log_multiplier", "0"),
    READ("deepseek2", "rope.scaling.yarn_log_multiplier"),
    FIXED(ROPED, "rope.scaling.alpha", "0"),
    FIXED(ROPED, "rope.dimension_sections", "0"),
    FIXED(NULL, "attention.rope_pattern", "1"),
    FIXED("!gemma gemma2 gemma3 gpt2 starcoder2 phi2 gptneox falcon", "hidden_activation", "silu"),
    FIXED("gemma gemma2 gemma3", "hidden_activation", "gelu_pytorch_tanh"),
    FIXED("gpt2", "hidden_activation", "gelu_new"),
    FIXED("!command-r cohere2 " GRANITE, "logit_scale", "0|1"),
    READ("command-r cohere2 " GRANITE, "logit_scale"),
    FIXED("!" GRANITE, "residual_scale", "0|1"),
    READ(GRANITE, "residual_scale"),
    FIXED("!" GRANITE, "embedding_scale", "0|1"),
    READ(GRANITE, "embedding_scale"),
    FIXED(NULL, "attention.output_scale", "0|1"),
    FIXED(NULL, "attention.value_scale", "0|1"),
    FIXED("!" GRANITE, "attention.scale", "0"),
    READ(GRANITE, "attention.scale"),
    FIXED("!gptneox stablelm", "use_parallel_residual", "0"),
    READ("gptneox", "use_parallel_residual"),
    INERT("stablelm", "use_parallel_residual"), /* a norm of the feed-forward determines it */
    FIXED(NULL, "attention.max_alibi_bias", "0"),
    FIXED(NULL, "attention.clamp_kqv", "0"),
    /* Keys of other architectures. A value other than "off" is refused, because it would be for one
     * of those. */
    FIXED(NULL, "activation.situ_beta", "0"),
    FIXED(NULL, "activation.situ_linear_beta", "0"),
    FIXED(NULL, "activation_sparsity_scale", "0"),
    FIXED(NULL, "adapters.count", "0"),
    FIXED(NULL, "adapters.lora_rank", "0"),
    FIXED(NULL, "adapters.router_gain", "0"),
    FIXED(NULL, "adapters.token_ids_activate", "0"),
    FIXED(NULL, "adapters.token_ids_substitute", "0"),
    FIXED(NULL, "altup.active_idx", "0"),
    FIXED(NULL, "altup.num_inputs", "0"),
    FIXED(NULL, "attention.compress_ratios", "0"),
    FIXED(NULL, "attention.compress_rope_freq_base", "0"),
    FIXED(NULL, "attention.decay_lora_rank", "0"),
    FIXED(NULL, "attention.gate_lora_rank", "0"),
    FIXED(NULL, "attention.group_norm_epsilon", "0"),
    FIXED(NULL, "attention.group_norm_groups", "0"),
    FIXED(NULL, "attention.iclr_lora_rank", "0"),
    FIXED(NULL, "attention.indexer.block_size", "0"),
    FIXED(NULL, "attention.indexer.head_count", "0"),
    FIXED(NULL, "attention.indexer.key_length", "0"),
    FIXED(NULL, "attention.indexer.kpool", "0"),
    FIXED(NULL, "attention.indexer.kpool_select_tail", "0"),
    FIXED(NULL, "attention.indexer.local_blocks", "0"),
    FIXED(NULL, "attention.indexer.top_k", "0"),
    FIXED(NULL, "attention.indexer.types", "0"),
    FIXED("!deepseek2", "attention.key_length_mla", "0"),
    READ("deepseek2", "attention.key_length_mla"),
    FIXED(NULL, "attention.key_length_mla_swa", "0"),
    FIXED("!deepseek2", "attention.kv_lora_rank", "0"),
    READ("deepseek2", "attention.kv_lora_rank"),
    FIXED(NULL, "attention.kv_lora_rank_swa", "0"),
    FIXED(NULL, "attention.output_group_count", "0"),
    FIXED(NULL, "attention.output_lora_rank", "0"),
    FIXED("!deepseek2", "attention.q_lora_rank", "0"),
    READ("deepseek2", "attention.q_lora_rank"),
    FIXED(NULL, "attention.recurrent_layers", "0"),
    FIXED(NULL, "attention.relative_buckets_count", "0"),
    FIXED(NULL, "attention.shared_kv_layers", "0"),
    FIXED(NULL, "attention.temperature_length", "0"),
    FIXED(NULL, "attention.temperature_scale", "0"),
    FIXED("!deepseek2", "attention.value_length_mla", "0"),
    READ("deepseek2", "attention.value_length_mla"),
    FIXED(NULL, "attention.value_length_mla_swa", "0"),
    FIXED(NULL, "attention.value_residual_mix_lora_rank", "0"),
    FIXED(NULL, "attn_res.block_size", "0"),
    FIXED(NULL, "block_size", "0"),
    FIXED(NULL, "conv_group_size", "0"),
    FIXED(NULL, "conv_kernel_size", "0"),
    FIXED(NULL, "convnext.block_count", "0"),
    FIXED(NULL, "convnext.embedding_length", "0"),
    FIXED(NULL, "decoder_block_count", "0"),
    FIXED(NULL, "deepstack_mapping", "0"),
    FIXED(NULL, "dense_2_feat_in", "0"),
    FIXED(NULL, "dense_2_feat_out", "0"),
    FIXED(NULL, "dense_3_feat_in", "0"),
    FIXED(NULL, "dense_3_feat_out", "0"),
    FIXED(NULL, "embedding_length_per_layer_input", "0"),
    FIXED(NULL, "expert_chunk_feed_forward_length", "0"),
    FIXED("!glm4moe deepseek2", "expert_group_count", "0"),
    READ("glm4moe deepseek2", "expert_group_count"),
    FIXED(NULL, "expert_group_scale", "0"),
    FIXED("!glm4moe deepseek2", "expert_group_used_count", "0"),
    READ("glm4moe deepseek2", "expert_group_used_count"),
    FIXED(NULL, "expert_latent_length", "0"),
    FIXED("!glm4moe deepseek2", "expert_shared_count", "0"),
    READ("glm4moe deepseek2", "expert_shared_count"),
    FIXED(NULL, "experts_per_group", "0"),
    FIXED(NULL, "features_length", "0"),
    FIXED(NULL, "full_attention_interval", "0"),
    FIXED(NULL, "hash_layer_count", "0"),
    FIXED(NULL, "hrm.h_cycles", "0"),
    FIXED(NULL, "hrm.l_cycles", "0"),
    FIXED(NULL, "hrm.layers_per_stack", "0"),
    FIXED(NULL, "hrm.prefix_lm", "0"),
    FIXED(NULL, "hyper_connection.count", "0"),
    FIXED(NULL, "hyper_connection.epsilon", "0"),
    FIXED(NULL, "hyper_connection.low_rank", "0"),
    FIXED(NULL, "hyper_connection.magnitude", "0"),
    FIXED(NULL, "hyper_connection.sinkhorn_iterations", "0"),
    FIXED(NULL, "interleave_moe_layer_step", "0"),
    FIXED(NULL, "kda.gate_lower_bound", "0"),
    FIXED(NULL, "kda.head_dim", "0"),
    FIXED(NULL, "kda.safe_gate", "0"),
    FIXED("!glm4moe deepseek2", "leading_dense_block_count", "0"),
    READ("glm4moe deepseek2", "leading_dense_block_count"),
    FIXED(NULL, "moe_every_n_layers", "0"),
    FIXED(NULL, "moe_latent_size", "0"),
    FIXED(NULL, "n_deepstack_layers", "0"),
    FIXED(NULL, "norm_before_fc", "0"),
    FIXED(NULL, "norm_before_residual", "0"),
    FIXED(NULL, "num_loops", "0"),
    FIXED(NULL, "ple.conv_kernel", "0"),
    FIXED(NULL, "ple.eos_token_id", "0"),
    FIXED(NULL, "ple.head_offsets", "0"),
    FIXED(NULL, "ple.head_vocab_sizes", "0"),
    FIXED(NULL, "ple.heads_per_ngram", "0"),
    FIXED(NULL, "ple.image_token_id", "0"),
    FIXED(NULL, "ple.layer_multipliers", "0"),
    FIXED(NULL, "ple.layers", "0"),
    FIXED(NULL, "ple.ngram_size", "0"),
    FIXED(NULL, "posnet.block_count", "0"),
    FIXED(NULL, "posnet.embedding_length", "0"),
    FIXED(NULL, "rescale_every_n_layers", "0"),
    FIXED(NULL, "router_logit_softcapping", "0"),
    FIXED(NULL, "selector_rank", "0"),
    FIXED(NULL, "selector_top_k", "0"),
    FIXED(NULL, "shortconv.l_cache", "0"),
    FIXED(NULL, "skip_loop_final_norm", "0"),
    FIXED(NULL, "ssm.conv_kernel", "0"),
    FIXED(NULL, "ssm.dt_b_c_rms", "0"),
    FIXED(NULL, "ssm.group_count", "0"),
    FIXED(NULL, "ssm.inner_size", "0"),
    FIXED(NULL, "ssm.state_size", "0"),
    FIXED(NULL, "ssm.time_step_rank", "0"),
    FIXED(NULL, "swiglu_clamp_exp", "0"),
    FIXED(NULL, "swiglu_clamp_shexp", "0"),
    FIXED(NULL, "swin_norm", "0"),
    FIXED(NULL, "target_hidden_size", "0"),
    FIXED(NULL, "target_layers", "0"),
    FIXED(NULL, "time_decay_extra_dim", "0"),
    FIXED(NULL, "time_mix_extra_dim", "0"),
    FIXED(NULL, "token_shift_count", "0"),
    FIXED(NULL, "wkv.head_size", "0"),
    /* Keys without influence on what these architectures compute. */
    INERT(NULL, "vocab_size"),
    INERT(NULL, "tensor_data_layout"),
    READ(NULL, "pooling_type"),
    INERT(NULL, "classifier.output_labels"),
    INERT(NULL, "classifier.pooling_type"),
    INERT(NULL, "decoder_start_token_id"),
    INERT(NULL, "embedding_length_out"),
    INERT("!gpt2 " GRANITE, "rope.scaling.finetuned"),
    FIXED(GRANITE, "rope.scaling.finetuned", "1"),   /* false: no rotation */
    FIXED("olmo2", "attention.sliding_window", "0"), /* OLMo 3 */
    INERT("!gemma3 gpt-oss gemma2 cohere2 olmo2",
          "attention.sliding_window"), /* llama.cpp has no window there */
    INERT("!gemma3", "attention.sliding_window_pattern"),
    INERT("gpt2", "rope.dimension_count"),
    INERT("gpt2", "rope.freq_base"),
    INERT("gpt2", "rope.scale_linear"),
    INERT("gpt2", "rope.scaling.type"),
    INERT("gpt2", "rope.scaling.factor"),
    INERT("gpt2", "rope.scaling.attn_factor"),
    INERT("gpt2", "rope.scaling.original_context_length"),
    INERT("gpt2", "rope.scaling.finetuned"),
    INERT("gpt2", "rope.scaling.yarn_beta_fast"),
    INERT("gpt2", "rope.scaling.yarn_beta_slow"),
    INERT("gpt2", "rope.scaling.yarn_attn_factor"),
    INERT("gpt2", "rope.scaling.yarn_ext_factor"),
    INERT("gpt2", "rope.scaling.yarn_log_multiplier"),
    INERT("gpt2", "rope.scaling.alpha"),
    INERT("gpt2", "rope.dimension_sections"),
    INERT("!gemma3", "rope.freq_base_swa"),
    INERT("!gemma3", "attention.key_length_swa"),
    INERT("!gemma3", "attention.value_length_swa"),
    INERT("!gemma3", "rope.dimension_count_swa"),
    { NULL, NULL, NULL, 0 },
};

const struct weights_key *weights_gguf_keys(void)
{
    return rows;
}

/* Reads element i of an array, or the value itself, as a number. Returns false when it is none. */
static bool number_of(const struct weights_gguf_value *value, uint64_t i, double *out)
{
    struct weights_gguf_value element = *value;
    if (value->type == GGUF_ARRAY) {
        if (value->of == GGUF_TEXT)
            return false;
        element.type = value->of;
        element.n_bytes = value->n_bytes / (size_t)value->n;
        element.at = value->at + i * element.n_bytes;
    }
    return weights_gguf_meta_number(&element, out);
}

static bool is_allowed(const struct weights_gguf_value *value, const char *only)
{
    uint64_t n = value->type == GGUF_ARRAY ? value->n : 1;
    if (value->type == GGUF_TEXT)
        return weights_keys_hold(only, '|', view_of((const char *)value->at, value->n_bytes));
    for (uint64_t i = 0; i < n; i++) {
        double number;
        if (!number_of(value, i, &number) || !weights_keys_allow(only, number))
            return false;
    }
    return true;
}

static void print_value(const struct weights_gguf_value *value, char *text, size_t n_bytes)
{
    double number;
    int n = (int)(value->n_bytes < 40 ? value->n_bytes : 40);
    if (value->type == GGUF_TEXT && utf8_is_valid(view_of((const char *)value->at, (size_t)n)))
        snprintf(text, n_bytes, "\"%.*s\"", n, (const char *)value->at);
    else if (value->type == GGUF_BOOL)
        snprintf(text, n_bytes, "%s", value->at[0] != 0 ? "true" : "false");
    else if (value->type != GGUF_ARRAY && number_of(value, 0, &number))
        snprintf(text, n_bytes, "%g", number);
    else
        snprintf(text, n_bytes, "%s", weights_gguf_meta_type(value->type));
}

/* Returns the key without the architecture's name; empty when it begins differently. */
static struct view rest_of(struct view key, const char *architecture)
{
    size_t n = strlen(architecture);
    bool is_ours = key.n > n && view_starts(key, architecture) && key.at[n] == '.';
    return is_ours ? view_of(key.at + n + 1, key.n - n - 1) : view_of("", 0);
}

enum status weights_gguf_keys_check(const struct weights_gguf *gguf, const char *prefix,
                                    const char *family, struct fault *fault)
{
    for (int32_t i = 0; i < gguf->n_values; i++) {
        const struct weights_gguf_value *value = &gguf->values[i];
        const struct weights_key *row =
            weights_keys_find(rows, view_text(family), rest_of(value->key, prefix));
        if (row == NULL || row->use != WEIGHTS_KEY_FIXED || is_allowed(value, row->only))
            continue;
        char found[96];
        print_value(value, found, sizeof(found));
        const char *only = value->type != GGUF_BOOL ? row->only
                           : row->only[0] == '1'    ? "true"
                                                    : "false";
        return fault_set(fault, STATUS_UNSUPPORTED, "%s: %s.%s is %s, and only %.*s is supported",
                         gguf->label, prefix, row->name, found, (int)strcspn(only, "|"), only);
    }
    return STATUS_OK;
}

void weights_gguf_keys_unknown(const struct weights_gguf *gguf, const char *prefix,
                               const char *family, struct pile *pile,
                               struct weights_unknown *unknown)
{
    for (int32_t i = 0; i < gguf->n_values; i++) {
        struct view key = gguf->values[i].key, rest = rest_of(key, prefix);
        if (rest.n > 0 && weights_keys_find(rows, view_text(family), rest) == NULL)
            weights_keys_unknown(unknown, pile, key);
    }
}
