/* The keys of config.json. They are those of transformers' configuration classes for the families
 * that are loaded here, those of related families that change the mathematics, and those that
 * quantizers write. tools/model_keys.py compares the rows with the library. */
#include "weights/hf_keys.h"
#include "weights/hf_quantized.h"
#include <string.h>

#define READ  WEIGHTS_READ
#define FIXED WEIGHTS_FIXED
#define INERT WEIGHTS_INERT

#define GEMMAS    "gemma gemma2 gemma3_text"
#define DEEPSEEKS "deepseek_v2 deepseek_v3"
#define GRANITES  "granitemoe granitemoeshared"
#define MIXED     "mixtral olmoe qwen2_moe qwen3_moe gpt_oss " GRANITES " glm4_moe " DEEPSEEKS
#define BERTS     "bert roberta xlm-roberta"
#define FIRST     "llama mistral qwen2 qwen3 phi3 gemma gemma2 gemma3_text"
#define COHERES   "cohere cohere2"
#define COUNTED   "gpt_neox stablelm falcon" /* the head dimension is the width per head */
#define OTHERS    "internlm2 olmo2 olmo3 glm glm4 starcoder2 phi"
#define LATER     "granite smollm3 " COHERES " " COUNTED " " OTHERS
#define ROPED     FIRST " " LATER " " MIXED

