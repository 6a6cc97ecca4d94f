/* Whole passes of toy models on the CUDA device, with rows of both classes.
 *
 * Logits are close to the reference's. They have the same bits however sequences are cut into
 * passes and mixed into batches, whatever the block size, over merged blocks and head-wise ones. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cuda/form.h"
#include "cuda/cuda.h"
#include "emulate/control.h"
#include "ops/toy.h"
#include <math.h>

enum { N_SEQUENCES = 3 };

static const struct toy_options llama = { .n_layers = 2,
                                          .width = 64,
                                          .n_heads = 4,
                                          .n_kv_heads = 2,
                                          .head_dim = 32,
                                          .ffn = 96,
                                          .n_vocabulary = 41,
                                          .n_positions = 300,
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
static const struct toy_options mixture = { .n_layers = 2,
                                            .width = 256,
                                            .n_heads = 8,
                                            .n_kv_heads = 1,
                                            .head_dim = 32,
                                            .ffn = 256,
                                            .n_vocabulary = 33,
                                            .n_positions = 64,
                                            .n_rope_dims = 20,
                                            .window = 9,
                                            .has_bias = true,
                                            .has_qk_norm = true,
                                            .has_post_norms = true,
                                            .is_mixed = true,
                                            .is_pairs = true,
                                            .is_gated = true,
                                            .act = ACT_GELU_ERF,
                                            .kv_dtype = DTYPE_Q8_0 };

static struct compute_device *open_gpu(uint64_t seed)
{
    const struct cuda_options options = { .index = 0, .n_lanes = 1 };
    struct compute_device *device;
    emulate_seed(seed);
    emulate_seed_streams(seed);
    assert_int_equal(cuda_open(&options, &device, NULL), STATUS_OK);
    return device;
}

/* Each sequence in one pass. */
static float *run_plain(const struct toy *toy, struct compute_device *device, int32_t n_rows)
{
    float *logits = mem_take(toy_logits_count(toy) * sizeof(float));
    struct toy_model model;
    toy_load(&model, toy, device, 32);
    for (int i = 0; i < N_SEQUENCES; i++)
        toy_run(&model, &(struct toy_item){ i, 0, n_rows }, 1, logits);
    toy_unload(&model);
    device->close(device->self);
    return logits;
}

/* Cut at random into passes of mixed batches. */
static float *run_mixed(const struct toy *toy, struct compute_device *device, int32_t n_rows,
                        struct rng *rng)
{
    static const int32_t block_tokens[] = { 16, 8, 64 };
    float *logits = mem_take(toy_logits_count(toy) * sizeof(float));
    int32_t done[N_SEQUENCES] = { 0 };
    struct toy_model model;
    int n_open = N_SEQUENCES;
    if (rng_below(rng, 2) == 0)
        toy_load_heads(&model, toy, device, block_tokens[rng_below(rng, 3)]);
    else
        toy_load(&model, toy, device, block_tokens[rng_below(rng, 3)]);
    while (n_open > 0) {
        struct toy_item items[N_SEQUENCES];
        int n_items = 0;
        n_open = 0;
        for (int i = 0; i < N_SEQUENCES; i++) {
            uint32_t most = rng_below(rng, 3) == 0 ? (uint32_t)n_rows : 9;
            int32_t n = min_i32(1 + (int32_t)rng_below(rng, most), n_rows - done[i]);
            if (n > 0 && rng_below(rng, 4) > 0) {
                items[n_items++] = (struct toy_item){ i, done[i], n };
                done[i] += n;
            }
            n_open += done[i] < n_rows;
        }
        if (n_items > 0)
            toy_run(&model, items, n_items, logits);
    }
    toy_unload(&model);
    device->close(device->self);
    return logits;
}

/* The error's root mean square over that of the reference's logits. */
static float error_of(const struct toy *toy, int32_t n_rows, const float *want, const float *got)
{
    float error = 0, square = 0;
    for (int32_t i = 0; i < n_rows * toy->options.n_vocabulary; i++) {
        error += (got[i] - want[i]) * (got[i] - want[i]);
        square += want[i] * want[i];
    }
    return sqrtf(error / square);
}

/* Attention rounds to halves. This change may move an activation to the next integer. */
static float error_max(enum dtype dtype)
{
    return dtype_info(dtype)->is_integer ? 0.06f : dtype == DTYPE_F32 ? 0.001f : 0.01f;
}

static void check_sample(const struct toy_options *options, enum dtype dtype, int32_t n_rows,
                         uint64_t seed)
{
    struct toy toy;
    struct rng rng;
    struct toy_options o = *options;
    o.dtype = dtype;
    rng_init(&rng, seed, (uint64_t)dtype);
    toy_init(&toy, &o, seed);
    float *want = run_plain(&toy, compute_reference_open(COMPUTE_ARITHMETIC_CPU), n_rows);
    float *plain = run_plain(&toy, open_gpu(seed), n_rows);
    float *mixed = run_mixed(&toy, open_gpu(seed + 1), n_rows, &rng), worst = 0;
    for (int s = 0; s < N_SEQUENCES; s++) {
        int64_t first = (int64_t)s * o.n_positions * o.n_vocabulary;
        worst = fmaxf(worst, error_of(&toy, n_rows, want + first, plain + first));
        for (int64_t i = first; i < first + (int64_t)n_rows * o.n_vocabulary; i++)
            if (memcmp(&plain[i], &mixed[i], sizeof(float)) != 0)
                fail_msg("%s, sequence %d, row %d: %.9g, and %.9g in a mixed batch",
                         dtype_info(dtype)->name, s, (int)((i - first) / o.n_vocabulary),
                         (double)plain[i], (double)mixed[i]);
    }
    printf("%s: error %.2g of the logits\n", dtype_info(dtype)->name, (double)worst);
    assert_true(worst <= error_max(dtype)); /* and no NaN */
    mem_give(want);
    mem_give(plain);
    mem_give(mixed);
    toy_free(&toy);
}

static void every_type_computes_models(void **state)
{
    uint64_t seed = test_seed(5);
    (void)state;
    for (int dtype = 0; dtype < (int)CUDA_TYPES; dtype++) {
        bool is_wide = dtype_info((enum dtype)dtype)->n_block > 32;
        check_sample(is_wide ? &mixture : &llama, (enum dtype)dtype, 23, seed + (uint64_t)dtype);
    }
}

static void other_shapes_are_computed(void **state)
{
    uint64_t seed = test_seed(6);
    (void)state;
    check_sample(&gpt2, DTYPE_F32, 19, seed);
    check_sample(&gpt2, DTYPE_BF16, 19, seed);
    check_sample(&mixture, DTYPE_F16, 41, seed);
}

/* Two pieces of 256 positions. */
static void pieces_are_merged(void **state)
{
    struct toy_options o = llama;
    uint64_t seed = test_seed(7);
    (void)state;
    o.n_layers = 1;
    check_sample(&o, DTYPE_Q8_0, 270, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_computes_models),
        cmocka_unit_test(other_shapes_are_computed),
        cmocka_unit_test(pieces_are_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
