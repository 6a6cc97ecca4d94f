/* Rotations that config.json describes, and refusals by name. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_rope.h"
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
    "\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_heads\":4,"                        \
    "\"intermediate_size\":96,\"max_position_embeddings\":256,\"vocab_size\":512"
#define LLAMA(more)  "{\"model_type\":\"llama\"," SIZES more "}"
#define PHI3(more)   "{\"model_type\":\"phi3\"," SIZES more "}"
#define GEMMA3(more) "{\"model_type\":\"gemma3_text\",\"num_key_value_heads\":1," SIZES more "}"

#define LONG(kind)                                                                                 \
    ",\"partial_rotary_factor\":0.5,\"original_max_position_embeddings\":32,"                      \
    "\"rope_scaling\":{\"type\":\"" kind "\",\"short_factor\":[1,2,3,4],"                          \
    "\"long_factor\":[1,2.5,6,16]}"

#define LONG_LLAMA                                                                                 \
    ",\"original_max_position_embeddings\":128,\"rope_scaling\":{\"rope_type\":\"longrope\","      \
    "\"factor\":4,\"short_factor\":[1,1,1,1,1,1,1,1],\"long_factor\":[1,2,3,4,5,6,7,8]}"

static void reads_phi3(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(spec_of(PHI3(",\"sliding_window\":31"), &spec, &fault), STATUS_OK);
    assert_int_equal(spec.window, 31);
    assert_int_equal(spec.n_rope_dims, 16);
    assert_true(spec.norm_epsilon == 1e-5f && spec.rope_scaling.kind == ROPE_SCALING_NONE);
    static const char *const kinds[] = { PHI3(LONG("longrope")), PHI3(LONG("su")),
                                         PHI3(LONG("yarn")) };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        assert_int_equal(spec_of(kinds[i], &spec, &fault), STATUS_OK);
        assert_int_equal(spec.n_rope_dims, 8);
        assert_int_equal(spec.rope_scaling.kind, ROPE_SCALING_LONG);
        assert_true(spec.rope_scaling.is_long && spec.rope_scaling.n_positions_original == 32);
        /* sqrt(1 + ln 8 / ln 32) */
        assert_true(fabs((double)spec.rope_scaling.attention_factor - sqrt(1.6)) < 1e-6);
    }
    assert_int_equal(spec_of(PHI3(",\"original_max_position_embeddings\":256,\"rope_scaling\":{"
                                  "\"type\":\"longrope\"}"),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(!spec.rope_scaling.is_long && spec.rope_scaling.attention_factor == 1.0f);
}

#define YARN(more) LLAMA(",\"rope_scaling\":{\"rope_type\":\"yarn\"" more "}")

static void reads_yarn(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double factor, n_original, attention, beta_fast, beta_slow;
    } rows[] = {
        { YARN(",\"factor\":4"), 4, 256, 1.138629436, 32, 1 },
        { YARN(",\"factor\":4,\"original_max_position_embeddings\":64"), 4, 64, 1.138629436, 32,
          1 },
        { YARN(",\"factor\":null,\"original_max_position_embeddings\":32"), 8, 32, 1.207944154, 32,
          1 },
        { YARN(",\"factor\":0.5,\"beta_fast\":0,\"beta_slow\":null"), 0.5, 256, 1, 32, 1 },
        { YARN(",\"factor\":4,\"attention_factor\":2.5,\"beta_fast\":16,\"beta_slow\":2"), 4, 256,
          2.5, 16, 2 },
        /* (1 + 0.2 ln 4) / (1 + 0.1 ln 4) */
        { YARN(",\"factor\":4,\"mscale\":2,\"mscale_all_dim\":1"), 4, 256, 1.121750318, 32, 1 },
        { YARN(",\"factor\":4,\"mscale\":2"), 4, 256, 1.138629436, 32, 1 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_spec spec;
        struct fault fault = { 0 };
        assert_int_equal(spec_of(rows[i].text, &spec, &fault), STATUS_OK);
        const struct rope_scaling *scaling = &spec.rope_scaling;
        assert_int_equal(scaling->kind, ROPE_SCALING_YARN);
        assert_true((double)scaling->factor == rows[i].factor && !scaling->is_untruncated);
        assert_true((double)scaling->n_positions_original == rows[i].n_original);
        assert_true(fabs((double)scaling->attention_factor - rows[i].attention) < 1e-6);
        assert_true((double)scaling->beta_fast == rows[i].beta_fast);
        assert_true((double)scaling->beta_slow == rows[i].beta_slow);
    }
}

/* When a file has a value twice, the one that the newest transformers takes counts. */
static void chooses_as_the_library(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(spec_of(LLAMA(",\"rope_theta\":5,\"rope_scaling\":{\"type\":\"linear\","
                                   "\"rope_type\":\"yarn\",\"factor\":2,\"rope_theta\":7,"
                                   "\"original_max_position_embeddings\":64},"
                                   "\"original_max_position_embeddings\":32,"
                                   "\"rope_parameters\":{\"rope_theta\":9}"),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(spec.rope_base == 7 && spec.rope_scaling.kind == ROPE_SCALING_YARN);
    assert_int_equal(spec.rope_scaling.n_positions_original, 32);
    assert_int_equal(spec_of(LLAMA(",\"rope_scaling\":{},\"rope_parameters\":{\"rope_theta\":9}"),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(spec.rope_base == 9 && spec.rope_scaling.kind == ROPE_SCALING_NONE);
    /* Up to the model's context there is no stretching, and beyond it nothing is computed. */
    assert_int_equal(
        spec_of(LLAMA(",\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":4}"), &spec, &fault),
        STATUS_OK);
    assert_true(spec.rope_scaling.kind == ROPE_SCALING_NONE);
    assert_int_equal(spec_of(LLAMA(LONG_LLAMA), &spec, &fault), STATUS_OK);
    assert_true(spec.rope_scaling.kind == ROPE_SCALING_LONG && spec.rope_scaling.is_long);
    /* sqrt(1 + ln 4 / ln 128) */
    assert_true(fabs((double)spec.rope_scaling.attention_factor - 1.133893419) < 1e-6);
}

static enum status factors_of(const char *text, float factors[4], struct fault *fault)
{
    struct weights_json json;
    const struct weights_architecture *architecture;
    struct model_spec spec;
    struct tensor tensor = { 0 };
    struct pile pile;
    pile_init(&pile);
    assert_int_equal(
        weights_json_parse(&json, mem_copy_text(text), strlen(text), "config.json", fault),
        STATUS_OK);
    assert_int_equal(weights_hf_spec(json.nodes, &spec, &architecture, fault), STATUS_OK);
    enum status status = weights_hf_rope_factors(json.nodes, &spec, &pile, &tensor, fault);
    if (status == STATUS_OK && tensor.data != NULL) {
        assert_int_equal(tensor.n_columns, 4);
        memcpy(factors, tensor.data, 4 * sizeof(float));
    }
    weights_json_close(&json);
    pile_free(&pile);
    return status;
}

static void reads_factors(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    float factors[4] = { 0 };
    assert_int_equal(factors_of(PHI3(""), factors, &fault), STATUS_OK);
    assert_true(factors[0] == 0);
    assert_int_equal(factors_of(PHI3(LONG("longrope")), factors, &fault), STATUS_OK);
    assert_true(factors[0] == 1 && factors[1] == 2.5f && factors[3] == 16);
    static const struct {
        const char *list, *words;
    } rows[] = {
        { "null", "long_factor isn't a list of 4 numbers" },
        { "7", "long_factor isn't a list of 4 numbers" },
        { "[1,2,3]", "long_factor isn't a list of 4 numbers" },
        { "[1,2,3,0]", "long_factor holds" },
        { "[1,2,3,-1]", "long_factor holds" },
        { "[1,2,3,1e300]", "long_factor holds" },
        { "[1,2,3,\"4\"]", "long_factor holds" },
        { "[1,2,[3],4]", "long_factor holds" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 PHI3(",\"partial_rotary_factor\":0.5,\"original_max_position_embeddings\":32,"
                      "\"rope_scaling\":{\"type\":\"longrope\",\"long_factor\":%s}"),
                 rows[i].list);
        assert_refused(factors_of(text, factors, &fault), STATUS_BAD_INPUT, &fault, rows[i].words);
    }
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum status status;
        const char *words;
    } rows[] = {
        { LLAMA(",\"rope_scaling\":{\"type\":\"mrope\"}"), STATUS_UNSUPPORTED,
          "rope_type \"mrope\" is not supported for llama" },
        { LLAMA(",\"rope_scaling\":{\"type\":\"linear\",\"factor\":0}"), STATUS_BAD_INPUT,
          "rope scaling factor is 0" },
        { LLAMA(",\"rope_scaling\":{\"type\":\"linear\"}"), STATUS_BAD_INPUT, "factor is missing" },
        { LLAMA(",\"rope_scaling\":{\"type\":\"dynamic\"}"), STATUS_BAD_INPUT,
          "factor is missing" },
        { LLAMA(",\"rope_scaling\":{\"factor\":4}"), STATUS_BAD_INPUT, "no rope_type" },
        { LLAMA(",\"rope_scaling\":2"), STATUS_BAD_INPUT, "isn't an object" },
        { LLAMA(",\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"high_freq_factor\":4}"),
          STATUS_BAD_INPUT, "low_freq_factor is missing" },
        { YARN(",\"factor\":4,\"attention_factor\":0"), STATUS_BAD_INPUT, "attention_factor is 0" },
        { YARN(",\"factor\":4,\"beta_slow\":64"), STATUS_BAD_INPUT, "32 and 64" },
        { LLAMA(",\"rope_parameters\":{\"full_attention\":{}}"), STATUS_UNSUPPORTED,
          "full_attention" },
        { GEMMA3(",\"rope_scaling\":{\"rope_type\":\"longrope\"}"), STATUS_UNSUPPORTED,
          "longrope" },
        { GEMMA3(",\"rope_scaling\":{\"type\":\"linear\",\"factor\":8}"), STATUS_UNSUPPORTED,
          "rope_scaling has a type, but no rope_type" },
        { GEMMA3(",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2},\"rope_parameters\":{"
                 "\"full_attention\":{\"rope_type\":\"default\"}}"),
          STATUS_UNSUPPORTED, "rope_scaling and rope_parameters are both there" },
        { LLAMA(",\"rope_theta\":\"x\""), STATUS_BAD_INPUT, "rope_theta isn't" },
        { LLAMA(",\"partial_rotary_factor\":0.5"), STATUS_UNSUPPORTED,
          "partial_rotary_factor is 0.5" },
        { LLAMA(",\"rope_theta\":NaN"), STATUS_BAD_INPUT, "rope_theta isn't a number" },
        { GEMMA3(",\"sliding_window_pattern\":1,\"rope_theta\":0.5"), STATUS_BAD_INPUT,
          "rope base" },
        { PHI3(",\"partial_rotary_factor\":1.5"), STATUS_BAD_INPUT, "partial_rotary_factor" },
        { PHI3(",\"partial_rotary_factor\":0"), STATUS_BAD_INPUT, "partial_rotary_factor" },
        { PHI3(",\"partial_rotary_factor\":0.01"), STATUS_UNSUPPORTED,
          "partial_rotary_factor is 0.01" },
        { PHI3(",\"rope_scaling\":{\"type\":\"dynamic\"}"), STATUS_UNSUPPORTED, "dynamic" },
        { PHI3(",\"original_max_position_embeddings\":1,"
               "\"rope_scaling\":{\"type\":\"longrope\"}"),
          STATUS_BAD_INPUT, "original_max_position_embeddings is 1" },
        { PHI3(",\"rope_scaling\":{\"type\":\"longrope\",\"attention_factor\":-1}"),
          STATUS_BAD_INPUT, "attention_factor is -1" },
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
        cmocka_unit_test(reads_phi3),
        cmocka_unit_test(reads_yarn),
        cmocka_unit_test(chooses_as_the_library),
        cmocka_unit_test(reads_factors),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests_name("weights/hf_rope", tests, NULL, NULL);
}