static const struct weights_key rows[] = {
    READ(NULL, "model_type"),
    READ(NULL, "_name_or_path"),
    READ(NULL, "tie_word_embeddings"),
    READ(NULL, "sliding_window"),
    READ(NULL, "layer_types"),
    READ(NULL, "quantization_config"),
    READ(NULL, "compression_config"),
    READ(NULL, "bos_token_id"),
    READ(NULL, "eos_token_id"),
    READ(NULL, "pad_token_id"),
    READ(NULL, "architectures"),
    READ(NULL, "id2label"),
    /* Sizes and numbers. */
    READ("!chatglm", "num_hidden_layers"),
    READ(NULL, "hidden_size"),
    READ(NULL, "num_attention_heads"),
    READ("!chatglm", "max_position_embeddings"),
    READ("!chatglm", "vocab_size"),
    READ(ROPED, "num_key_value_heads"),
    READ(ROPED " " BERTS, "intermediate_size"),
    READ(ROPED, "rms_norm_eps"),
    READ(FIRST " granite smollm3 " COHERES " " OTHERS " " MIXED, "head_dim"),
    FIXED(COUNTED, "head_dim", "null"),
    READ(ROPED, "rope_theta"),
    READ(ROPED, "rope_scaling"),
    READ(ROPED, "rope_parameters"),
    READ(ROPED, "partial_rotary_factor"),
    READ(ROPED, "original_max_position_embeddings"),
    READ("llama mistral qwen2 qwen3 phi3 gemma " LATER
         " mixtral olmoe qwen2_moe qwen3_moe glm4_moe " GRANITES " " DEEPSEEKS " " BERTS,
         "hidden_act"),
    INERT("gpt_oss", "hidden_act"), /* its gate is another one */
    READ("granite " GRANITES, "embedding_multiplier"),
    READ("granite " GRANITES, "logits_scaling"),
    READ("granite " GRANITES, "residual_multiplier"),
    READ("granite " GRANITES, "attention_multiplier"),
    READ("cohere cohere2", "logit_scale"),
    READ("gpt_neox stablelm", "use_parallel_residual"),
    READ("falcon", "parallel_attn"),
    READ("falcon", "new_decoder_architecture"),
    READ("falcon", "multi_query"),
    READ("falcon", "num_ln_in_parallel_attn"),
    READ("falcon", "num_kv_heads"),
    READ("falcon", "ffn_hidden_size"),
    READ("falcon", "layer_norm_epsilon"),
    READ("falcon", "activation"),
    READ("falcon internlm2", "bias"),
    READ("smollm3", "no_rope_layers"),
    READ("smollm3", "no_rope_layer_interval"),
    READ("stablelm phi gpt_neox cohere cohere2 " BERTS, "layer_norm_eps"),
    READ("starcoder2", "norm_epsilon"),
    READ("starcoder2", "use_bias"),
    READ("stablelm", "use_qkv_bias"),
    READ("gpt_neox", "rotary_pct"),
    READ("gpt_neox", "rotary_emb_base"),
    READ("cohere2", "sliding_window_pattern"),
    READ("cohere2", "_sliding_window_pattern"),
    READ("gemma2 gemma3_text", "hidden_activation"),
    READ("gemma2 gemma3_text", "query_pre_attn_scalar"),
    READ("gemma2", "final_logit_softcapping"),
    READ("gemma2", "attn_logit_softcapping"),
    READ("gemma3_text", "rope_local_base_freq"),
    READ("gemma3_text", "sliding_window_pattern"),
    READ("llama qwen3 qwen3_moe olmoe gpt_oss glm4_moe " GRANITES
         " granite olmo2 cohere cohere2 smollm3 olmo3 glm glm4 gpt_neox " GEMMAS,
         "attention_bias"),
    READ("llama granite smollm3", "mlp_bias"),
    READ("mistral phi3 qwen2 qwen3", "use_sliding_window"),
    READ("qwen2 qwen3", "max_window_layers"),
    READ("mixtral gpt_oss " GRANITES, "num_local_experts"),
    READ("gpt_oss", "swiglu_limit"),
    FIXED("gpt_oss", "swiglu_alpha", "1.702"),
    READ("olmoe qwen2_moe qwen3_moe", "num_experts"),
    READ(MIXED, "num_experts_per_tok"),
    READ("qwen2_moe qwen3_moe glm4_moe " DEEPSEEKS, "moe_intermediate_size"),
    READ("qwen2_moe", "shared_expert_intermediate_size"),
    READ("olmoe qwen2_moe qwen3_moe glm4_moe deepseek_v3", "norm_topk_prob"),
    FIXED("deepseek_v2", "norm_topk_prob", "false|null"), /* the library ignores it */
    READ("qwen2_moe", "qkv_bias"),
    READ("qwen2_moe qwen3_moe", "decoder_sparse_step"),
    READ("qwen2_moe qwen3_moe", "mlp_only_layers"),
    READ("granitemoeshared", "shared_intermediate_size"),
    READ("glm4_moe " DEEPSEEKS, "n_routed_experts"),
    READ("glm4_moe " DEEPSEEKS, "n_shared_experts"),
    READ("glm4_moe " DEEPSEEKS, "n_group"),
    READ("glm4_moe " DEEPSEEKS, "topk_group"),
    READ("glm4_moe " DEEPSEEKS, "first_k_dense_replace"),
    READ("glm4_moe " DEEPSEEKS, "num_nextn_predict_layers"),
    READ("glm4_moe " DEEPSEEKS, "routed_scaling_factor"),
    READ("glm4_moe", "use_qk_norm"),
    READ(DEEPSEEKS, "kv_lora_rank"),
    READ(DEEPSEEKS, "q_lora_rank"),
    READ(DEEPSEEKS, "qk_rope_head_dim"),
    READ(DEEPSEEKS, "qk_nope_head_dim"),
    READ(DEEPSEEKS, "v_head_dim"),
    READ("deepseek_v2", "topk_method"),
    READ("deepseek_v3", "rope_interleave"),
    FIXED("deepseek_v3", "topk_method", "noaux_tc|null"),
    FIXED("deepseek_v3", "scoring_func", "sigmoid|null"),
    FIXED("deepseek_v2", "scoring_func", "softmax|null"),
    FIXED(DEEPSEEKS, "moe_layer_freq", "1|null"),
    FIXED(DEEPSEEKS, "attention_bias", "false|null"),
    INERT(DEEPSEEKS, "aux_loss_alpha"), /* training */
    INERT(DEEPSEEKS, "seq_aux"),
    INERT(DEEPSEEKS, "ep_size"),
    INERT(DEEPSEEKS, "qk_head_dim"), /* the library's sum of two others */
    FIXED("glm4_moe " DEEPSEEKS, "num_mtp_layers",
          "null"), /* another name of num_nextn_predict_layers */
    READ("gpt2", "n_layer"),
    READ("gpt2", "n_embd"),
    READ("gpt2", "n_head"),
    READ("gpt2", "n_inner"),
    READ("gpt2", "n_positions"),
    READ("gpt2", "layer_norm_epsilon"),
    READ("gpt2 opt", "activation_function"),
    READ("opt", "ffn_dim"),
    READ("opt", "word_embed_proj_dim"),
    READ("opt", "enable_bias"),
    READ("chatglm", "num_layers"),
    READ("chatglm", "multi_query_attention"),
    READ("chatglm", "multi_query_group_num"),
    READ("chatglm", "ffn_hidden_size"),
    READ("chatglm", "kv_channels"),
    READ("chatglm", "seq_length"),
    READ("chatglm", "padded_vocab_size"),
    READ("chatglm", "layernorm_epsilon"),
    READ("chatglm", "rope_ratio"),
    READ("chatglm", "add_qkv_bias"),
    READ(BERTS, "type_vocab_size"),
    FIXED(BERTS, "position_embedding_type", "absolute|null"),
    FIXED(BERTS, "is_decoder", "false|null"),
    /* Keys of the families themselves that change the mathematics. */
    FIXED(NULL, "is_causal", "true"),
    FIXED(NULL, "use_bidirectional_attention", "false|null"),
    FIXED(NULL, "is_encoder_decoder", "false|null"),
    FIXED(NULL, "add_cross_attention", "false|null"),
    FIXED(NULL, "pruned_heads", "null|{}"),
    FIXED(NULL, "per_layer_config", "null|{}"),
    FIXED("gpt2", "scale_attn_weights", "true"),
    FIXED("gpt2", "scale_attn_by_inverse_layer_idx", "false|null"),
    FIXED("opt", "do_layer_norm_before", "true"),
    FIXED("opt", "_remove_final_layer_norm", "false|null"),
    FIXED("opt", "layer_norm_elementwise_affine", "true"),
    FIXED("chatglm", "rmsnorm", "true"),
    FIXED("chatglm", "post_layer_norm", "true"),
    FIXED("chatglm", "apply_residual_connection_post_layernorm", "false|null"),
    FIXED("chatglm", "add_bias_linear", "false|null"),
    FIXED("chatglm", "pre_seq_len", "null"),
    FIXED("chatglm", "quantization_bit", "0|null"),
    FIXED("chatglm", "interleaved_qkv", "false|null"),
    FIXED("chatglm", "rope_scaling", "null|{}"),
    FIXED("chatglm", "rope_parameters", "null|{}"),
    FIXED("phi3 qwen2 mistral qwen2_moe mixtral starcoder2 stablelm falcon internlm2",
          "attention_bias", "false|null"),
    FIXED("phi3 qwen2 qwen3 mistral olmo2 olmo3 cohere cohere2 glm glm4 starcoder2 stablelm phi "
          "gpt_neox "
          "falcon internlm2 " MIXED " " GEMMAS,
          "mlp_bias", "false|null"),
    FIXED("smollm3", "use_sliding_window", "false|null"),
    FIXED("qwen2_moe qwen3_moe", "use_sliding_window", "false|null"),

    FIXED("phi3", "lm_head_bias", "false|null"),
    FIXED("phi3", "full_attn_mod", "1|null"),
    FIXED("phi3", "interpolate_factor", "1|null"),
    /* Keys of related families (Gemma 2, Granite, Cohere, MiniCPM, OLMo, Falcon, Llama 4, mixtures
     * of experts). The classes of these families would ignore them, so such a file is for another
     * family. */
    FIXED("!gemma2", "final_logit_softcapping", "null"),
    FIXED("!gemma2", "attn_logit_softcapping", "null"),
    FIXED("llama mistral qwen2 qwen3 phi3 gemma " LATER " " MIXED, "query_pre_attn_scalar", "null"),
    FIXED("!granite " GRANITES, "logits_scaling", "1|null"),
    FIXED("!" COHERES, "logit_scale", "1|null"),
    FIXED("!granite " GRANITES, "residual_multiplier", "1|null"),
    FIXED("!granite " GRANITES, "embedding_multiplier", "1|null"),
    FIXED("!granite " GRANITES, "attention_multiplier", "null"),
    FIXED(NULL, "scale_emb", "1|null"),
    FIXED(NULL, "scale_depth", "null"),
    FIXED(NULL, "dim_model_base", "null"),
    FIXED(NULL, "clip_qkv", "null"),
    FIXED("!glm4_moe", "use_qk_norm", "false|null"),
    FIXED(NULL, "qk_layernorm", "false|null"),
    FIXED(NULL, "alibi", "false|null"),
    FIXED("!falcon", "parallel_attn", "false|null"),
    FIXED("!gpt_neox stablelm", "use_parallel_residual", "false|null"),
    FIXED("!deepseek_v3", "rope_interleave", "false|null"),
    FIXED("!smollm3", "no_rope_layers", "null|[]"),
    FIXED("!smollm3", "no_rope_layer_interval", "0|null"),
    FIXED(NULL, "attention_chunk_size", "null"),
    FIXED(NULL, "kv_sharing_modes", "null"),
    FIXED("mixtral gpt_oss " GRANITES, "norm_topk_prob", "true|null"),
    FIXED("!olmoe qwen2_moe qwen3_moe", "num_experts", "0|null"),
    FIXED("!mixtral gpt_oss " GRANITES, "num_local_experts", "0|null"),
    FIXED("!glm4_moe " DEEPSEEKS, "n_routed_experts", "0|null"),
    FIXED(NULL, "quantization", "null"), /* MLX */
    FIXED(NULL, "vision_config", "null"),
    FIXED(NULL, "audio_config", "null"),
    /* Keys without influence: training, classifiers, generation, and how the library computes. */
    INERT(NULL, "_attn_implementation"),
    INERT(NULL, "_attn_implementation_autoset"),
    INERT(NULL, "_commit_hash"),
    INERT(NULL, "attention_dropout"),
    INERT(NULL, "attn_implementation"),
    INERT(NULL, "auto_map"),
    INERT(NULL, "bad_words_ids"),
    INERT(NULL, "begin_suppress_tokens"),
    INERT(NULL, "chunk_size_feed_forward"),
    INERT(NULL, "classifier_dropout"),
    INERT(NULL, "cross_attention_hidden_size"),
    INERT(NULL, "decoder_start_token_id"),
    INERT(NULL, "diversity_penalty"),
    INERT(NULL, "do_sample"),
    INERT(NULL, "dtype"),
    INERT(NULL, "early_stopping"),
    INERT(NULL, "encoder_no_repeat_ngram_size"),
    INERT(NULL, "exponential_decay_length_penalty"),
    INERT(NULL, "finetuning_task"),
    INERT(NULL, "forced_bos_token_id"),
    INERT(NULL, "forced_eos_token_id"),
    INERT(NULL, "gradient_checkpointing"),
    INERT(NULL, "initializer_range"),
    INERT("!" BERTS, "is_decoder"),
    INERT(NULL, "label2id"),
    INERT(NULL, "length_penalty"),
    INERT(NULL, "max_length"),
    INERT(NULL, "min_length"),
    INERT(NULL, "name_or_path"),
    INERT(NULL, "no_repeat_ngram_size"),
    INERT(NULL, "num_beam_groups"),
    INERT(NULL, "num_beams"),
    INERT(NULL, "num_labels"),
    INERT(NULL, "num_return_sequences"),
    INERT(NULL, "output_attentions"),
    INERT(NULL, "output_hidden_states"),
    INERT(NULL, "output_scores"),
    INERT(NULL, "prefix"),
    INERT(NULL, "problem_type"),
    INERT(NULL, "remove_invalid_values"),
    INERT(NULL, "repetition_penalty"),
    INERT(NULL, "return_dict"),
    INERT(NULL, "return_dict_in_generate"),
    INERT(NULL, "sep_token_id"),
    INERT(NULL, "suppress_tokens"),
    INERT(NULL, "task_specific_params"),
    INERT(NULL, "temperature"),
    INERT(NULL, "tf_legacy_loss"),
    INERT(NULL, "tie_encoder_decoder"),
    INERT(NULL, "tokenizer_class"),
    INERT(NULL, "top_k"),
    INERT(NULL, "top_p"),
    INERT(NULL, "torch_dtype"),
    INERT(NULL, "torchscript"),
    INERT(NULL, "transformers_version"),
    INERT(NULL, "typical_p"),
    INERT(NULL, "unsloth_fixed"),
    INERT(NULL, "unsloth_version"),
    INERT(NULL, "use_bfloat16"),
    INERT(NULL, "use_cache"),
    INERT("llama mistral qwen2 qwen3 internlm2 " DEEPSEEKS, "pretraining_tp"),
    INERT("stablelm phi gpt_neox falcon", "hidden_dropout"),
    INERT(BERTS, "hidden_dropout_prob"),
    INERT(BERTS, "attention_probs_dropout_prob"),
    INERT(BERTS, "classifier_activation"),
    INERT(BERTS, "sentence_transformers"),
    INERT("starcoder2", "residual_dropout"),
    INERT("starcoder2", "embedding_dropout"),
    INERT("cohere2", "cache_implementation"),
    FIXED("gpt_oss gemma2", "sliding_window_pattern", "2|null"),
    FIXED("olmo3", "sliding_window_pattern", "4|null"),
    INERT("gemma2", "hidden_act"), /* the library uses hidden_activation */
    INERT("gemma2", "cache_implementation"),
    INERT("gpt_oss", "experts_per_token"), /* other names, which the library ignores */
    INERT("gpt_oss", "initial_context_length"),
    INERT(MIXED, "output_router_logits"),
    INERT(MIXED, "router_aux_loss_coef"),
    INERT("mixtral", "router_jitter_noise"), /* training */
    INERT("qwen2_moe qwen3_moe", "max_window_layers"),
    INERT("phi3 gpt2 phi", "embd_pdrop"),
    INERT("phi3 gpt2 phi", "resid_pdrop"),
    INERT("gemma", "hidden_activation"),             /* the library uses hidden_act */
    INERT("gemma3_text", "_sliding_window_pattern"), /* the library writes layer_types beside it */
    INERT("gemma3_text", "cache_implementation"),
    INERT("gpt2", "attn_pdrop"),
    INERT("gpt2", "n_ctx"),
    INERT("gpt2", "reorder_and_upcast_attn"), /* the order of operations in half precision */
    INERT("gpt2", "summary_activation"),
    INERT("gpt2", "summary_first_dropout"),
    INERT("gpt2", "summary_proj_to_labels"),
    INERT("gpt2", "summary_type"),
    INERT("gpt2", "summary_use_proj"),
    INERT("opt", "activation_dropout"),
    INERT("opt", "dropout"),
    INERT("opt", "init_std"),
    INERT("opt", "layerdrop"),
    INERT("chatglm", "apply_query_key_layer_scaling"), /* divides, then multiplies by the same */
    INERT("chatglm", "attention_softmax_in_fp32"),
    INERT("chatglm", "bias_dropout_fusion"),
    INERT("chatglm", "fp32_residual_connection"),
    INERT("chatglm", "hidden_dropout"),
    INERT("chatglm", "original_rope"),
    INERT("chatglm", "prefix_projection"),
    INERT("chatglm", "vocab_size"),
    { NULL, NULL, NULL, 0 },
};

