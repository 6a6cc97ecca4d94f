/* config.json of every architecture, and refusals by name. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_spec.h"

static enum status spec_of(const char *text, struct model_spec *spec, struct fault *fault)
{
    struct weights_json json;
    const struct weights_architecture *architecture;
    assert_int_equal(
        weights_json_parse(&json, mem_copy_text(text), strlen(text), "config.json", fault),
        STATUS_OK);
    enum status status = weights_hf_spec(json.nodes, spec, &architecture, fault);
    weights_json_close(&json);
    return status;
}

#define SIZES                                                                                      \
    "\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_heads\":4,"                        \
    "\"intermediate_size\":96,\"max_position_embeddings\":256,\"vocab_size\":512"
#define LLAMA(more) "{\"model_type\":\"llama\"," SIZES more "}"
#define KIN(family, more)                                                                          \
    "{\"model_type\":\"" family "\",\"num_hidden_layers\":2,\"hidden_size\":64,"                   \
    "\"num_attention_heads\":32,\"intermediate_size\":96,\"max_position_embeddings\":256,"         \
    "\"vocab_size\":512" more "}"
#define MOE(type, more)                                                                            \
    "{\"model_type\":\"" type "\"," SIZES ",\"moe_intermediate_size\":32" more "}"
#define GEMMA(more)  "{\"model_type\":\"gemma\",\"num_key_value_heads\":1," SIZES more "}"
#define GEMMA3(more) "{\"model_type\":\"gemma3_text\",\"num_key_value_heads\":1," SIZES more "}"
#define OPT(more)                                                                                  \
    "{\"model_type\":\"opt\",\"num_hidden_layers\":2,\"hidden_size\":64,"                          \
    "\"num_attention_heads\":4,\"ffn_dim\":96,\"max_position_embeddings\":256,"                    \
    "\"vocab_size\":512" more "}"
#define GPT2(more)                                                                                 \
    "{\"model_type\":\"gpt2\",\"n_layer\":2,\"n_embd\":64,\"n_head\":4,\"n_positions\":256,"       \
    "\"vocab_size\":512" more "}"
#define CHATGLM(more)                                                                              \
    "{\"model_type\":\"chatglm\",\"num_layers\":2,\"hidden_size\":64,"                             \
    "\"num_attention_heads\":4,\"kv_channels\":16,\"ffn_hidden_size\":96,"                         \
    "\"seq_length\":256,\"padded_vocab_size\":512" more "}"

static void reads_llama(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(spec_of(LLAMA(""), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.n_kv_heads, 4);
    assert_int_equal(spec.head_dim, 16);
    assert_int_equal(spec.position, POSITION_ROPE_HALVES);
    assert_true(spec.rope_base == 10000.0f && !spec.is_tied && spec.norm_epsilon == 1e-6f);
    assert_int_equal(spec_of(LLAMA(",\"num_key_value_heads\":2,\"head_dim\":32,"
                                   "\"rope_theta\":500000.0,\"tie_word_embeddings\":true,"
                                   "\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"rope_type\":"
                                   "\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,"
                                   "\"high_freq_factor\":4.0,"
                                   "\"original_max_position_embeddings\":128}"),
                             &spec, &fault),
                     STATUS_OK);
    assert_int_equal(spec.rope_scaling.kind, ROPE_SCALING_LLAMA3);
    assert_int_equal(spec.rope_scaling.n_positions_original, 128);
    assert_true(spec.rope_scaling.factor == 8.0f && spec.is_tied);
    assert_int_equal(spec.n_rope_dims, 32);
    assert_int_equal(
        spec_of(LLAMA(",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}"), &spec, &fault),
        STATUS_OK);
    assert_int_equal(spec.rope_scaling.kind, ROPE_SCALING_LINEAR);
    assert_int_equal(spec_of(LLAMA(",\"rope_parameters\":{\"rope_type\":\"default\","
                                   "\"rope_theta\":250000.0}"),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(spec.rope_base == 250000.0f && spec.rope_scaling.kind == ROPE_SCALING_NONE);
}

static void reads_the_others(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(
        spec_of("{\"model_type\":\"qwen3\",\"num_key_value_heads\":2," SIZES "}", &spec, &fault),
        STATUS_OK);
    assert_true(spec.has_qk_norm && spec.head_dim == 128);
    assert_int_equal(spec_of(OPT(""), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.position_offset, 2);
    assert_int_equal(spec.act, ACT_RELU);
    assert_true(spec.norm == NORM_LAYER && spec.is_tied && spec.position == POSITION_LEARNED);
    assert_int_equal(spec_of(GPT2(",\"n_inner\":null"), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.ffn_width, 256);
    assert_int_equal(spec.act, ACT_GELU_TANH);
    assert_int_equal(
        spec_of(GPT2(",\"n_inner\":100,\"activation_function\":\"gelu\""), &spec, &fault),
        STATUS_OK);
    assert_int_equal(spec.ffn_width, 100);
    assert_int_equal(spec.act, ACT_GELU_ERF);
    assert_int_equal(spec_of(CHATGLM(",\"multi_query_attention\":true,"
                                     "\"multi_query_group_num\":2,\"rope_ratio\":4,"
                                     "\"_name_or_path\":\"THUDM/chatglm3-6b-32k\""),
                             &spec, &fault),
                     STATUS_OK);
    assert_int_equal(spec.n_kv_heads, 2);
    assert_int_equal(spec_of(CHATGLM(",\"multi_query_attention\":true"), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.n_kv_heads, 1);
    assert_int_equal(spec_of(CHATGLM(",\"rope_theta\":7,\"rope_ratio\":4,"
                                     "\"_name_or_path\":\"/models/ChatGLM2-6b-32k\""),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(spec.rope_scaling.kind == ROPE_SCALING_LINEAR && spec.rope_scaling.factor == 4);
    assert_true(spec.rope_base == 10000);
    assert_int_equal(
        spec_of(CHATGLM(",\"rope_ratio\":4,\"_name_or_path\":\"zai/glm-4-9b\""), &spec, &fault),
        STATUS_OK);
    assert_int_equal(spec.n_rope_dims, 8);
    assert_int_equal(spec.position, POSITION_ROPE_PAIRS);
    assert_true(spec.rope_base == 40000.0f);
    assert_int_equal(spec_of(CHATGLM(",\"multi_query_group_num\":2"), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.n_kv_heads, 4);
}

static void reads_gemma(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(spec_of(GEMMA(",\"hidden_act\":\"gelu\""), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.act, ACT_GELU_TANH); /* as the library reads it */
    assert_int_equal(spec_of(GEMMA(",\"hidden_act\":\"gelu_python\""), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.act, ACT_GELU_ERF);
    assert_int_equal(spec.head_dim, 256);
    assert_true(spec.is_tied && spec.embedding_scale == 8.0f && !spec.has_qk_norm);
    assert_true(spec.score_divisor == 0 && !spec.has_post_norms && spec.n_full_layers == 0);
}

