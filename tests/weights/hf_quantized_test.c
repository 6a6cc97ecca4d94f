/* quantization_config: what each method's keys mean, and which are refused by name. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_quantized.h"

static enum status read_it(const char *config, const char *family, struct weights_quantization *out,
                           struct fault *fault)
{
    struct weights_json json;
    assert_int_equal(
        weights_json_parse(&json, mem_copy_text(config), strlen(config), "config.json", fault),
        STATUS_OK);
    const struct weights_json_from from = { json.nodes, "config.json", fault };
    enum status status = weights_hf_quantized(&from, family, out);
    weights_json_close(&json);
    return status;
}

#define METHOD(name, more) "{\"quantization_config\":{\"quant_method\":\"" name "\"" more "}}"
#define GROUP(weights, more)                                                                       \
    METHOD("compressed-tensors",                                                                   \
           ",\"config_groups\":{\"group_0\":{\"targets\":[\"Linear\"],\"weights\":{" weights       \
           "}}}" more)
#define PACKED ",\"format\":\"pack-quantized\""
#define FLOAT  ",\"format\":\"float-quantized\""

static const struct {
    const char *config;
    enum weights_quantized method;
    struct weights_scheme scheme;
    int zero_added;
} methods[] = {
    { METHOD("fp8", ",\"weight_block_size\":[128,256],\"activation_scheme\":\"dynamic\""),
      WEIGHTS_FP8,
      { true, false, true, 8, 128, 256 },
      0 },
    { METHOD("fp8", ",\"weight_block_size\":null,\"fmt\":\"e4m3\""),
      WEIGHTS_FP8,
      { true, false, true, 8, 0, 0 },
      0 },
    { METHOD("gptq", ",\"bits\":4"), WEIGHTS_GPTQ, { false, true, true, 4, 1, 128 }, 1 },
    { METHOD("gptq", ",\"bits\":8,\"group_size\":-1,\"checkpoint_format\":\"gptq_v2\""),
      WEIGHTS_GPTQ,
      { false, true, true, 8, 1, 0 },
      0 },
    { METHOD("gptq", ",\"bits\":4,\"group_size\":32,\"sym\":false"),
      WEIGHTS_GPTQ,
      { false, true, false, 4, 1, 32 },
      1 },
    { METHOD("gptq", ",\"bits\":4,\"sym\":false,\"format\":\"gptq_v2\""),
      WEIGHTS_GPTQ,
      { false, true, false, 4, 1, 128 },
      0 },
    { METHOD("gptq", ",\"bits\":4,\"format\":\"gptq_v2\",\"checkpoint_format\":\"gptq\""),
      WEIGHTS_GPTQ,
      { false, true, true, 4, 1, 128 },
      1 },
    { METHOD("awq", ",\"bits\":4,\"group_size\":64,\"version\":\"gemm\""),
      WEIGHTS_AWQ,
      { false, true, false, 4, 1, 64 },
      0 },
    { GROUP("\"num_bits\":4,\"type\":\"int\",\"strategy\":\"group\",\"group_size\":128", PACKED),
      WEIGHTS_COMPRESSED,
      { false, true, true, 4, 1, 128 },
      0 },
    { GROUP("\"num_bits\":4,\"symmetric\":false,\"group_size\":32", PACKED),
      WEIGHTS_COMPRESSED,
      { false, true, false, 4, 1, 32 },
      0 },
    { GROUP("\"num_bits\":8,\"strategy\":\"channel\"", ",\"format\":\"int-quantized\""),
      WEIGHTS_COMPRESSED,
      { false, false, true, 8, 1, 0 },
      0 },
    { GROUP("\"num_bits\":8,\"type\":\"float\",\"strategy\":\"tensor\"", FLOAT),
      WEIGHTS_COMPRESSED,
      { true, false, true, 8, 0, 0 },
      0 },
    { GROUP("\"num_bits\":8,\"type\":\"float\",\"strategy\":\"block\","
            "\"block_structure\":[128,128]",
            FLOAT),
      WEIGHTS_COMPRESSED,
      { true, false, true, 8, 128, 128 },
      0 },
};

static void reads_each_method(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct weights_quantization q;
        struct fault fault = { 0 };
        if (read_it(methods[i].config, "llama", &q, &fault) != STATUS_OK)
            fail_msg("%s: %s", methods[i].config, fault.text);
        assert_int_equal(q.method, methods[i].method);
        assert_int_equal(q.n_schemes, 1);
        const struct weights_scheme *want = &methods[i].scheme, *got = &q.schemes[0];
        assert_int_equal(got->is_float, want->is_float);
        assert_int_equal(got->is_packed, want->is_packed);
        assert_int_equal(got->is_symmetric, want->is_symmetric);
        assert_int_equal(got->n_bits, want->n_bits);
        assert_int_equal(got->row_group, want->row_group);
        assert_int_equal(got->group, want->group);
        assert_int_equal(q.zero_added, methods[i].zero_added);
    }
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *config, *words;
        enum status status;
    } rows[] = {
        { METHOD("bitsandbytes", ""), "(\"bitsandbytes\")", STATUS_UNSUPPORTED },
        { METHOD("mxfp4", ""), "(\"mxfp4\")", STATUS_UNSUPPORTED },
        { "{\"quantization_config\":3}", "no quant_method", STATUS_UNSUPPORTED },
        { METHOD("fp8", ",\"fmt\":\"e5m2\""), "fmt is \"e5m2\"", STATUS_UNSUPPORTED },
        { METHOD("fp8", ",\"weight_block_size\":[128]"), "two sizes", STATUS_BAD_INPUT },
        { METHOD("fp8", ",\"weight_block_size\":[128,0]"), "two sizes", STATUS_BAD_INPUT },
        { METHOD("fp8", ",\"weight_block_size\":[64,64]"), "weight_block_size",
          STATUS_UNSUPPORTED },
        { METHOD("fp8", ",\"kv_cache_scheme\":{\"num_bits\":8}"), "kv_cache_scheme",
          STATUS_UNSUPPORTED },
        { METHOD("gptq", ""), "bits is absent", STATUS_UNSUPPORTED },
        { METHOD("gptq", ",\"bits\":3"), "bits is 3", STATUS_UNSUPPORTED },
        { METHOD("gptq", ",\"bits\":8,\"sym\":false"), "sym is false", STATUS_UNSUPPORTED },
        { METHOD("gptq", ",\"bits\":4,\"group_size\":16"), "group_size is 16", STATUS_UNSUPPORTED },
        { METHOD("gptq", ",\"bits\":4,\"group_size\":0"), "group_size is 0", STATUS_UNSUPPORTED },
        { METHOD("gptq", ",\"bits\":4,\"checkpoint_format\":\"marlin\""), "\"marlin\"",
          STATUS_UNSUPPORTED },
        { METHOD("gptq", ",\"bits\":4,\"format\":\"marlin\""), "format is \"marlin\"",
          STATUS_UNSUPPORTED },
        { METHOD("gptq", ",\"bits\":4,\"is_marlin_format\":true"), "is_marlin_format",
          STATUS_UNSUPPORTED },
        { METHOD("gptq", ",\"bits\":4,\"pack_dtype\":\"int8\""), "pack_dtype", STATUS_UNSUPPORTED },
        { METHOD("awq", ",\"bits\":8"), "bits is 8", STATUS_UNSUPPORTED },
        { METHOD("awq", ",\"version\":\"gemv\""), "version is \"gemv\"", STATUS_UNSUPPORTED },
        { METHOD("awq", ",\"format\":\"gemv\""), "format is \"gemv\"", STATUS_UNSUPPORTED },
        { METHOD("compressed-tensors", ""), "config_groups is absent", STATUS_UNSUPPORTED },
        { METHOD("compressed-tensors", ",\"config_groups\":{\"a\":1}"), "config_groups",
          STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":4", ",\"format\":\"marlin-24\""), "format \"marlin-24\"",
          STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":4", ""), "format \"\"", STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":4", ",\"format\":\"int-quantized\""), "num_bits is 4",
          STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":4,\"type\":\"float\"", PACKED), "num_bits is 4", STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":8,\"symmetric\":false", PACKED), "symmetric is false",
          STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":8,\"strategy\":\"token\"", PACKED), "strategy is \"token\"",
          STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":8,\"type\":\"float\",\"strategy\":\"block\"", FLOAT),
          "block_structure is absent", STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":8,\"dynamic\":true", PACKED), "dynamic is true", STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":4", PACKED ",\"sparsity_config\":{\"format\":\"sparse-24\"}"),
          "format is \"sparse-24\"", STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":4", PACKED ",\"transform_config\":{\"r1\":{}}"), "transform_config",
          STATUS_UNSUPPORTED },
        { GROUP("\"num_bits\":4", PACKED ",\"kv_cache_scheme\":{\"num_bits\":8}"),
          "kv_cache_scheme", STATUS_UNSUPPORTED },
        { "{\"quantization_config\":{\"quant_method\":\"awq\"},"
          "\"compression_config\":{\"quant_method\":\"awq\"}}",
          "both there", STATUS_BAD_INPUT },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights_quantization q;
        struct fault fault = { 0 };
        assert_refused(read_it(rows[i].config, "llama", &q, &fault), rows[i].status, &fault,
                       rows[i].words);
    }
}

static void schemes_are_bounded(void **state)
{
    (void)state;
    struct weights_quantization q;
    struct fault fault = { 0 };
    char config[4096];
    int n = snprintf(config, sizeof(config),
                     "{\"compression_config\":{\"quant_method\":\"compressed-tensors\","
                     "\"format\":\"pack-quantized\",\"config_groups\":{");
    for (int i = 0; i < WEIGHTS_SCHEMES_MAX + 1; i++)
        n += snprintf(config + n, sizeof(config) - (size_t)n,
                      "%s\"g%d\":{\"weights\":{\"num_bits\":4,\"group_size\":32}}",
                      i > 0 ? "," : "", i);
    snprintf(config + n, sizeof(config) - (size_t)n, "}}}");
    assert_refused(read_it(config, "llama", &q, &fault), STATUS_TOO_LARGE, &fault, "more than 8");
    assert_int_equal(read_it("{}", "llama", &q, &fault), STATUS_OK);
    assert_int_equal(q.method, WEIGHTS_PLAIN);
    assert_int_equal(read_it(METHOD("mxfp4", ""), "gpt_oss", &q, &fault), STATUS_OK);
    assert_int_equal(q.method, WEIGHTS_MXFP4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_method),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(schemes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
