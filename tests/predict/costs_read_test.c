/* Readers: small tables by hand, and the published ones of ../shared against their README and the
 * measurements. */
#include "test.h"
#include "base/mem.h"
#include "predict/costs.h"
#include "predict/csv.h"

static const char *source_root = ".";

/* Returns the text of a file of ../shared/data, unpacked when its name ends in .xz; NULL when the
 * file is absent. The caller frees it by mem_give. */
static char *read_shared(const char *name)
{
    char command[1300];
    size_t n = 0, capacity = 1 << 16;
    size_t n_name = strlen(name);
    bool is_packed = n_name > 3 && strcmp(name + n_name - 3, ".xz") == 0;
    snprintf(command, sizeof(command), "%s '%s/../shared/data/%s' 2>/dev/null",
             is_packed ? "xz -dc" : "cat", source_root, name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *text = mem_take(capacity);
    for (size_t got; (got = fread(text + n, 1, capacity - n - 1, pipe)) > 0;) {
        n += got;
        if (capacity - n < 2) {
            text = mem_grow(text, capacity, 2 * capacity);
            capacity *= 2;
        }
    }
    pclose(pipe);
    if (n > 0)
        return text;
    mem_give(text);
    return NULL;
}

static double decode_ms(const struct costs *costs, int32_t b, int32_t context)
{
    const struct perf_load load = { .n_decodes = b, .n_decode_context = (int64_t)b * context };
    return costs_step_ms(costs, &load);
}

static double prefill_ms(const struct costs *costs, int32_t n)
{
    const struct perf_load load = { .n_new = n, .n_new_squared = (int64_t)n * n };
    return costs_step_ms(costs, &load);
}

static void assert_near(double value, double wanted, double tolerance)
{
    if (value < wanted * (1 - tolerance) || value > wanted * (1 + tolerance))
        fail_msg("%g is not within %g of %g", value, tolerance, wanted);
}

static void our_own_format(void **state)
{
    (void)state;
    struct costs costs = { 0 };
    struct fault fault;
    assert_int_equal(costs_read_steps(&costs,
                                      "phase,batch,length,ms\nprefill,1,100,20\nprefill,1,300,40\n"
                                      "decode,1,64,5\ndecode,4,64,8\ndecode,4,128,12\n"
                                      "decode,1,128,6\n",
                                      &fault),
                     STATUS_OK);
    assert_near(prefill_ms(&costs, 100), 20, 1e-9);
    assert_near(prefill_ms(&costs, 200), 30, 1e-9);
    assert_near(decode_ms(&costs, 2, 64), 6, 1e-9);
    assert_near(decode_ms(&costs, 4, 96), 10, 1e-9);
    costs_free(&costs);
    assert_int_equal(costs_read_steps(&costs, "phase,batch,ms\n", &fault), STATUS_BAD_INPUT);
    assert_string_equal(fault.text, "the table has no column length");
    assert_int_equal(costs_read_steps(&costs, "phase,batch,length,ms\n", &fault), STATUS_BAD_INPUT);
    costs_free(&costs);
}

/* Layers count: per layer, twice for the norms, once for the embedding. Microseconds. */
static void operations_by_hand(void **state)
{
    (void)state;
    struct costs costs = { 0 };
    struct fault fault;
    assert_int_equal(costs_read_servingsim_dense(&costs,
                                                 "layer,tokens,time_us\nqkv_proj,1,100\n"
                                                 "layernorm,1,10\nembedding,1,7\nqkv_proj,2,200\n"
                                                 "layernorm,2,20\nembedding,2,8\n",
                                                 4, &fault),
                     STATUS_OK);
    assert_int_equal(
        costs_read_servingsim_sequence(&costs,
                                       "layer,sequences,time_us\nlm_head,1,50\nsampler,1,30\n"
                                       "lm_head,2,100\nsampler,2,60\n",
                                       &fault),
        STATUS_OK);
    assert_int_equal(
        costs_read_servingsim_attention(&costs,
                                        "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
                                        "0,0,1,16,10\n16,0,0,0,25\n16,0,1,16,99\n",
                                        4, &fault),
        STATUS_OK);
    assert_near(decode_ms(&costs, 1, 16), 0.4 + 0.08 + 0.007 + 0.08 + 0.04, 1e-9);
    const struct perf_load mixed = {
        .n_decodes = 1, .n_decode_context = 16, .n_new = 1, .n_new_squared = 1
    };
    assert_near(costs_step_ms(&costs, &mixed), 0.8 + 0.16 + 0.008 + 0.16 + 4 * 0.099, 1e-9);
    costs_free(&costs);
}

/* Llama-2-7B on one A100 (data's README, section 5): Vidur's linear operations, Frontier's
 * attention on an A800, and MuxServe's measured steps. The parts differ from these by the host's
 * overhead: 2.2 ms and 0.04 ms a sequence. */
static void vidur_and_frontier(void **state)
{
    (void)state;
    static const struct {
        int32_t b;
        double linear_ms, sum_ms, measured_ms;
    } known[] = { { 1, 9.54, 10.3, 12.5 },
                  { 32, 9.66, 15.5, 18.7 },
                  { 64, 9.89, 20.1, 24.9 },
                  { 128, 12.34, 33.3, 40.9 } };
    struct costs costs = { 0 };
    struct fault fault;
    char *mlp = read_shared("vidur-profiles/a100/Llama-2-7b-hf.mlp.csv.xz");
    char *attention = read_shared("frontier-profiles/a800/Llama-2-7b-hf.attention.csv.xz");
    if (mlp == NULL || attention == NULL)
        TEST_SKIP("no ../shared beside the repository");
    assert_int_equal(costs_read_vidur_mlp(&costs, mlp, 32, 1, &fault), STATUS_OK);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_near(grid_at(&costs.tokens, known[i].b, 0), known[i].linear_ms, 0.03);
    assert_int_equal(costs_read_vidur_attention(&costs, attention, 32, 1, &fault), STATUS_OK);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_near(decode_ms(&costs, known[i].b, 512), known[i].sum_ms, 0.04);
    costs.host_ms = 2.2;
    costs.host_request_ms = 0.04;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_near(decode_ms(&costs, known[i].b, 512), known[i].measured_ms, 0.08);
    assert_near(prefill_ms(&costs, 512), 41.0, 0.09); /* measured */
    const struct truth_range range = { 32, 4096, 128, 64, 4096 };
    struct truth_reduced reduced;
    struct perf_truth truth = costs_truth(&costs);
    assert_true(truth_reduce(&truth, &range, &reduced));
    print_message("7B from tables, as a line: prefill off by %.1f%%, decode by %.1f%% on average\n",
                  100 * reduced.prefill.mean_abs, 100 * reduced.decode.mean_abs);
    assert_true(reduced.prefill.mean_abs < 0.15 && reduced.decode.mean_abs < 0.1);
    costs_free(&costs);
    mem_give(mlp);
    mem_give(attention);
}

static void host_overheads(void **state)
{
    (void)state;
    struct costs costs = { 0 };
    struct fault fault;
    char *text = read_shared("vidur-profiles/a100/cpu_overheads.csv");
    if (text == NULL)
        TEST_SKIP("no ../shared beside the repository");
    assert_int_equal(costs_read_vidur_host(&costs, text, 1, &fault), STATUS_OK);
    print_message("vLLM 0.2's host: %.2f ms + %.3f ms a sequence\n", costs.host_ms,
                  costs.host_request_ms);
    assert_true(costs.host_ms > 0.5 && costs.host_ms < 5);
    assert_true(costs.host_request_ms > 0.005 && costs.host_request_ms < 0.1);
    assert_int_equal(costs_read_vidur_host(&costs, text, 77, &fault), STATUS_BAD_INPUT);
    mem_give(text);
}

/* docs/ALGORITHMS.md, appendix A: a 512-token prompt and a token after it, ms. */
static void splitwise(void **state)
{
    (void)state;
    static const struct {
        const char *hardware;
        int32_t tp;
        double prefill_ms, token_ms, batch_64_ms; /* 0: not stated */
    } known[] = { { "a100-80gb", 4, 127, 44.5, 0 },
                  { "a100-80gb", 8, 93, 45, 71.6 },
                  { "h100-80gb", 4, 60, 29.4, 0 },
                  { "h100-80gb", 8, 54, 30.6, 50.2 } };
    struct fault fault;
    char *text = read_shared("splitwise-sim/perf_model.csv");
    if (text == NULL)
        TEST_SKIP("no ../shared beside the repository");
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct costs costs = { 0 };
        const struct costs_splitwise which = { "llama2-70b", known[i].hardware, known[i].tp };
        assert_int_equal(costs_read_splitwise(&costs, text, &which, &fault), STATUS_OK);
        assert_near(prefill_ms(&costs, 512), known[i].prefill_ms, 0.03);
        assert_near(decode_ms(&costs, 1, 576), known[i].token_ms, 0.03);
        if (known[i].batch_64_ms > 0)
            assert_near(decode_ms(&costs, 64, 576), known[i].batch_64_ms, 0.03);
        costs_free(&costs);
    }
    struct costs none = { 0 };
    const struct costs_splitwise which = { "llama2-70b", "abacus", 1 };
    assert_int_equal(costs_read_splitwise(&none, text, &which, &fault), STATUS_BAD_INPUT);
    costs_free(&none);
    mem_give(text);
}

