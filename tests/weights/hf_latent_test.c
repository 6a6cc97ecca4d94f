/* Latent attention that config.json describes, and refusals by name. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_spec.h"
#include <math.h>

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
    "\"num_hidden_layers\":3,\"hidden_size\":64,\"num_attention_heads\":4,"                        \
    "\"intermediate_size\":96,\"max_position_embeddings\":256,\"vocab_size\":512,"                 \
    "\"moe_intermediate_size\":32,\"num_experts_per_tok\":2"
#define V2(more) "{\"model_type\":\"deepseek_v2\"," SIZES more "}"
#define V3(more) "{\"model_type\":\"deepseek_v3\",\"first_k_dense_replace\":1," SIZES more "}"
#define DIMS                                                                                       \
    ",\"kv_lora_rank\":32,\"qk_rope_head_dim\":8,\"qk_nope_head_dim\":16,"                         \
    "\"v_head_dim\":12"

static void reads_dimensions(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(spec_of(V2(DIMS ",\"q_lora_rank\":null"), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.latent.rank, 32);
    assert_int_equal(spec.latent.query_rank, 0);
    assert_int_equal(spec.latent.key_dim, 16);
    assert_int_equal(spec.latent.value_dim, 12);
    assert_int_equal(spec.head_dim, 40);
    assert_int_equal(spec.n_kv_heads, 1);
    assert_true(spec.score_divisor == 24.0f);
    assert_true(!spec.experts.is_sigmoid && spec.experts.n_groups == 1);
    /* One part of 40 numbers a layer, in 16 bits. */
    assert_int_equal(model_spec_kv_bytes_per_token(&spec, DTYPE_F16), 3 * 40 * 2);
    assert_int_equal(spec_of(V3(DIMS), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.latent.query_rank, 1536);
    assert_true(spec.experts.is_sigmoid && spec.experts.n_groups == 8);
    assert_true(spec.experts.scale == 2.5f && spec.n_ignored_layers == 1);
    assert_int_equal(spec.position, POSITION_ROPE_PAIRS);
    assert_int_equal(spec_of(V3(DIMS ",\"rope_interleave\":false"), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.position, POSITION_ROPE_HALVES);
}

static void compares_groups_as_the_method_says(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(spec_of(V2(DIMS ",\"n_group\":4,\"topk_group\":1"), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.experts.n_groups, 1);
    assert_int_equal(spec_of(V2(DIMS ",\"topk_method\":\"group_limited_greedy\",\"n_group\":4,"
                                     "\"topk_group\":1"),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(spec.experts.n_groups == 4 && spec.experts.is_group_by_best);
}

/* 1 + 0.1 * 0.8 * ln 4, to the fourth, divides the divisor. */
static void scales_scores(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    double by = pow(1 + 0.1 * 0.8 * log(4), 4);
    assert_int_equal(spec_of(V3(DIMS ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,"
                                     "\"mscale\":0.8,\"mscale_all_dim\":0.8}"),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(fabs((double)spec.score_divisor * by - 24) < 1e-4);
    assert_true(spec.rope_scaling.attention_factor == 1.0f);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum status status;
        const char *words;
    } rows[] = {
        { V2(DIMS ",\"num_key_value_heads\":2"), STATUS_UNSUPPORTED, "num_key_value_heads is 2" },
        { V3(DIMS ",\"head_dim\":16"), STATUS_UNSUPPORTED, "head_dim is 16" },
        { V3(DIMS ",\"q_lora_rank\":1"), STATUS_BAD_INPUT, "q_lora_rank" },
        { V3(",\"kv_lora_rank\":2000"), STATUS_BAD_INPUT, "the rank of keys and values" },
        { V3(",\"qk_nope_head_dim\":1000000"), STATUS_BAD_INPUT, "the unrotated part" },
        { V3(",\"v_head_dim\":1000000"), STATUS_BAD_INPUT, "the dimension of values" },
        { V3(DIMS ",\"rope_scaling\":{\"type\":\"yarn\",\"mscale_all_dim\":1}"), STATUS_BAD_INPUT,
          "no factor" },
        { V3(DIMS ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"mscale_all_dim\":1e9}"),
          STATUS_BAD_INPUT, "mscale_all_dim is 1e+09" },
        { V2(DIMS ",\"topk_method\":\"best\""), STATUS_UNSUPPORTED, "topk_method \"best\"" },
        { V3(DIMS ",\"moe_layer_freq\":2"), STATUS_UNSUPPORTED, "moe_layer_freq is 2" },
        { V3(DIMS ",\"attention_bias\":true"), STATUS_UNSUPPORTED, "attention_bias is true" },
        { V2(DIMS ",\"norm_topk_prob\":true"), STATUS_UNSUPPORTED, "norm_topk_prob is true" },
        { V2(DIMS ",\"rope_interleave\":true"), STATUS_UNSUPPORTED, "rope_interleave is true" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_spec spec;
        struct fault fault = { 0 };
        assert_refused(spec_of(rows[i].text, &spec, &fault), rows[i].status, &fault, rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_dimensions),
        cmocka_unit_test(compares_groups_as_the_method_says),
        cmocka_unit_test(scales_scores),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
