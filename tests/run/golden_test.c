/* Conformance: tiny random models of every architecture and type, against logits and greedy tokens
 * of Hugging Face's transformers (or of a float64 loop over dequantized weights). tools/golden.py
 * made the files and names the versions. */
#include "passes.h"
#include "test.h"

#include "base/mem.h"
#include "compute/compute.h"
#include "cpu/cpu.h"
#ifdef TEST_CUDA
#include "cuda/cuda.h"
#endif
#ifdef TEST_GROUP
#include "group/group.h"
#endif
#include <jansson.h>
#include <math.h>

#define QUANTIZED(name, ...)                                                                       \
    {                                                                                              \
        "quantized_" name, "quantized_" name, "quantized_" name "/expected.json", __VA_ARGS__      \
    }

static const struct golden {
    const char *name, *path, *expected;
    double error_max; /* of max |difference| / max |logit| */
    int n_greedy;     /* tokens that must be equal */
    bool has_experts;
    const char *lacking; /* what a GPU refuses it for; NULL: it computes it, or has_experts */
} goldens[] = {
    { "llama", "llama", "llama/expected.json", 1e-4, 64 },
    { "llama3_sharded", "llama3_sharded", "llama3_sharded/expected.json", 1e-4, 64 },
    { "llama3_f16", "llama3_f16", "llama3_f16/expected.json", 1e-4, 64 },
    { "llama3_bf16", "llama3_bf16", "llama3_bf16/expected.json", 1e-4, 64 },
    { "llama3", "llama3", "llama3/expected.json", 1e-4, 64 },
    { "llama_linear", "llama_linear", "llama_linear/expected.json", 1e-4, 64 },
    { "llama_yarn", "llama_yarn", "llama_yarn/expected.json", 1e-4, 64 },
    { "mistral", "mistral", "mistral/expected.json", 1e-4, 64 },
    { "qwen2", "qwen2", "qwen2/expected.json", 1e-4, 64 },
    { "qwen3", "qwen3", "qwen3/expected.json", 1e-4, 64 },
    { "phi3", "phi3", "phi3/expected.json", 1e-4, 64 },
    { "phi3_partial", "phi3_partial", "phi3_partial/expected.json", 1e-4, 64 },
    { "phi3_long", "phi3_long", "phi3_long/expected.json", 1e-4, 64 },
    { "gemma", "gemma", "gemma/expected.json", 1e-4, 64 },
    { "gemma3", "gemma3", "gemma3/expected.json", 1e-4, 64 },
    { "gemma3_core", "gemma3_core", "gemma3_core/expected.json", 1e-4, 64 },
    { "mixtral", "mixtral", "mixtral/expected.json", 1e-4, 64, true },
    { "olmoe", "olmoe", "olmoe/expected.json", 1e-4, 64, true },
    { "qwen2_moe", "qwen2_moe", "qwen2_moe/expected.json", 1e-4, 64, true },
    { "qwen3_moe", "qwen3_moe", "qwen3_moe/expected.json", 1e-4, 64, true },
    { "gguf_mixtral", "gguf/mixtral.gguf", "gguf/mixtral.expected.json", 1e-4, 64, true },
    { "gguf_olmoe", "gguf/olmoe.gguf", "gguf/olmoe.expected.json", 1e-4, 64, true },
    { "gguf_qwen2_moe", "gguf/qwen2_moe.gguf", "gguf/qwen2_moe.expected.json", 1e-4, 64, true },
    { "gguf_qwen3_moe", "gguf/qwen3_moe.gguf", "gguf/qwen3_moe.expected.json", 1e-4, 64, true },
    { "gpt_oss", "gpt_oss", "gpt_oss/expected.json", 1e-4, 64, true },
    { "gpt_oss_mxfp4", "gpt_oss_mxfp4", "gpt_oss_mxfp4/expected.json", 0.06, 0, true },
    { "gguf_gpt_oss", "gguf/gpt_oss.gguf", "gguf/gpt_oss.expected.json", 1e-4, 64, true },
    { "gguf_gpt_oss_mxfp4", "gguf/gpt_oss_mxfp4.gguf", "gguf/gpt_oss_mxfp4.expected.json", 0.06, 0,
      true },
    { "granitemoe", "granitemoe", "granitemoe/expected.json", 1e-4, 64, true },
    { "gguf_granitemoe", "gguf/granitemoe.gguf", "granitemoe/expected.json", 1e-4, 64, true },
    { "granitemoeshared", "granitemoeshared", "granitemoeshared/expected.json", 1e-4, 64, true },
    { "gguf_granitemoeshared", "gguf/granitemoeshared.gguf", "granitemoeshared/expected.json", 1e-4,
      64, true },
    { "glm4_moe", "glm4_moe", "glm4_moe/expected.json", 1e-4, 64, true },
    { "gguf_glm4_moe", "gguf/glm4_moe.gguf", "glm4_moe/expected.json", 1e-4, 64, true },
    { "deepseek_v2", "deepseek_v2", "deepseek_v2/expected.json", 1e-4, 64, true },
    { "gguf_deepseek2_lite", "gguf/deepseek2_lite.gguf", "gguf/deepseek2_lite.expected.json", 1e-4,
      64, true },
    { "deepseek_v3", "deepseek_v3", "deepseek_v3/expected.json", 1e-4, 64, true },
    { "gguf_deepseek_v3", "gguf/deepseek_v3.gguf", "deepseek_v3/expected.json", 1e-4, 64, true },
    { "qwen3_moe_sparse", "qwen3_moe_sparse", "qwen3_moe_sparse/expected.json", 1e-4, 64, true },
    { "granite", "granite", "granite/expected.json", 1e-4, 64 },
    { "olmo2", "olmo2", "olmo2/expected.json", 1e-4, 64 },
    { "starcoder2", "starcoder2", "starcoder2/expected.json", 1e-4, 64 },
    { "phi", "phi", "phi/expected.json", 1e-4, 64 },
    { "stablelm", "stablelm", "stablelm/expected.json", 1e-4, 64 },
    { "gpt_neox", "gpt_neox", "gpt_neox/expected.json", 1e-4, 64 },
    { "falcon", "falcon", "falcon/expected.json", 1e-4, 64 },
    { "glm", "glm", "glm/expected.json", 1e-4, 64 },
    { "glm4", "glm4", "glm4/expected.json", 1e-4, 64 },
    { "cohere", "cohere", "cohere/expected.json", 1e-4, 64 },
    { "cohere2", "cohere2", "cohere2/expected.json", 1e-4, 64 },
    { "internlm2", "internlm2", "internlm2/expected.json", 1e-4, 64 },
    { "gguf_granite", "gguf/granite.gguf", "granite/expected.json", 1e-4, 64 },
    { "gguf_olmo2", "gguf/olmo2.gguf", "olmo2/expected.json", 1e-4, 64 },
    { "gguf_glm4", "gguf/glm4.gguf", "glm4/expected.json", 1e-4, 64 },
    { "gguf_internlm2", "gguf/internlm2.gguf", "internlm2/expected.json", 1e-4, 64 },
    { "gemma2", "gemma2", "gemma2/expected.json", 1e-4, 64, false, "soft caps" },
    { "gguf_gemma2", "gguf/gemma2.gguf", "gemma2/expected.json", 1e-4, 64, false, "soft caps" },
    { "olmo3", "olmo3", "olmo3/expected.json", 1e-4, 64 },
    { "gguf_starcoder2", "gguf/starcoder2.gguf", "gguf/starcoder2.expected.json", 1e-4, 64 },
    { "gguf_gpt_neox", "gguf/gpt_neox.gguf", "gguf/gpt_neox.expected.json", 1e-4, 64 },
    { "gguf_falcon", "gguf/falcon.gguf", "gguf/falcon.expected.json", 1e-4, 64 },
    { "gguf_cohere", "gguf/cohere.gguf", "gguf/cohere.expected.json", 1e-4, 64 },
    { "gguf_cohere2", "gguf/cohere2.gguf", "gguf/cohere2.expected.json", 1e-4, 64 },
    { "gguf_smollm3", "gguf/smollm3.gguf", "gguf/smollm3.expected.json", 1e-4, 64 },
    { "gguf_phi", "gguf/phi.gguf", "phi/expected.json", 1e-4, 64 },
    { "gguf_stablelm", "gguf/stablelm.gguf", "stablelm/expected.json", 1e-4, 64 },
    { "opt", "opt", "opt/expected.json", 1e-4, 64 },
    { "gpt2", "gpt2", "gpt2/expected.json", 1e-4, 64 },
    { "chatglm2", "chatglm2", "chatglm2/expected.json", 1e-4, 64 },
    { "gguf_f32", "gguf/f32.gguf", "gguf/f32.expected.json", 1e-4, 64 },
    { "gguf_f16", "gguf/f16.gguf", "gguf/f16.expected.json", 1e-4, 64 },
    { "gguf_bf16", "gguf/bf16.gguf", "gguf/bf16.expected.json", 1e-4, 64 },
    { "gguf_v2", "gguf/v2.gguf", "gguf/v2.expected.json", 0.06, 0 },
    { "gguf_split", "gguf/split-00001-of-00002.gguf", "gguf/split.expected.json", 0.06, 0 },
    { "gguf_llama3", "gguf/llama3.gguf", "gguf/llama3.expected.json", 0.06, 0 },
    { "gguf_qwen2", "gguf/qwen2.gguf", "gguf/qwen2.expected.json", 0.06, 0 },
    { "gguf_qwen3", "gguf/qwen3.gguf", "gguf/qwen3.expected.json", 0.06, 0 },
    { "gguf_phi3", "gguf/phi3.gguf", "gguf/phi3.expected.json", 0.06, 0 },
    { "gguf_gemma", "gguf/gemma.gguf", "gguf/gemma.expected.json", 0.06, 0 },
    { "gguf_gemma3", "gguf/gemma3.gguf", "gguf/gemma3.expected.json", 0.06, 0 },
    { "gguf_gpt2", "gguf/gpt2.gguf", "gguf/gpt2.expected.json", 0.06, 0 },
    { "gguf_chatglm", "gguf/chatglm.gguf", "gguf/chatglm.expected.json", 0.06, 0 },
    QUANTIZED("fp8_block", 1e-4, 64, false, "F8_E4M3"),
    QUANTIZED("fp8_channel", 1e-4, 64, false, "F8_E4M3"),
    QUANTIZED("fp8_tensor", 1e-4, 64, true),
    QUANTIZED("gptq", 0.06, 0),
    QUANTIZED("gptq_v2", 0.06, 0),
    QUANTIZED("gptq_8", 0.06, 0),
    QUANTIZED("awq", 0.06, 0),
    QUANTIZED("packed", 0.06, 0),
    QUANTIZED("packed_zeros", 0.06, 0),
    QUANTIZED("bytes", 0.06, 0),
    { "q8_0", "gguf/q8_0.gguf", "gguf/q8_0.expected.json", 0.06, 0 },
    { "q4_0", "gguf/q4_0.gguf", "gguf/q4_0.expected.json", 0.06, 0 },
    { "q4_1", "gguf/q4_1.gguf", "gguf/q4_1.expected.json", 0.06, 0 },
    { "q5_0", "gguf/q5_0.gguf", "gguf/q5_0.expected.json", 0.06, 0 },
    { "q5_1", "gguf/q5_1.gguf", "gguf/q5_1.expected.json", 0.06, 0 },
    { "q2_k", "gguf/q2_k.gguf", "gguf/q2_k.expected.json", 0.06, 0 },
    { "q3_k", "gguf/q3_k.gguf", "gguf/q3_k.expected.json", 0.06, 0 },
    { "q4_k", "gguf/q4_k.gguf", "gguf/q4_k.expected.json", 0.06, 0 },
    { "q5_k", "gguf/q5_k.gguf", "gguf/q5_k.expected.json", 0.06, 0 },
    { "q6_k", "gguf/q6_k.gguf", "gguf/q6_k.expected.json", 0.06, 0 },
    { "iq4_nl", "gguf/iq4_nl.gguf", "gguf/iq4_nl.expected.json", 0.06, 0, false, "IQ4_NL" },
    { "iq4_xs", "gguf/iq4_xs.gguf", "gguf/iq4_xs.expected.json", 0.06, 0, false, "IQ4_XS" },
    { "mxfp4", "gguf/mxfp4.gguf", "gguf/mxfp4.expected.json", 0.06, 0, false, "MXFP4" },
    { "tq1_0", "gguf/tq1_0.gguf", "gguf/tq1_0.expected.json", 0.06, 0, false, "TQ1_0" },
    { "tq2_0", "gguf/tq2_0.gguf", "gguf/tq2_0.expected.json", 0.06, 0, false, "TQ2_0" },
};

