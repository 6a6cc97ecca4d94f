/* LoRA adapters: tiny models with PEFT's adapters against PEFT's logits and greedy tokens
 * (tools/golden_adapters.py), and many adapters in one pass against each alone, bit for bit. */
#include "passes.h"
#include "test.h"

#include "base/mem.h"
#include "cpu/cpu.h"
#include <jansson.h>
#include <math.h>

#define DATA SOURCE_ROOT "/tests/golden/data/"

static const struct golden {
    const char *name, *base, *adapter;
} goldens[] = {
    { "llama", "llama", "llama" },
    { "llama_second", "llama", "llama_second" },
    { "llama_patterns", "llama", "llama_patterns" },
    { "phi3", "phi3", "phi3" },
    { "gpt2", "gpt2", "gpt2" },
    { "gpt_neox", "gpt_neox", "gpt_neox" },
    { "falcon", "falcon", "falcon" },
    { "gemma3", "gemma3", "gemma3" },
    { "qwen2_moe", "qwen2_moe", "qwen2_moe" },
    { "granite", "granite", "granite" },
    { "granite", "gguf/granite.gguf", "granite.gguf" },
};

static json_t *read_expected(const char *name)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, DATA "adapters/%s/expected.json", name);
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL)
        fail_msg("%s: %s", path, error.text);
    return root;
}