static void reads_gemma3(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(spec_of(GEMMA3(",\"hidden_activation\":\"gelu\""), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.act, ACT_GELU_ERF);
    assert_int_equal(spec_of(GEMMA3(",\"sliding_window\":16,\"sliding_window_pattern\":2,"
                                    "\"query_pre_attn_scalar\":168,\"head_dim\":32,"
                                    "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8}"),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(spec.has_qk_norm && spec.has_post_norms && spec.embedding_scale == 8.0f);
    assert_int_equal(spec.act, ACT_GELU_TANH);
    assert_int_equal(spec.n_full_layers, 1);
    assert_int_equal(model_spec_window(&spec, 0), 16);
    assert_int_equal(model_spec_window(&spec, 1), 0);
    assert_int_equal(spec.kv_groups[0].window, 0);
    assert_true(spec.rope_base == 1e4f && spec.rope_base_full == 1e6f);
    assert_int_equal(spec.rope_scaling.kind, ROPE_SCALING_NONE);
    assert_true(spec.rope_scaling_full.factor == 8.0f && spec.score_divisor == 168);
}

/* The library's values for absent keys and for null. */
static void takes_the_usual(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int n_kv_heads, head_dim;
        bool is_tied;
        float epsilon;
    } rows[] = {
        { KIN("llama", ""), 32, 2, false, 1e-6f },
        { KIN("mistral", ""), 8, 2, false, 1e-6f },
        { KIN("mistral", ",\"num_key_value_heads\":null"), 32, 2, false, 1e-6f },
        { KIN("qwen2", ""), 32, 2, false, 1e-6f },
        { KIN("qwen3", ""), 32, 128, false, 1e-6f },
        { KIN("phi3", ""), 32, 2, false, 1e-5f },
        { KIN("phi3", ",\"head_dim\":null"), 32, 2, false, 1e-5f },
        { KIN("gemma", ""), 16, 256, true, 1e-6f },
        { KIN("gemma3_text", ""), 4, 256, true, 1e-6f },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_spec spec;
        struct fault fault = { 0 };
        assert_int_equal(spec_of(rows[i].text, &spec, &fault), STATUS_OK);
        assert_int_equal(spec.n_kv_heads, rows[i].n_kv_heads);
        assert_int_equal(spec.head_dim, rows[i].head_dim);
        assert_true(spec.is_tied == rows[i].is_tied && spec.norm_epsilon == rows[i].epsilon);
    }
}

struct refusal {
    const char *text;
    enum status status;
    const char *words;
};

static void check_refusals(const struct refusal *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct model_spec spec;
        struct fault fault = { 0 };
        assert_refused(spec_of(rows[i].text, &spec, &fault), rows[i].status, &fault, rows[i].words);
    }
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct refusal rows[] = {
        { "[]", STATUS_BAD_INPUT, "not an object" },
        { "{}", STATUS_BAD_INPUT, "model_type is missing" },
        { "{\"model_type\":\"mamba\"}", STATUS_UNSUPPORTED, "model_type \"mamba\"" },
        { "{\"model_type\":1}", STATUS_BAD_INPUT, "model_type isn't a text" },
        { "{\"model_type\":\"llama\"}", STATUS_BAD_INPUT, "num_hidden_layers is missing" },
        { LLAMA(",\"num_key_value_heads\":3"), STATUS_BAD_INPUT, "4 heads can't share 3 KV" },
        { LLAMA(",\"num_key_value_heads\":\"2\""), STATUS_BAD_INPUT, "num_key_value_heads isn't" },
        { LLAMA(",\"head_dim\":-4"), STATUS_BAD_INPUT, "head_dim is -4" },
        { LLAMA(",\"hidden_act\":\"mish\""), STATUS_UNSUPPORTED, "hidden_act \"mish\"" },
        { LLAMA(",\"quantization_config\":{}"), STATUS_UNSUPPORTED,
          "quantization_config asks for quantized weights (no quant_method)" },
        { LLAMA(",\"quantization_config\":{\"bits\":4,\"quant_method\":\"hqq\"}"),
          STATUS_UNSUPPORTED, "quantization_config asks for quantized weights (\"hqq\")" },
        { LLAMA(",\"compression_config\":{\"quant_method\":\"compressed-tensors\"}"),
          STATUS_UNSUPPORTED, "compression_config: config_groups is absent" },
        { LLAMA(",\"is_causal\":false"), STATUS_UNSUPPORTED,
          "is_causal is false, and llama supports only true" },
        { LLAMA(",\"is_causal\":null"), STATUS_UNSUPPORTED, "is_causal is null" },
        { "{\"model_type\":\"mistral\"," SIZES ",\"logits_scaling\":8}", STATUS_UNSUPPORTED,
          "logits_scaling is 8, and mistral supports only 1" },
        { GPT2(",\"num_hidden_layers\":1"), STATUS_BAD_INPUT,
          "n_layer is 2 and num_hidden_layers is 1" },
        { "{\"model_type\":\"gemma2\"," SIZES ",\"attn_logit_softcapping\":0}", STATUS_BAD_INPUT,
          "attn_logit_softcapping is 0" },
        { "{\"model_type\":\"gemma3\"," SIZES "}", STATUS_UNSUPPORTED, "\"gemma3\"" },
        { GEMMA(",\"hidden_act\":\"tanh\""), STATUS_UNSUPPORTED, "hidden_act \"tanh\"" },
        { GEMMA3(",\"use_bidirectional_attention\":true"), STATUS_UNSUPPORTED,
          "use_bidirectional_attention is true" },
        { GEMMA3(",\"final_logit_softcapping\":30.0"), STATUS_UNSUPPORTED,
          "final_logit_softcapping is 30.0" },
        { GEMMA3(",\"attn_logit_softcapping\":0"), STATUS_UNSUPPORTED,
          "attn_logit_softcapping is 0" },
        { GEMMA3(",\"query_pre_attn_scalar\":0"), STATUS_BAD_INPUT, "query_pre_attn_scalar" },
        { GEMMA3(",\"query_pre_attn_scalar\":-1"), STATUS_BAD_INPUT, "query_pre_attn_scalar" },
        { GEMMA3(",\"query_pre_attn_scalar\":1e30"), STATUS_BAD_INPUT, "divisor of scores" },
        { OPT(",\"do_layer_norm_before\":false"), STATUS_UNSUPPORTED,
          "do_layer_norm_before is false" },
        { OPT(",\"word_embed_proj_dim\":32"), STATUS_UNSUPPORTED, "project_in" },
        { OPT(",\"_remove_final_layer_norm\":true"), STATUS_UNSUPPORTED, "final_layer_norm" },
        { GPT2(",\"scale_attn_by_inverse_layer_idx\":true"), STATUS_UNSUPPORTED,
          "scale_attn_by_inverse_layer_idx is true" },
        { CHATGLM(",\"rope_ratio\":4"), STATUS_UNSUPPORTED, "rope_ratio is 4, which means one" },
        { CHATGLM(",\"rmsnorm\":false"), STATUS_UNSUPPORTED, "rmsnorm is false" },
        { CHATGLM(",\"post_layer_norm\":3"), STATUS_UNSUPPORTED, "post_layer_norm is 3" },
    };
    check_refusals(rows, COUNT_OF(rows));
}

static void refuses_mixtures_by_name(void **state)
{
    (void)state;
    static const struct refusal rows[] = {
        { MOE("qwen3_moe", ",\"mlp_only_layers\":[2]"), STATUS_BAD_INPUT, "mlp_only_layers" },
        { MOE("qwen3_moe", ",\"mlp_only_layers\":1"), STATUS_BAD_INPUT, "isn't a list" },
        { MOE("qwen3_moe", ",\"decoder_sparse_step\":0"), STATUS_BAD_INPUT, "decoder_sparse_step" },
        { MOE("qwen3_moe", ",\"decoder_sparse_step\":9"), STATUS_UNSUPPORTED,
          "no layer has experts" },
        { MOE("glm4_moe", ",\"num_key_value_heads\":2,\"n_group\":5"), STATUS_BAD_INPUT,
          "equal groups" },
        { MOE("glm4_moe", ",\"num_key_value_heads\":2,\"n_group\":4,\"topk_group\":5"),
          STATUS_BAD_INPUT, "groups that a" },
        { MOE("glm4_moe", ",\"num_key_value_heads\":2,\"n_group\":32,\"topk_group\":1"),
          STATUS_BAD_INPUT, "groups that a" },
        { MOE("glm4_moe", ",\"routed_scaling_factor\":0"), STATUS_BAD_INPUT,
          "routed_scaling_factor is 0" },
        { MOE("granitemoe", ",\"attention_multiplier\":1e30"), STATUS_BAD_INPUT,
          "attention_multiplier is 1e+30" },
        { MOE("gpt_oss", ",\"num_key_value_heads\":2,\"swiglu_limit\":0"), STATUS_BAD_INPUT,
          "limit of gates is 0" },
        { MOE("gpt_oss",
              ",\"num_key_value_heads\":2,\"quantization_config\":{\"quant_method\":\"hqq\"}"),
          STATUS_UNSUPPORTED, "\"hqq\"" },
        { MOE("qwen3_moe", ",\"quantization_config\":{\"quant_method\":\"mxfp4\"}"),
          STATUS_UNSUPPORTED, "\"mxfp4\"" },
    };
    check_refusals(rows, COUNT_OF(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_llama),
        cmocka_unit_test(takes_the_usual),
        cmocka_unit_test(reads_the_others),
        cmocka_unit_test(reads_gemma),
        cmocka_unit_test(reads_gemma3),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(refuses_mixtures_by_name),
    };
    return cmocka_run_group_tests_name("weights/hf_spec", tests, NULL, NULL);
}