static json_t *read_expected(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/data/%s", SOURCE_ROOT, name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s: %s", path, error.text);
    return root;
}

static int32_t *read_ids(const json_t *array, int32_t *n)
{
    *n = (int32_t)json_array_size(array);
    int32_t *ids = mem_take(sizeof *ids * (size_t)(*n + 1));
    for (int32_t i = 0; i < *n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    return ids;
}

/* Largest difference to the expected rows, over the largest expected value. */
static double error_of(const json_t *rows, const float *logits, int32_t n_vocabulary)
{
    double worst = 0.0, largest = 0.0;
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *row = json_array_get(rows, r);
        assert_int_equal(json_array_size(row), n_vocabulary);
        for (size_t i = 0; i < json_array_size(row); i++) {
            double expected = json_number_value(json_array_get(row, i));
            worst = fmax(worst, fabs(expected - (double)logits[r * (size_t)n_vocabulary + i]));
            largest = fmax(largest, fabs(expected));
        }
    }
    return worst / largest;
}

static int32_t argmax(const float *logits, int32_t n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

static int32_t n_greedy_max = INT32_MAX;

static void check(const struct golden *golden, struct compute_device *backend)
{
    char path[512];
    struct passes p;
    struct fault fault;
    int32_t n_prompt, n_greedy, n_equal = 0;
    const char *backend_name = backend->name;
    snprintf(path, sizeof path, "%s/tests/golden/data/%s", SOURCE_ROOT, golden->path);
    json_t *expected = read_expected(golden->expected);
    int32_t *prompt = read_ids(json_object_get(expected, "prompt"), &n_prompt);
    int32_t *greedy = read_ids(json_object_get(expected, "greedy"), &n_greedy);
    n_greedy = min_i32(n_greedy, n_greedy_max);
    json_t *rows = json_object_get(expected, "logits_last");
    int32_t n_rows = (int32_t)json_array_size(rows);
    if (passes_open(&p, path, backend, DTYPE_F32, n_prompt + n_greedy + 1, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    float *logits = mem_take(sizeof(float) * (size_t)passes_n_vocabulary(&p) * (size_t)n_rows);
    passes_run(&p, prompt, 0, n_prompt, n_rows, logits);
    double error = error_of(rows, logits, passes_n_vocabulary(&p));
    int32_t id =
        argmax(logits + (int64_t)(n_rows - 1) * passes_n_vocabulary(&p), passes_n_vocabulary(&p));
    while (n_equal < n_greedy && id == greedy[n_equal]) {
        passes_run(&p, &id, n_prompt + n_equal, 1, 1, logits);
        id = argmax(logits, passes_n_vocabulary(&p));
        n_equal++;
    }
    printf("%-14s %-12s error %.2e, %d of %d greedy tokens\n", golden->name, backend_name, error,
           n_equal, n_greedy);
    assert_true(error <= golden->error_max);
    assert_true(n_equal >= golden->n_greedy);
    mem_give(logits);
    mem_give(prompt);
    mem_give(greedy);
    json_decref(expected);
    passes_close(&p);
}

#ifdef TEST_CUDA
static void check_refused(const struct golden *golden, struct compute_device *device)
{
    char path[512];
    struct passes p;
    struct fault fault;
    snprintf(path, sizeof path, "%s/tests/golden/data/%s", SOURCE_ROOT, golden->path);
    assert_int_equal(passes_open(&p, path, device, DTYPE_F32, 8, &fault), STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, golden->has_experts ? "routed experts" : golden->lacking));
}

/* An emulated GPU takes its time, so it computes few tokens. */
static void test_golden(void **state)
{
#ifdef TEST_GPU
    enum { N_GREEDY = 64 };
#else
    enum { N_GREEDY = 2 };
#endif
    const struct cuda_options options = { .index = 0, .n_lanes = 1 };
    struct golden golden = *(const struct golden *)*state;
    struct compute_device *device;
    assert_int_equal(cuda_open(&options, &device, NULL), STATUS_OK);
    /* Prompt rows are rounded to the type of such weights. */
    bool is_half = strstr(golden.name, "f16") != NULL || strstr(golden.name, "sharded") != NULL;
    if (golden.has_experts || golden.lacking != NULL) {
        check_refused(&golden, device);
        return;
    }
    golden.error_max = is_half ? 0.02 : golden.error_max;
    golden.n_greedy = is_half ? 0 : min_i32(golden.n_greedy, N_GREEDY);
    n_greedy_max = N_GREEDY;
    check(&golden, device);
}
#elif defined TEST_GROUP
static bool is_chain; /* else a part of every layer is on each rank */

static struct compute_device *open_group(int n_ranks)
{
    const int32_t shares[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    struct compute_device *ranks[8], *group;
    for (int i = 0; i < n_ranks; i++) {
        const struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { i % 2 } };
        ranks[i] = cpu_open(&device, cpu_isa_best());
    }
    enum status status = is_chain ? group_open_chain(ranks, shares, n_ranks, &group, NULL)
                                  : group_open(ranks, n_ranks, &group, NULL);
    assert_int_equal(status, STATUS_OK);
    return group;
}

/* Returns whether n_ranks may refuse the model: for norms over all heads, or because a part of its
 * few columns is less than a block of their type. */
static bool may_be_refused(const struct golden *golden, int n_ranks)
{
    static const char *const wide[] = { "_k", "iq4_xs", "tq", "gpt_oss_mxfp4", "fp8" };
    if (strstr(golden->name, "olmo") != NULL || strstr(golden->name, "deepseek") != NULL)
        return true;
    for (size_t i = 0; i < COUNT_OF(wide); i++)
        if (strstr(golden->name, wide[i]) != NULL)
            return n_ranks > 1;
    return n_ranks > 2 && golden->error_max > 0.01;
}

/* Returns whether the ranks can't share the model, for a reason that they name. */
static bool is_refused(const struct golden *golden, int n_ranks)
{
    char path[512];
    struct passes p;
    struct fault fault;
    snprintf(path, sizeof path, "%s/tests/golden/data/%s", SOURCE_ROOT, golden->path);
    enum status status = passes_open(&p, path, open_group(n_ranks), DTYPE_F32, 8, &fault);
    if (status == STATUS_OK) {
        passes_close(&p);
        return false;
    }
    printf("%-14s %s\n", golden->name, fault.text);
    if (is_chain) /* some models of wide blocks have one layer */
        assert_non_null(strstr(fault.text, "1 layers: use fewer devices"));
    else
        assert_true(may_be_refused(golden, n_ranks));
    assert_int_equal(status, STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "ranks can't share"));
    return true;
}

static void test_golden(void **state)
{
    const struct golden *golden = *state;
    for (int n_ranks = 1; n_ranks <= 4; n_ranks *= 2)
        if (!is_refused(golden, n_ranks))
            check(golden, open_group(n_ranks));
    is_chain = true;
    if (!is_refused(golden, 2))
        check(golden, open_group(2));
    is_chain = false;
}
#else
static void test_golden(void **state)
{
    const struct golden *golden = *state;
    const struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { 0 } };
    check(golden, compute_reference_open(COMPUTE_ARITHMETIC_CPU));
    check(golden, cpu_open(&device, CPU_ISA_GENERIC));
    check(golden, cpu_open(&device, cpu_isa_best()));
}
#endif

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(goldens)];
    for (size_t i = 0; i < COUNT_OF(goldens); i++)
        tests[i] = (struct CMUnitTest){ goldens[i].name, test_golden, NULL, NULL,
                                        (void *)(uintptr_t)&goldens[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