const struct weights_key *weights_hf_keys(void)
{
    return rows;
}

/* Returns whether the value is one of those that the row allows. */
static bool is_allowed(const struct weights_json_node *value, const char *only)
{
    char text[96];
    double number;
    bool is_empty = value->n == 0;
    switch ((enum weights_json_kind)value->kind) {
    case WEIGHTS_JSON_INTEGER:
    case WEIGHTS_JSON_REAL:
        return weights_json_to_f64(value, &number) && weights_keys_allow(only, number);
    case WEIGHTS_JSON_ARRAY:
        return is_empty && weights_keys_hold(only, '|', view_text("[]"));
    case WEIGHTS_JSON_OBJECT:
        return is_empty && weights_keys_hold(only, '|', view_text("{}"));
    case WEIGHTS_JSON_NULL:
    case WEIGHTS_JSON_FALSE:
    case WEIGHTS_JSON_TRUE:
        weights_json_print(value, text, sizeof(text));
        return weights_keys_hold(only, '|', view_text(text));
    case WEIGHTS_JSON_TEXT:
        return weights_keys_hold(only, '|', view_of(value->text, value->n));
    default:
        return false;
    }
}

enum status weights_hf_keys_check(const struct weights_json_from *config, const char *family)
{
    struct weights_quantization quantization;
    enum status status = weights_hf_quantized(config, family, &quantization);
    if (status != STATUS_OK)
        return status;
    for (const struct weights_key *row = rows; row->name != NULL; row++) {
        const struct weights_json_node *value = weights_json_member(config->object, row->name);
        if (value == NULL || row->use != WEIGHTS_KEY_FIXED ||
            !weights_keys_are_of(row->families, view_text(family)) || is_allowed(value, row->only))
            continue;
        char found[96];
        weights_json_print(value, found, sizeof(found));
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: %s is %s, and %s supports only %.*s", row->name, found,
                         family, (int)strcspn(row->only, "|"), row->only);
    }
    return STATUS_OK;
}

void weights_hf_keys_unknown(const struct weights_json_node *config, const char *family,
                             struct pile *pile, struct weights_unknown *unknown)
{
    const struct weights_json_node *member = config + 1;
    for (uint32_t i = 0; i < config->n; i++, member = weights_json_next(member)) {
        struct view name = view_of(member->key, member->key_bytes);
        if (weights_keys_find(rows, view_text(family), name) == NULL)
            weights_keys_unknown(unknown, pile, name);
    }
}
