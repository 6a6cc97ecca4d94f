/* Specs from GGUF metadata, and refusals. */
#include "weights/refused.h"
#include "weights/build.h"
#include "weights/gguf_spec.h"
#include <math.h>

static enum status spec_of(struct build *b, struct model_spec *spec, struct fault *fault)
{
    struct weights_gguf gguf;
    const struct weights_architecture *architecture;
    size_t n;
    unsigned char *bytes = build_end(b, &n);
    assert_int_equal(weights_gguf_read(&gguf, bytes, n, fault), STATUS_OK);
    enum status status = weights_gguf_spec(&gguf, spec, &architecture, fault);
    weights_gguf_close(&gguf);
    mem_give(bytes);
    build_free(b);
    return status;
}

static void reads_llama(void **state)
{
    (void)state;
    struct build b;
    struct model_spec spec;
    struct fault fault = { 0 };
    build_init(&b);
    build_llama_values(&b);
    build_llama_tensors(&b);
    assert_int_equal(spec_of(&b, &spec, &fault), STATUS_OK);
    assert_string_equal(spec.architecture, "llama");
    assert_int_equal(spec.n_layers, 1);
    assert_int_equal(spec.width, BUILD_WIDTH);
    assert_int_equal(spec.n_heads, 4);
    assert_int_equal(spec.n_kv_heads, 2);
    assert_int_equal(spec.head_dim, 4);
    assert_int_equal(spec.ffn_width, BUILD_FFN);
    assert_int_equal(spec.n_vocabulary, BUILD_TOKENS);
    assert_int_equal(spec.n_positions_max, 64);
    assert_int_equal(spec.position, POSITION_ROPE_PAIRS);
    assert_int_equal(spec.n_rope_dims, 4);
    assert_true(spec.rope_base == 500000.0f);
    assert_true(spec.norm == NORM_RMS && spec.is_gated && !spec.has_qk_norm && !spec.is_tied);
    assert_int_equal(spec.kv_groups[0].n_layers, 1);
    assert_int_equal(model_spec_kv_bytes_per_token(&spec, DTYPE_F16), 2 * 2 * 2 * 4);
}

static void ties_and_scales(void **state)
{
    (void)state;
    struct build b;
    struct model_spec spec;
    struct fault fault = { 0 };
    build_init(&b);
    b.without = "output.weight";
    build_llama_values(&b);
    build_text(&b, "llama.rope.scaling.type", "linear");
    build_f32(&b, "llama.rope.scaling.factor", 4.0f);
    build_u32(&b, "llama.attention.sliding_window", 8); /* llama.cpp ignores it */
    build_llama_tensors(&b);
    assert_int_equal(spec_of(&b, &spec, &fault), STATUS_OK);
    assert_true(spec.is_tied);
    assert_int_equal(spec.window, 0);
    assert_int_equal(spec.kv_groups[0].window, 0);
    assert_int_equal(spec.rope_scaling.kind, ROPE_SCALING_LINEAR);
    assert_true(spec.rope_scaling.factor == 4.0f);
    build_init(&b);
    build_llama_values(&b);
    build_f32(&b, "llama.rope.scale_linear", 2.0f);
    build_llama_tensors(&b);
    assert_int_equal(spec_of(&b, &spec, &fault), STATUS_OK);
    assert_int_equal(spec.rope_scaling.kind, ROPE_SCALING_LINEAR);
}

/* A llama with these keys of scaling; type NULL and numbers of 0 are left out. */
static enum status scaled(const char *type, float factor, float attention, struct model_spec *spec,
                          struct fault *fault)
{
    struct build b;
    build_init(&b);
    build_llama_values(&b);
    if (type != NULL)
        build_text(&b, "llama.rope.scaling.type", type);
    if (factor != 0)
        build_f32(&b, "llama.rope.scaling.factor", factor);
    if (attention != 0)
        build_f32(&b, "llama.rope.scaling.attn_factor", attention);
    build_u32(&b, "llama.rope.scaling.original_context_length", 16);
    build_llama_tensors(&b);
    return spec_of(&b, spec, fault);
}

/* As llama.cpp: linear without a type, none when the file has "none", and one factor on sines and
 * cosines. */
