/* The same bits on all devices: reference, generic, AVX2, AVX-512 and AMX (the reference of its own
 * arithmetic, where halves are multiplied in tiles), any number of threads, any batch, any cut into
 * passes, any block size, merged blocks and head-wise ones. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cpu/cpu.h"
#include "toy.h"

static struct compute_device *open_cpu(enum cpu_isa isa, int n_threads)
{
    struct device_spec device = { .kind = DEVICE_CPU, .n_cores = n_threads };
    for (int i = 0; i < n_threads; i++)
        device.cores[i] = i % (int)sysconf(_SC_NPROCESSORS_ONLN);
    return cpu_open(&device, isa);
}

/* Returns the reference's logits, with each sequence in one pass. */
static float *expected(const struct toy *toy, uint32_t arithmetic, int n_sequences, int32_t n_rows)
{
    float *logits = mem_take(toy_logits_count(toy) * sizeof(float));
    struct compute_device *backend = compute_reference_open(arithmetic);
    struct toy_model model;
    toy_load(&model, toy, backend, 32);
    for (int i = 0; i < n_sequences; i++)
        toy_run(&model, &(struct toy_item){ i, 0, n_rows }, 1, logits);
    toy_unload(&model);
    backend->close(backend->self);
    return logits;
}

/* The sequences cut at random into passes of mixed batches. */
static void run_mixed(struct toy_model *model, int n_sequences, int32_t n_rows, struct rng *rng,
                      float *logits)
{
    int32_t done[TOY_SEQUENCES_MAX] = { 0 };
    for (;;) {
        struct toy_item items[TOY_SEQUENCES_MAX];
        int n_items = 0, n_open = 0;
        int first = (int)rng_below(rng, (uint32_t)n_sequences);
        for (int j = 0; j < n_sequences; j++) {
            int i = (first + j) % n_sequences;
            n_open += done[i] < n_rows;
            if (done[i] == n_rows || rng_below(rng, 4) == 0)
                continue;
            uint32_t most = rng_below(rng, 3) == 0 ? (uint32_t)n_rows : 5;
            int32_t n = min_i32(1 + (int32_t)rng_below(rng, most), n_rows - done[i]);
            items[n_items++] = (struct toy_item){ i, done[i], n };
            done[i] += n;
        }
        if (n_items > 0)
            toy_run(model, items, n_items, logits);
        if (n_open == 0)
            return;
    }
}

static void check_equal(const struct toy *toy, int n_sequences, int32_t n_rows, const float *want,
                        const float *got, const char *who)
{
    const struct toy_options *o = &toy->options;
    for (int s = 0; s < n_sequences; s++)
        for (int32_t at = 0; at < n_rows * o->n_vocabulary; at++) {
            int64_t i = (int64_t)s * o->n_positions * o->n_vocabulary + at;
            if (memcmp(&want[i], &got[i], sizeof(float)) != 0)
                fail_msg("%s, %s: sequence %d, row %d, logit %d: %.9g, expected %.9g", who,
                         dtype_info(o->dtype)->name, s, at / o->n_vocabulary, at % o->n_vocabulary,
                         (double)got[i], (double)want[i]);
            assert_true(got[i] == got[i]);
        }
}

/* The shapes: a mixture of experts, a llama with grouped heads, a GPT-2 with odd widths, a mix of
 * everything else. */
static const struct toy_options llama = { .n_layers = 2,
                                          .width = 256,
                                          .n_heads = 8,
                                          .n_kv_heads = 2,
                                          .head_dim = 32,
                                          .ffn = 512,
                                          .n_vocabulary = 83,
                                          .n_positions = 700,
                                          .n_rope_dims = 32,
                                          .is_gated = true,
                                          .act = ACT_SILU,
                                          .kv_dtype = DTYPE_F16 };
static const struct toy_options gpt2 = { .n_layers = 2,
                                         .width = 72,
                                         .n_heads = 3,
                                         .n_kv_heads = 3,
                                         .head_dim = 24,
                                         .ffn = 101,
                                         .n_vocabulary = 50,
                                         .n_positions = 80,
                                         .is_layer_norm = true,
                                         .has_bias = true,
                                         .is_learned = true,
                                         .is_transposed = true,
                                         .act = ACT_GELU_TANH,
                                         .kv_dtype = DTYPE_F32 };
static const struct toy_options mixture = { .n_layers = 1,
                                            .width = 256,
                                            .n_heads = 24,
                                            .n_kv_heads = 1,
                                            .head_dim = 32,
                                            .ffn = 256,
                                            .n_vocabulary = 33,
                                            .n_positions = 400,
                                            .n_rope_dims = 20,
                                            .window = 9,
                                            .has_bias = true,
                                            .has_qk_norm = true,
                                            .is_pairs = true,
                                            .act = ACT_GELU_ERF,
                                            .kv_dtype = DTYPE_F16 };