/* At a point the result is the table's; it grows with the batch. */
static void helix(void **state)
{
    (void)state;
    struct costs costs = { 0 };
    struct fault fault;
    char *text = read_shared("helix/bs2time.csv");
    if (text == NULL)
        TEST_SKIP("no ../shared beside the repository");
    assert_int_equal(costs_read_helix(&costs, text, "llama1_30b,a100", 60, &fault), STATUS_OK);
    assert_near(decode_ms(&costs, 2, 100), 60 * 0.9, 1e-9);
    assert_true(decode_ms(&costs, 200, 100) > decode_ms(&costs, 2, 100));
    assert_true(prefill_ms(&costs, 2000) > prefill_ms(&costs, 200));
    costs_free(&costs);
    mem_give(text);
}

/* The table's own rows are returned, also those of steps with prompts and decodes, which differ
 * from the sum of both. */
static void servingsim(void **state)
{
    (void)state;
    struct costs costs = { 0 };
    struct fault fault;
    char name[256], *texts[3];
    static const char *const parts[] = { "dense", "per_sequence", "attention" };
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name),
                 "llmservingsim/profile/RTX4090_meta-llama_Llama-3.1-8B_bf16_tp1_%s.csv", parts[i]);
        texts[i] = read_shared(name);
        if (texts[i] == NULL)
            TEST_SKIP("no ../shared beside the repository");
    }
    assert_int_equal(costs_read_servingsim_dense(&costs, texts[0], 32, &fault), STATUS_OK);
    assert_int_equal(costs_read_servingsim_sequence(&costs, texts[1], &fault), STATUS_OK);
    assert_int_equal(costs_read_servingsim_attention(&costs, texts[2], 32, &fault), STATUS_OK);
    assert_near(grid_at(&costs.prefill, 512, 1024), 32 * 0.104602, 1e-6);
    assert_near(grid_at(&costs.decode, 1, 16), 32 * 0.00931067, 1e-6);
    struct csv csv;
    double error = 0, n = 0;
    assert_int_equal(csv_open(&csv, texts[2], &fault), STATUS_OK);
    while (csv_next(&csv)) {
        double chunk = csv_f64(&csv, 0), b = csv_f64(&csv, 2), ms = 32e-3 * csv_f64(&csv, 4);
        if (chunk == 0 || b == 0)
            continue;
        const double x[GRID4_AXES] = { chunk, csv_f64(&csv, 1), b, csv_f64(&csv, 3) };
        double at = grid_four_at(&costs.mixed, x),
               sum = grid_at(&costs.prefill, chunk, x[1]) + grid_at(&costs.decode, b, x[3]);
        assert_near(at, ms, 1e-9);
        error += sum > ms ? sum / ms - 1 : 1 - sum / ms;
        n++;
    }
    print_message("the sum of both attentions would be off by %.1f%% over %.0f mixed steps\n",
                  100 * error / n, n);
    assert_true(n > 1000 && error / n > 0.2);
    /* 16 GB of weights at 1,008 GB/s take 15.9 ms: a decode can't be faster, nor much slower. */
    assert_true(decode_ms(&costs, 1, 100) > 15 && decode_ms(&costs, 1, 100) < 22);
    costs_free(&costs);
    for (int i = 0; i < 3; i++)
        mem_give(texts[i]);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        source_root = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_format),     cmocka_unit_test(operations_by_hand),
        cmocka_unit_test(vidur_and_frontier), cmocka_unit_test(host_overheads),
        cmocka_unit_test(splitwise),          cmocka_unit_test(helix),
        cmocka_unit_test(servingsim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