static void scales_as_llama_cpp(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    const struct rope_scaling *scaling = &spec.rope_scaling;
    assert_int_equal(scaled(NULL, 4, 0, &spec, &fault), STATUS_OK);
    assert_true(scaling->kind == ROPE_SCALING_LINEAR && scaling->factor == 4);
    assert_int_equal(scaled("none", 4, 2, &spec, &fault), STATUS_OK);
    assert_true(scaling->kind == ROPE_SCALING_NONE && scaling->attention_factor == 2);
    assert_int_equal(scaled("linear", 0, 0, &spec, &fault), STATUS_OK);
    assert_true(scaling->kind == ROPE_SCALING_NONE && scaling->attention_factor == 1);
    assert_int_equal(scaled("yarn", 4, 2, &spec, &fault), STATUS_OK);
    assert_true(scaling->kind == ROPE_SCALING_YARN && scaling->factor == 4);
    assert_true(scaling->beta_fast == 32 && scaling->beta_slow == 1);
    assert_int_equal(scaling->n_positions_original, 16);
    /* 2 (1 + 0.1 ln 4) */
    assert_true(fabs((double)scaling->attention_factor - 2.2772588722) < 1e-6);
    assert_refused(scaled("longrope", 4, 0, &spec, &fault), STATUS_UNSUPPORTED, &fault,
                   "llama.rope.scaling.type longrope is not supported");
    assert_refused(scaled("linear", 4, -1, &spec, &fault), STATUS_BAD_INPUT, &fault,
                   "llama.rope.scaling.attn_factor is -1");
}

/* Builds the keys of a gemma3 of n_layers layers. The embedding is its only tensor. */
static void build_gemma3(struct build *b, uint32_t n_layers)
{
    build_init(b);
    build_text(b, "general.architecture", "gemma3");
    build_u32(b, "gemma3.block_count", n_layers);
    build_u32(b, "gemma3.embedding_length", BUILD_WIDTH);
    build_u32(b, "gemma3.feed_forward_length", BUILD_FFN);
    build_u32(b, "gemma3.context_length", 64);
    build_u32(b, "gemma3.attention.head_count", 2);
    build_u32(b, "gemma3.attention.key_length", 4);
    build_u32(b, "gemma3.attention.value_length", 4);
    build_u32(b, "gemma3.attention.sliding_window", 8);
    build_f32(b, "gemma3.attention.layer_norm_rms_epsilon", 1e-6f);
    build_f32(b, "gemma3.rope.freq_base", 1e6f);
    build_text(b, "gemma3.rope.scaling.type", "linear");
    build_f32(b, "gemma3.rope.scaling.factor", 8.0f);
    build_tensor(b, "token_embd.weight", BUILD_WIDTH, BUILD_TOKENS);
}

static void reads_gemma3(void **state)
{
    (void)state;
    struct build b;
    struct model_spec spec;
    struct fault fault = { 0 };
    build_gemma3(&b, 7);
    assert_int_equal(spec_of(&b, &spec, &fault), STATUS_OK);
    assert_int_equal(spec.n_full_layers, 1);
    assert_true(spec.is_full_layer[5] && model_spec_window(&spec, 6) == 8);
    assert_int_equal(spec.kv_groups[0].window, 0);
    assert_true(spec.rope_base == 1e4f && spec.rope_scaling.kind == ROPE_SCALING_NONE);
    assert_true(spec.rope_base_full == 1e6f && spec.rope_scaling_full.factor == 8.0f);
    assert_true(spec.embedding_scale == 4.0f && spec.score_divisor == 4);
    assert_true(spec.has_post_norms && spec.has_qk_norm && spec.act == ACT_GELU_TANH);
    build_gemma3(&b, 62); /* the 27B: width / heads, not the head dimension */
    build_u32(&b, "gemma3.attention.sliding_window_pattern", 2);
    build_f32(&b, "gemma3.rope.freq_base_swa", 500.0f);
    assert_int_equal(spec_of(&b, &spec, &fault), STATUS_OK);
    assert_true(spec.score_divisor == 8 && spec.n_full_layers == 31 && spec.rope_base == 500.0f);
    static const int32_t has_window[] = { 1, 0, 1 };
    build_gemma3(&b, 3);
    build_i32s(&b, "gemma3.attention.sliding_window_pattern", has_window, 3);
    assert_int_equal(spec_of(&b, &spec, &fault), STATUS_OK);
    assert_true(spec.n_full_layers == 1 && spec.is_full_layer[1]);
    build_gemma3(&b, 3);
    build_i32s(&b, "gemma3.attention.sliding_window_pattern", has_window, 2);
    assert_refused(spec_of(&b, &spec, &fault), STATUS_BAD_INPUT, &fault,
                   "gemma3.attention.sliding_window_pattern lists 2 layers");
    build_gemma3(&b, 3);
    build_u32(&b, "gemma3.attention.key_length_swa", 8);
    assert_refused(spec_of(&b, &spec, &fault), STATUS_UNSUPPORTED, &fault,
                   "gemma3.attention.key_length_swa is 8");
    build_gemma3(&b, 7);
    build_f32(&b, "gemma3.final_logit_softcapping", 30.0f);
    assert_refused(spec_of(&b, &spec, &fault), STATUS_UNSUPPORTED, &fault,
                   "gemma3.final_logit_softcapping");
}