/* A mixture of experts. Most passes have an expert without a row and one with many. */
static const struct toy_options experts = { .n_layers = 1,
                                            .width = 256,
                                            .n_heads = 8,
                                            .n_kv_heads = 2,
                                            .head_dim = 32,
                                            .ffn = 256,
                                            .n_vocabulary = 35,
                                            .n_positions = 60,
                                            .n_rope_dims = 32,
                                            .is_gated = true,
                                            .n_experts = 7,
                                            .n_used = 2,
                                            .act = ACT_SILU,
                                            .kv_dtype = DTYPE_F16 };

/* A model, its uses, and the reference's results in both arithmetics, which are made when they are
 * first needed. */
static struct sample {
    struct toy_options options;
    int n_sequences;
    int32_t n_rows;
    int n_threads_max;
    struct toy toy;
    float *want[2];
} samples[5 * DTYPE_N];
static int n_samples;
static uint64_t seed;

static struct sample *add_sample(const struct toy_options *options, enum dtype dtype,
                                 int n_sequences, int32_t n_rows, int n_threads_max)
{
    struct sample *sample = &samples[n_samples++];
    bool is_quick = getenv("TEST_QUICK") != NULL; /* for emulators */
    sample->options = *options;
    sample->options.dtype = dtype;
    sample->n_sequences = is_quick ? 1 : n_sequences;
    sample->n_rows = is_quick ? min_i32(n_rows, 3) : n_rows;
    sample->n_threads_max = is_quick ? 1 : n_threads_max;
    return sample;
}

static void list_samples(void)
{
    for (int dtype = 0; dtype < DTYPE_N; dtype++) {
        add_sample(&llama, (enum dtype)dtype, 4, 17, 3);
        add_sample(&experts, (enum dtype)dtype, 4, 19, 3)->options.is_scaled_to_one = dtype % 2;
        if (dtype_info((enum dtype)dtype)->n_block == 1)
            add_sample(&gpt2, (enum dtype)dtype, 3, 29, 3);
        else if (dtype % 3 == 0)
            add_sample(&mixture, (enum dtype)dtype, 2, 13, 2);
    }
    /* Pieces of 256 positions and their merging. */
    add_sample(&llama, DTYPE_Q8_0, 1, 530, 2)->options.n_layers = 1;
    add_sample(&mixture, DTYPE_BF16, 1, 330, 1)->options.window = 270;
    /* Layers that differ, and post norms, over all forms of rows. */
    static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_F16, DTYPE_Q8_0, DTYPE_Q4_K };
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        struct sample *sandwich = add_sample(&mixture, dtypes[i], 3, 23, 3);
        sandwich->options.n_layers = 2;
        sandwich->options.has_post_norms = sandwich->options.is_mixed = true;
        sandwich->options.is_gated = true;
        sandwich->options.act = ACT_GELU_TANH;
    }
    /* As gpt-oss and Gemma 2 have it, over pieces too. */
    static const enum dtype mixed[] = { DTYPE_F32, DTYPE_BF16, DTYPE_Q8_0, DTYPE_MXFP4 };
    for (size_t i = 0; i < COUNT_OF(mixed); i++) {
        struct sample *sinks = add_sample(&experts, mixed[i], i == 3 ? 1 : 3, i == 3 ? 300 : 21, 3);
        sinks->options.has_sinks = sinks->options.has_expert_bias = sinks->options.is_clamped =
            true;
        sinks->options.has_bias = i % 2 == 1;
        sinks->options.n_experts = 6;
        sinks->options.n_positions = 320;
        sinks->options.cap = i < 2 ? 1.5f : 0;
        sinks->options.router = (struct compute_experts){ .is_sigmoid = i < 3,
                                                          .n_groups = i < 2 ? 2 : 0,
                                                          .n_groups_used = 1,
                                                          .scale = i == 0 ? 2.5f : 0 };
        sinks->options.is_scaled_to_one = i != 1;
    }
    /* Latent attention, over tiles of rows and over pieces. */
    static const enum dtype latent[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0, DTYPE_Q4_K };
    static const enum dtype kept[] = { DTYPE_F16, DTYPE_Q8_0, DTYPE_F32, DTYPE_F16, DTYPE_F16 };
    for (size_t i = 0; i < COUNT_OF(latent); i++) {
        struct sample *own = add_sample(&llama, latent[i], 1, i == 0 ? 270 : 51, 2);
        own->options.n_layers = 1;
        own->options.n_heads = latent[i] == DTYPE_Q4_K ? 4 : 5;
        own->options.n_kv_heads = 1;
        own->options.is_pairs = true;
        own->options.rank = latent[i] == DTYPE_Q4_K ? 256 : 64;
        own->options.key_dim = latent[i] == DTYPE_Q4_K ? 256 : latent[i] == DTYPE_Q8_0 ? 32 : 20;
        own->options.value_dim = latent[i] == DTYPE_Q4_K ? 64 : latent[i] == DTYPE_Q8_0 ? 32 : 24;
        own->options.width = latent[i] == DTYPE_Q4_K ? 256 : 128;
        own->options.head_dim = own->options.rank + own->options.n_rope_dims;
        own->options.kv_dtype = kept[i];
    }
    struct sample *relu = add_sample(&mixture, DTYPE_F16, 2, 20, 2);
    relu->options.act = ACT_RELU;
    relu->options.kv_dtype = DTYPE_F32;
}