static int32_t read_ids(const json_t *array, int32_t *ids, int32_t n_max)
{
    int32_t n = (int32_t)json_array_size(array);
    assert_true(n > 0 && n <= n_max);
    for (int32_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    return n;
}

/* Returns the largest difference to the expected rows, over the largest expected value. */
static double error_of(const json_t *rows, const float *logits, int32_t n_vocabulary)
{
    double worst = 0.0, largest = 0.0;
    for (size_t r = 0; r < json_array_size(rows); r++)
        for (size_t i = 0; i < (size_t)n_vocabulary; i++) {
            double expected = json_number_value(json_array_get(json_array_get(rows, r), i));
            double found = (double)logits[r * (size_t)n_vocabulary + i];
            worst = fmax(worst, fabs(expected - found));
            largest = fmax(largest, fabs(expected));
        }
    assert_true(largest > 0.0);
    return worst / largest;
}

static int32_t argmax(const float *logits, int32_t n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

static void check(const struct golden *golden, struct compute_device *device)
{
    enum { N = 128 };
    int32_t prompt[N], greedy[N], n_equal = 0;
    char base[512], adapter[512];
    const char *name = device->name;
    struct passes p;
    struct fault fault;
    json_t *expected = read_expected(golden->name);
    json_t *rows = json_object_get(expected, "logits_last");
    int32_t n_prompt = read_ids(json_object_get(expected, "prompt"), prompt, N);
    int32_t n_greedy = read_ids(json_object_get(expected, "greedy"), greedy, N);
    int32_t n_rows = (int32_t)json_array_size(rows);
    snprintf(base, sizeof base, DATA "%s", golden->base);
    snprintf(adapter, sizeof adapter, DATA "adapters/%s", golden->adapter);
    struct run_adapter_files files = { .n = 0 };
    assert_true(run_adapters_add_file(&files, adapter));
    if (passes_open_adapted(&p, base, &files, device, 2 * N, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    int32_t n_vocabulary = passes_n_vocabulary(&p);
    float *logits = mem_take(sizeof(float) * (size_t)n_vocabulary * (size_t)n_rows);
    passes_run(&p, prompt, 0, n_prompt, n_rows, logits); /* the model itself answers otherwise */
    assert_true(error_of(rows, logits, n_vocabulary) > 1e-2);
    p.variant = 1;
    passes_run(&p, prompt, 0, n_prompt, n_rows, logits);
    double error = error_of(rows, logits, n_vocabulary);
    int32_t id = argmax(logits + (int64_t)(n_rows - 1) * n_vocabulary, n_vocabulary);
    while (n_equal < n_greedy && id == greedy[n_equal]) {
        passes_run(&p, &id, n_prompt + n_equal, 1, 1, logits);
        id = argmax(logits, n_vocabulary);
        n_equal++;
    }
    printf("%-14s %-16s %-12s error %.2e, %d of %d greedy tokens\n", golden->base, golden->adapter,
           name, error, n_equal, n_greedy);
    assert_true(error <= 1e-4);
    assert_int_equal(n_equal, 64);
    mem_give(logits);
    json_decref(expected);
    passes_close(&p);
}

static void test_golden(void **state)
{
    const struct golden *golden = *state;
    const struct device_spec cpu = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { 0 } };
    check(golden, compute_reference_open(COMPUTE_ARITHMETIC_CPU));
    check(golden, cpu_open(&cpu, CPU_ISA_GENERIC));
    check(golden, cpu_open(&cpu, cpu_isa_best()));
}

/* ---- Many adapters in one pass. ---- */

enum { N_SEQUENCES = 24, N_ADAPTERS = 3, N_LONG = 70, BLOCKS_EACH = 5 };

struct mixed {
    struct passes p;
    uint32_t tables[N_SEQUENCES][BLOCKS_EACH];
    struct compute_sequence sequences[N_SEQUENCES];
    int32_t ids[N_SEQUENCES * N_LONG], positions[N_SEQUENCES * N_LONG], logit_rows[N_SEQUENCES];
    uint16_t adapters[N_SEQUENCES * N_LONG];
};

static void open_mixed(struct mixed *m, struct compute_device *device)
{
    struct fault fault;
    struct run_adapter_files files = { .n = 0 };
    assert_true(run_adapters_add_file(&files, DATA "adapters/llama") &&
                run_adapters_add_file(&files, DATA "adapters/llama_second") &&
                run_adapters_add_file(&files, DATA "adapters/llama_patterns"));
    int32_t n = N_SEQUENCES * PASSES_BLOCK_TOKENS * BLOCKS_EACH;
    if (passes_open_adapted(&m->p, DATA "llama", &files, device, n, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    for (uint32_t s = 0; s < N_SEQUENCES; s++)
        for (uint32_t i = 0; i < BLOCKS_EACH; i++)
            m->tables[s][i] = s * BLOCKS_EACH + i;
}

/* Return the rows of sequence s, and its adapter; some have none. */
static int32_t rows_of(int s)
{
    return s % 5 == 4 ? N_LONG : 1 + s % 3;
}
static uint16_t adapter_of(int s)
{
    return (uint16_t)(s * 7 % (N_ADAPTERS + 1));
}

/* Computes sequences [from, to) in one pass. Writes the logits of the last row of each. */
static void run_mixed(struct mixed *m, int from, int to, float *logits)
{
    struct compute_pass pass = { .program = &m->p.model.program,
                                 .workspace = m->p.workspace,
                                 .ids = m->ids,
                                 .positions = m->positions,
                                 .n_sequences = to - from,
                                 .sequences = m->sequences,
                                 .kv = m->p.kv,
                                 .n_logit_rows = to - from,
                                 .logit_rows = m->logit_rows,
                                 .logits = logits,
                                 .shapes = { .adapters = m->adapters } };
    for (int s = from; s < to; s++) {
        m->sequences[s - from] =
            (struct compute_sequence){ pass.n_rows, rows_of(s), 0, m->tables[s], BLOCKS_EACH };
        for (int32_t i = 0; i < rows_of(s); i++, pass.n_rows++) {
            m->ids[pass.n_rows] = (s * 31 + i * 17) % 256;
            m->positions[pass.n_rows] = i;
            m->adapters[pass.n_rows] = adapter_of(s);
        }
        m->logit_rows[s - from] = pass.n_rows - 1;
    }
    assert_int_equal(compute_device_wait(m->p.device, m->p.device->lanes[0], &pass.work),
                     COMPUTE_DONE);
}

/* The reference computes each sequence alone; every other device computes all in one pass, and
 * then each alone. */
static void test_mixed(void **state)
{
    static struct mixed m;
    const struct device_spec one = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { 0 } };
    const struct device_spec two = { .kind = DEVICE_CPU, .n_cores = 2, .cores = { 0, 1 } };
    struct compute_device *devices[] = { compute_reference_open(COMPUTE_ARITHMETIC_CPU),
                                         cpu_open(&one, CPU_ISA_GENERIC),
                                         cpu_open(&one, cpu_isa_best()),
                                         cpu_open(&two, cpu_isa_best()) };
    size_t row = 256, n = row * N_SEQUENCES;
    float *expected = mem_take(sizeof(float) * n), *logits = mem_take(sizeof(float) * n);
    (void)state;
    for (size_t d = 0; d < COUNT_OF(devices); d++) {
        open_mixed(&m, devices[d]);
        for (int s = 0; s < N_SEQUENCES; s++)
            run_mixed(&m, s, s + 1, (d == 0 ? expected : logits) + row * (size_t)s);
        if (d > 0)
            assert_memory_equal(logits, expected, sizeof(float) * n);
        run_mixed(&m, 0, N_SEQUENCES, logits);
        assert_memory_equal(logits, expected, sizeof(float) * n);
        passes_close(&m.p);
    }
    mem_give(expected);
    mem_give(logits);
}

/* An adapter that is unloaded and loaded again gives the same bits. */
static void test_reloaded(void **state)
{
    static struct mixed m;
    float first[256], again[256];
    struct fault fault;
    (void)state;
    open_mixed(&m, compute_reference_open(COMPUTE_ARITHMETIC_CPU));
    assert_int_equal(adapter_of(1), 3);
    run_mixed(&m, 1, 2, first);
    run_adapters_unload(m.p.model.adapters, 3);
    assert_false(run_adapters_is_loaded(m.p.model.adapters, 3));
    assert_int_equal(run_adapters_load(m.p.model.adapters, 3, m.p.model.weights, &fault),
                     STATUS_OK);
    run_mixed(&m, 1, 2, again);
    assert_memory_equal(first, again, sizeof first);
    passes_close(&m.p);
}

/* A file that is another adapter than the expected one is refused, so no cached block is used for
 * it. */
static void test_changed(void **state)
{
    struct passes p;
    struct fault fault;
    struct run_adapter_files files = { .n = 0 };
    (void)state;
    assert_true(run_adapters_add_file(&files, DATA "adapters/llama"));
    files.hashes[0] = 1;
    assert_int_equal(passes_open_adapted(&p, DATA "llama", &files,
                                         compute_reference_open(COMPUTE_ARITHMETIC_CPU), 8, &fault),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "another adapter than at the start"));
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(goldens) + 3] = { cmocka_unit_test(test_mixed),
                                                       cmocka_unit_test(test_reloaded),
                                                       cmocka_unit_test(test_changed) };
    for (size_t i = 0; i < COUNT_OF(goldens); i++)
        tests[i + 3] = (struct CMUnitTest){ goldens[i].adapter, test_golden, NULL, NULL,
                                            (void *)(uintptr_t)&goldens[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