/* llama.cpp needs the key of the window for these. */
static void needs_a_window(void **state)
{
    (void)state;
    static const char *const names[] = { "gpt-oss", "cohere2" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct build b;
        struct model_spec spec;
        struct fault fault = { 0 };
        char key[96];
        build_init(&b);
        build_text(&b, "general.architecture", names[i]);
        static const char *const keys[] = { "block_count",          "embedding_length",
                                            "feed_forward_length",  "context_length",
                                            "attention.head_count", "expert_count",
                                            "expert_used_count",    "expert_feed_forward_length" };
        static const uint32_t values[] = { 2, BUILD_WIDTH, BUILD_FFN, 64, 2, 4, 2, 8 };
        for (size_t k = 0; k < (i == 0 ? COUNT_OF(keys) : 5); k++) {
            snprintf(key, sizeof(key), "%s.%s", names[i], keys[k]);
            build_u32(&b, key, values[k]);
        }
        build_tensor(&b, "token_embd.weight", BUILD_WIDTH, BUILD_TOKENS);
        assert_refused(spec_of(&b, &spec, &fault), STATUS_BAD_INPUT, &fault,
                       "attention.sliding_window is missing");
    }
}

static void names_what_is_missing(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "general.architecture",   "llama.block_count",
        "llama.embedding_length", "llama.feed_forward_length",
        "llama.context_length",   "llama.attention.head_count",
        "token_embd.weight",      "llama.attention.layer_norm_rms_epsilon",
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct build b;
        struct model_spec spec;
        struct fault fault = { 0 };
        build_init(&b);
        b.without = keys[i];
        build_llama_values(&b);
        build_llama_tensors(&b);
        assert_refused(spec_of(&b, &spec, &fault), STATUS_BAD_INPUT, &fault, keys[i]);
        assert_non_null(strstr(fault.text, "is missing"));
    }
}