static void check_sample(struct sample *sample, enum cpu_isa isa)
{
    struct toy *toy = &sample->toy;
    struct rng rng;
    rng_init(&rng, seed, (uint64_t)(sample - samples));
    uint64_t toy_seed = rng_u64(&rng) % 1000;
    if (sample->want[0] == NULL && sample->want[1] == NULL)
        toy_init(toy, &sample->options, toy_seed);
    float *got = mem_take(toy_logits_count(toy) * sizeof(float));
    static const int32_t block_tokens[] = { 16, 1, 7, 64 };
    for (int n = 1; n <= sample->n_threads_max + 1; n++) {
        bool is_by_head = n > sample->n_threads_max; /* with the most threads again */
        struct compute_device *backend = open_cpu(isa, n - is_by_head);
        struct toy_model model;
        if (is_by_head)
            toy_load_heads(&model, toy, backend, block_tokens[(size_t)(sample - samples) % 4]);
        else
            toy_load(&model, toy, backend, block_tokens[n % 4]);
        float **want = &sample->want[backend->arithmetic == COMPUTE_ARITHMETIC_CPU_TILES];
        if (*want == NULL)
            *want = expected(toy, backend->arithmetic, sample->n_sequences, sample->n_rows);
        memset(got, 0xFF, toy_logits_count(toy) * sizeof(float));
        run_mixed(&model, sample->n_sequences, sample->n_rows, &rng, got);
        check_equal(toy, sample->n_sequences, sample->n_rows, *want, got, backend->name);
        toy_unload(&model);
        backend->close(backend->self);
    }
    mem_give(got);
}

static void check_all(enum cpu_isa isa)
{
    for (int i = 0; i < n_samples; i++)
        check_sample(&samples[i], isa);
}

static void generic_equals_the_reference(void **state)
{
    (void)state;
    check_all(CPU_ISA_GENERIC);
}

static void avx2_equals_the_reference(void **state)
{
    (void)state;
    if (cpu_isa_best() < CPU_ISA_AVX2)
        TEST_SKIP("this CPU has no AVX2");
    check_all(CPU_ISA_AVX2);
}

/* The reference over a head-wise cache. */
static void the_reference_equals_itself(void **state)
{
    (void)state;
    for (int i = 0; i < n_samples; i += 3) {
        struct sample *sample = &samples[i];
        struct toy *toy = &sample->toy;
        float *got = mem_take(toy_logits_count(toy) * sizeof(float));
        struct compute_device *backend = compute_reference_open(COMPUTE_ARITHMETIC_CPU);
        struct toy_model model;
        struct rng rng;
        rng_init(&rng, seed, (uint64_t)i);
        toy_load_heads(&model, toy, backend, 7);
        run_mixed(&model, sample->n_sequences, sample->n_rows, &rng, got);
        check_equal(toy, sample->n_sequences, sample->n_rows, sample->want[0], got, "reference");
        toy_unload(&model);
        backend->close(backend->self);
        mem_give(got);
    }
}

static void avx512_equals_the_reference(void **state)
{
    (void)state;
    if (cpu_isa_best() < CPU_ISA_AVX512)
        TEST_SKIP("this CPU has no AVX-512 VNNI");
    check_all(CPU_ISA_AVX512);
}

static void zen4_equals_the_reference(void **state)
{
    (void)state;
    if (cpu_isa_best() < CPU_ISA_ZEN4)
        TEST_SKIP("this CPU is none of AMD's with AVX-512 VNNI");
    check_all(CPU_ISA_ZEN4);
}

static void amx_equals_the_reference(void **state)
{
    (void)state;
    if (cpu_isa_best() < CPU_ISA_AMX)
        TEST_SKIP("this CPU has no AMX, or it is not allowed");
    check_all(CPU_ISA_AMX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generic_equals_the_reference),
        cmocka_unit_test(avx2_equals_the_reference),
        cmocka_unit_test(avx512_equals_the_reference),
        cmocka_unit_test(zen4_equals_the_reference),
        cmocka_unit_test(amx_equals_the_reference),
        cmocka_unit_test(the_reference_equals_itself),
    };
    seed = test_seed(11);
    list_samples();
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < n_samples; i++) {
        if (samples[i].want[0] != NULL || samples[i].want[1] != NULL)
            toy_free(&samples[i].toy);
        mem_give(samples[i].want[0]);
        mem_give(samples[i].want[1]);
    }
    return n_failed;
}
