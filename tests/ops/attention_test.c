/* Attention over long contexts, where a tile's pieces are shared among the team: the bits of the
 * reference, for grouped and single heads, windows, types of cache, sizes of blocks, units of
 * heads, numbers of threads, and batches that mix single rows with many. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cpu/cpu.h"
#include "toy.h"

enum { N_SEQUENCES = 3, N_ROWS = 1090 };

static const struct toy_options base = { .dtype = DTYPE_F32,
                                         .n_layers = 2,
                                         .width = 32,
                                         .head_dim = 16,
                                         .ffn = 32,
                                         .n_vocabulary = 5,
                                         .n_positions = N_ROWS,
                                         .n_rope_dims = 16,
                                         .is_gated = true,
                                         .act = ACT_SILU,
                                         .kv_dtype = DTYPE_F16 };

/* n_heads, n_kv_heads, head_dim, window, kv_dtype, and the lengths of the sequences */
static const struct shape {
    int32_t n_heads, n_kv_heads, head_dim, window;
    enum dtype kv_dtype;
    int32_t n_rows[N_SEQUENCES];
} shapes[] = {
    { 2, 1, 16, 0, DTYPE_F16, { 1090, 300, 70 } }, { 6, 6, 16, 0, DTYPE_F16, { 520, 40, 260 } },
    { 3, 1, 20, 300, DTYPE_F32, { 800, 513, 9 } }, { 24, 1, 16, 0, DTYPE_F16, { 530, 30, 3 } },
    { 2, 2, 64, 0, DTYPE_F16, { 280, 40, 270 } },  { 5, 5, 128, 40, DTYPE_F16, { 70, 13, 60 } },
    { 8, 1, 64, 0, DTYPE_F16, { 270, 20, 60 } },   { 2, 1, 32, 0, DTYPE_Q8_0, { 1090, 300, 70 } },
    { 2, 2, 64, 0, DTYPE_Q8_0, { 280, 40, 270 } }, { 5, 5, 128, 40, DTYPE_Q8_0, { 70, 13, 60 } },
    { 9, 1, 64, 0, DTYPE_Q8_0, { 270, 20, 60 } },
};

static struct compute_device *open_cpu(enum cpu_isa isa, int n_threads)
{
    struct device_spec device = { .kind = DEVICE_CPU, .n_cores = n_threads };
    for (int i = 0; i < n_threads; i++)
        device.cores[i] = i % (int)sysconf(_SC_NPROCESSORS_ONLN);
    return cpu_open(&device, isa);
}

static void run_alone(struct toy_model *model, const struct shape *shape, float *logits)
{
    for (int i = 0; i < N_SEQUENCES; i++)
        toy_run(model, &(struct toy_item){ i, 0, shape->n_rows[i] }, 1, logits);
}

/* Runs long prompts up to a few rows before the end, then the rest row by row or in small chunks,
 * alone and together. */
static void run_in_parts(struct toy_model *model, const struct shape *shape, struct rng *rng,
                         float *logits)
{
    int32_t done[N_SEQUENCES] = { 0 };
    for (bool is_open = true; is_open;) {
        struct toy_item items[N_SEQUENCES];
        int n_items = 0, only = (int)rng_below(rng, 2 * N_SEQUENCES);
        is_open = false;
        for (int i = 0; i < N_SEQUENCES; i++) {
            int32_t left = shape->n_rows[i] - done[i];
            is_open = is_open || left > 0;
            if (left == 0 || (only < N_SEQUENCES && only != i))
                continue;
            int32_t n = rng_below(rng, 3) == 0 ? 1 + (int32_t)rng_below(rng, 5) : 1;
            n = left > 8 ? left - 7 - (int32_t)rng_below(rng, 2) : min_i32(n, left);
            items[n_items++] = (struct toy_item){ i, done[i], n };
            done[i] += n;
        }
        if (n_items > 0)
            toy_run(model, items, n_items, logits);
    }
}

static void check_equal(const struct toy *toy, const struct shape *shape, const float *want,
                        const float *got, const char *who)
{
    int32_t n = toy->options.n_vocabulary;
    for (int s = 0; s < N_SEQUENCES; s++)
        for (int32_t at = 0; at < shape->n_rows[s] * n; at++) {
            int64_t i = (int64_t)s * toy->options.n_positions * n + at;
            if (memcmp(&want[i], &got[i], sizeof(float)) != 0)
                fail_msg("%s, %d heads: sequence %d, row %d: %.9g, expected %.9g", who,
                         shape->n_heads, s, at / n, (double)got[i], (double)want[i]);
            assert_true(got[i] == got[i]);
        }
}

static void check_shape(const struct shape *shape, uint64_t seed)
{
    static const int32_t block_tokens[] = { 16, 7, 32, 8 };
    struct toy_options options = base;
    options.n_heads = shape->n_heads;
    options.n_kv_heads = shape->n_kv_heads;
    options.head_dim = shape->head_dim;
    options.window = shape->window;
    options.kv_dtype = shape->kv_dtype;
    struct toy toy;
    struct toy_model model;
    struct rng rng;
    rng_init(&rng, seed, (uint64_t)(shape - shapes));
    toy_init(&toy, &options, seed);
    size_t n_bytes = toy_logits_count(&toy) * sizeof(float);
    float *want = mem_take(n_bytes), *got = mem_take(n_bytes);
    struct compute_device *backend = compute_reference_open(COMPUTE_ARITHMETIC_CPU);
    toy_load(&model, &toy, backend, 64);
    run_alone(&model, shape, want);
    toy_unload(&model);
    backend->close(backend->self);
    int n_ways = shape->n_rows[0] < 600 ? 4 : 3; /* the long ones take long enough */
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++)
        for (int n = 1; n <= n_ways; n++) {
            backend = open_cpu((enum cpu_isa)isa, n < 4 ? n : 2);
            if (n < 4)
                toy_load(&model, &toy, backend, block_tokens[n - 1]);
            else
                toy_load_heads(&model, &toy, backend, block_tokens[n - 1]);
            memset(got, 0xFF, n_bytes);
            run_in_parts(&model, shape, &rng, got);
            check_equal(&toy, shape, want, got, backend->name);
            toy_unload(&model);
            backend->close(backend->self);
        }
    mem_give(want);
    mem_give(got);
    toy_free(&toy);
}