static void add_experts(struct build *b)
{
    build_u32(b, "llama.expert_count", 8);
}
static void add_scaling(struct build *b)
{
    build_text(b, "llama.rope.scaling.type", "dynamic");
}
static void add_beta(struct build *b)
{
    build_f32(b, "llama.rope.scaling.yarn_beta_fast", 16);
}
static void add_acausal(struct build *b)
{
    build_bool(b, "llama.attention.causal", false);
}
static void add_scale(struct build *b)
{
    build_f32(b, "llama.logit_scale", 0.25f);
}
static void add_alibi(struct build *b)
{
    build_f32(b, "llama.attention.max_alibi_bias", 8);
}
static void add_next_tokens(struct build *b)
{
    build_u32(b, "llama.nextn_predict_layers", 1);
}
static void add_sections(struct build *b)
{
    static const int32_t sections[] = { 2, 1, 1, 0 };
    build_i32s(b, "llama.rope.dimension_sections", sections, 4);
}
static void add_activation(struct build *b)
{
    build_text(b, "llama.hidden_activation", "gelu");
}
static void add_adapter(struct build *b)
{
    build_text(b, "general.type", "adapter");
}
static void add_mistral(struct build *b)
{
    b->values.n = 0;
    b->n_values = 0;
    build_text(b, "general.architecture", "mistral");
}
static void add_values(struct build *b)
{
    build_u32(b, "llama.attention.key_length", 4);
    build_u32(b, "llama.attention.value_length", 8);
}
static void add_layers(struct build *b)
{
    b->values.n = 0;
    b->n_values = 0;
    b->without = "llama.block_count";
    build_llama_values(b);
    b->without = NULL;
    build_u32(b, "llama.block_count", 100000);
}
static void add_heads(struct build *b)
{
    b->values.n = 0;
    b->n_values = 0;
    b->without = "llama.attention.head_count";
    build_llama_values(b);
    b->without = NULL;
    build_u32(b, "llama.attention.head_count", 0);
}
static void add_list(struct build *b)
{
    static const int32_t heads[] = { 2, 4 };
    b->values.n = 0;
    b->n_values = 0;
    b->without = "llama.attention.head_count_kv";
    build_llama_values(b);
    b->without = NULL;
    build_i32s(b, "llama.attention.head_count_kv", heads, 2);
}
static void add_foreign(struct build *b)
{
    b->values.n = 0;
    b->n_values = 0;
    build_text(b, "general.architecture", "mamba");
}
static void add_mistral_name(struct build *b)
{
    b->values.n = 0;
    b->n_values = 0;
    build_text(b, "general.architecture", "mistral");
}
static void add_opt(struct build *b)
{
    b->values.n = 0;
    b->n_values = 0;
    build_text(b, "general.architecture", "opt");
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct build *);
        enum status status;
        const char *words;
    } rows[] = {
        { add_experts, STATUS_BAD_INPUT, "llama.expert_used_count is missing" },
        { add_scaling, STATUS_UNSUPPORTED, "llama.rope.scaling.type dynamic" },
        { add_beta, STATUS_UNSUPPORTED, "llama.rope.scaling.yarn_beta_fast is 16" },
        { add_acausal, STATUS_UNSUPPORTED,
          "llama.attention.causal is false, and only true is supported" },
        { add_scale, STATUS_UNSUPPORTED, "llama.logit_scale is 0.25" },
        { add_alibi, STATUS_UNSUPPORTED, "llama.attention.max_alibi_bias is 8" },
        { add_next_tokens, STATUS_UNSUPPORTED, "llama.nextn_predict_layers is 1" },
        { add_sections, STATUS_UNSUPPORTED, "llama.rope.dimension_sections is an array" },
        { add_activation, STATUS_UNSUPPORTED, "llama.hidden_activation is \"gelu\"" },
        { add_adapter, STATUS_UNSUPPORTED, "general.type is \"adapter\"" },
        { add_mistral, STATUS_UNSUPPORTED, "mistral is not supported: GGUF files of such" },
        { add_values, STATUS_UNSUPPORTED, "4 for keys and 8 for values" },
        { add_layers, STATUS_BAD_INPUT, "number of layers is 100000" },
        { add_heads, STATUS_BAD_INPUT, "llama.attention.head_count is 0" },
        { add_list, STATUS_BAD_INPUT, "head_count_kv is an array" },
        { add_foreign, STATUS_UNSUPPORTED, "the architecture mamba" },
        { add_mistral_name, STATUS_UNSUPPORTED, "mistral is not supported: GGUF files" },
        { add_opt, STATUS_UNSUPPORTED, "the architecture opt" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct build b;
        struct model_spec spec;
        struct fault fault = { 0 };
        build_init(&b);
        build_llama_values(&b);
        rows[i].spoil(&b);
        b.without = NULL;
        build_llama_tensors(&b);
        assert_refused(spec_of(&b, &spec, &fault), rows[i].status, &fault, rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_llama),           cmocka_unit_test(ties_and_scales),
        cmocka_unit_test(scales_as_llama_cpp),   cmocka_unit_test(reads_gemma3),
        cmocka_unit_test(names_what_is_missing), cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(needs_a_window),
    };
    return cmocka_run_group_tests_name("weights/gguf_spec", tests, NULL, NULL);
}