static void shared_tiles_equal_the_reference(void **state)
{
    (void)state;
    uint64_t seed = test_seed(17);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        check_shape(&shapes[i], seed);
}

enum { DIM = 32, N_TOKENS = 3 };

static struct tensor rows_of(const float *rows, int32_t n_rows)
{
    return (struct tensor){
        .data = rows, .dtype = DTYPE_F32, .n_rows = n_rows, .n_columns = DIM, .row_bytes = DIM * 4
    };
}

/* Sums one head's outputs for three tokens with these queries, keys and values over Q8_0. */
static void attend(struct compute_device *backend, const float *const rows[3], float *sums)
{
    float ones[DIM];
    static const int32_t widths[] = { DIM, DIM, DIM, DIM }, ids[] = { 0, 1, 2 };
    static const bool is_logit_rows[4] = { false };
    static const uint32_t block = 0;
    const struct compute_op ops[] = {
        { .kind = COMPUTE_EMBED, .dst = 0, .weight = 0, .bias = -1, .weight2 = -1, .scale = 1 },
        { .kind = COMPUTE_EMBED, .dst = 1, .weight = 1, .bias = -1, .weight2 = -1, .scale = 1 },
        { .kind = COMPUTE_EMBED, .dst = 2, .weight = 2, .bias = -1, .weight2 = -1, .scale = 1 },
        { .kind = COMPUTE_KV_STORE, .src = 1, .src2 = 2, .weight = -1, .bias = -1, .weight2 = -1 },
        { .kind = COMPUTE_ATTEND, .dst = 3, .weight = -1, .bias = -1, .weight2 = -1, .scale = 1 },
        { .kind = COMPUTE_LOGITS, .src = 3, .weight = 3, .bias = -1, .weight2 = -1 },
    };
    struct tensor tensors[4];
    struct compute_packed packed;
    for (int i = 0; i < DIM; i++)
        ones[i] = 1;
    for (int i = 0; i < 3; i++)
        tensors[i] = rows_of(rows[i], N_TOKENS);
    tensors[3] = rows_of(ones, 1);
    toy_pack(&packed, backend, tensors, 4);
    const struct compute_program program = { .n_ops = COUNT_OF(ops),
                                             .ops = ops,
                                             .n_registers = 4,
                                             .widths = widths,
                                             .is_logit_rows = is_logit_rows,
                                             .n_weights = 4,
                                             .weights = packed.weights,
                                             .n_heads = 1,
                                             .n_kv_heads = 1,
                                             .head_dim = DIM,
                                             .n_vocabulary = 1 };
    const struct compute_sequence sequence = { 0, N_TOKENS, 0, &block, 1 };
    struct compute_pass pass = { .program = &program,
                                 .n_rows = N_TOKENS,
                                 .ids = ids,
                                 .positions = ids,
                                 .n_sequences = 1,
                                 .sequences = &sequence,
                                 .kv = { .blocks_per_unit = 1,
                                         .block_tokens = 16,
                                         .dtype = DTYPE_Q8_0,
                                         .n_layers = 1,
                                         .n_kv_heads = 1,
                                         .head_dim = DIM },
                                 .n_logit_rows = N_TOKENS,
                                 .logit_rows = ids,
                                 .logits = sums };
    pass.kv.block_bytes = pass.kv.unit_bytes = compute_kv_offset(&pass.kv, 1, 0, 0);
    const struct compute_memory_options options = { .n_bytes = (int64_t)pass.kv.unit_bytes };
    assert_int_equal(backend->memory_open(backend->self, &options, &pass.kv.memory, NULL),
                     STATUS_OK);
    toy_compute(backend, &pass);
    backend->memory_close(backend->self, pass.kv.memory);
    compute_packed_close(&packed);
}

/* The middle one of three keys, or values, has a scale that no half can hold. All that reads it is
 * NaN, even when its score would be minus infinity and its weight 0. */
static void check_too_large(struct compute_device *backend)
{
    float plain[N_TOKENS * DIM], large[N_TOKENS * DIM], sums[N_TOKENS];
    for (int i = 0; i < N_TOKENS * DIM; i++) {
        plain[i] = 1;
        large[i] = i / DIM == 1 ? -1e7f : 1;
    }
    for (int i = 0; i < 2; i++) {
        attend(backend, (const float *[]){ plain, i == 0 ? large : plain, i == 0 ? plain : large },
               sums);
        if (!(sums[0] > 31.9f && sums[0] < 32.1f && __builtin_isnan(sums[1]) &&
              __builtin_isnan(sums[2])))
            fail_msg("%s: %g %g %g", backend->name, (double)sums[0], (double)sums[1],
                     (double)sums[2]);
    }
    backend->close(backend->self);
}

static void what_the_cache_cannot_hold_is_nan(void **state)
{
    (void)state;
    check_too_large(compute_reference_open(COMPUTE_ARITHMETIC_CPU));
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++)
        check_too_large(open_cpu((enum cpu_isa)isa, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_the_cache_cannot_hold_is_nan),
                                        cmocka_unit_test(shared_tiles_equal_the_reference) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
