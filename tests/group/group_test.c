/* Groups of devices: the bits of a group of CPUs are those of a group of reference devices, for any
 * batch and any cut into passes; one rank has the bits of its device; several ranks are close to
 * it. And groups that fail, and devices that can't be one. */
#include "driven.h"
#include "group/group.h"
#include "test.h"

#include "../ops/toy.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cpu/cpu.h"
#include <math.h>

enum { N_ROWS = 40, N_SEQUENCES = 3 };

static struct compute_device *open_rank(bool is_reference, int i)
{
    const struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { i % 2 } };
    if (is_reference)
        return driven_open(compute_reference_open(COMPUTE_ARITHMETIC_CPU));
    return cpu_open(&device, CPU_ISA_AVX512); /* AMX has another arithmetic */
}

static struct compute_device *open_group(bool is_reference, int n_ranks)
{
    struct compute_device *ranks[8], *group;
    for (int i = 0; i < n_ranks; i++)
        ranks[i] = open_rank(is_reference, i);
    assert_int_equal(group_open(ranks, n_ranks, &group, NULL), STATUS_OK);
    assert_int_equal(group->n_ranks, n_ranks);
    return group;
}

/* Returns the logits of all rows, each sequence in passes of n_rows_max rows; closes the device. */
static float *logits_of(const struct toy *toy, struct compute_device *device, int32_t n_rows_max,
                        bool is_by_head)
{
    float *logits = mem_take(toy_logits_count(toy) * sizeof(float));
    struct toy_model model;
    if (is_by_head)
        toy_load_heads(&model, toy, device, 16);
    else
        toy_load(&model, toy, device, 16);
    for (int32_t at = 0; at < N_ROWS; at += n_rows_max) {
        struct toy_item items[N_SEQUENCES];
        for (int i = 0; i < N_SEQUENCES; i++)
            items[i] = (struct toy_item){ i, at, min_i32(n_rows_max, N_ROWS - at) };
        toy_run(&model, items, N_SEQUENCES, logits);
    }
    toy_unload(&model);
    device->close(device->self);
    return logits;
}

static void check_equal(const struct toy *toy, const float *one, const float *other)
{
    int64_t stride = (int64_t)toy->options.n_positions * toy->options.n_vocabulary;
    for (int s = 0; s < N_SEQUENCES; s++)
        assert_memory_equal(one + s * stride, other + s * stride,
                            sizeof(float) * (size_t)(N_ROWS * toy->options.n_vocabulary));
}

static double distance(const struct toy *toy, const float *one, const float *other)
{
    double worst = 0, largest = 0;
    for (int32_t i = 0; i < N_ROWS * toy->options.n_vocabulary; i++) {
        worst = fmax(worst, fabs((double)one[i] - (double)other[i]));
        largest = fmax(largest, fabs((double)one[i]));
    }
    return worst / largest;
}

/* A llama with more heads of keys than ranks and with fewer; one with uneven heads; a model with
 * biases and an ungated feed-forward; a mixture of experts with biases and sinks. */
static const struct toy_options shapes[] = {
    { .dtype = DTYPE_F32,
      .n_layers = 2,
      .width = 128,
      .n_heads = 8,
      .n_kv_heads = 4,
      .head_dim = 32,
      .ffn = 192,
      .n_vocabulary = 101,
      .n_positions = 48,
      .n_rope_dims = 32,
      .is_gated = true,
      .has_qk_norm = true,
      .act = ACT_SILU,
      .kv_dtype = DTYPE_F16 },
    { .dtype = DTYPE_Q8_0,
      .n_layers = 2,
      .width = 128,
      .n_heads = 8,
      .n_kv_heads = 1,
      .head_dim = 32,
      .ffn = 256,
      .n_vocabulary = 64,
      .n_positions = 48,
      .n_rope_dims = 32,
      .is_gated = true,
      .act = ACT_SILU,
      .kv_dtype = DTYPE_Q8_0 },
    { .dtype = DTYPE_BF16,
      .n_layers = 1,
      .width = 96,
      .n_heads = 10,
      .n_kv_heads = 5,
      .head_dim = 32,
      .ffn = 97,
      .n_vocabulary = 49,
      .n_positions = 48,
      .n_rope_dims = 32,
      .is_gated = true,
      .has_post_norms = true,
      .act = ACT_GELU_TANH,
      .kv_dtype = DTYPE_F32 },
    { .dtype = DTYPE_F16,
      .n_layers = 2,
      .width = 96,
      .n_heads = 4,
      .n_kv_heads = 4,
      .head_dim = 24,
      .ffn = 384,
      .n_vocabulary = 77,
      .n_positions = 48,
      .is_layer_norm = true,
      .has_bias = true,
      .is_learned = true,
      .is_transposed = true,
      .act = ACT_GELU_TANH,
      .kv_dtype = DTYPE_F32 },
    { .dtype = DTYPE_F32,
      .n_layers = 2,
      .width = 64,
      .n_heads = 4,
      .n_kv_heads = 4,
      .head_dim = 32,
      .ffn = 128,
      .n_vocabulary = 40,
      .n_positions = 48,
      .n_rope_dims = 32,
      .is_gated = true,
      .n_experts = 4,
      .n_used = 2,
      .has_expert_bias = true,
      .has_sinks = true,
      .act = ACT_SILU,
      .kv_dtype = DTYPE_F16 },
};

static void test_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct toy toy;
        toy_init(&toy, &shapes[i], i + 1);
        float *one = logits_of(&toy, open_rank(false, 0), N_ROWS, false);
        for (int n_ranks = 1; n_ranks <= 4; n_ranks *= 2) {
            float *naive = logits_of(&toy, open_group(true, n_ranks), N_ROWS, false);
            for (int cut = 1; cut <= N_ROWS; cut *= 3) {
                float *fast = logits_of(&toy, open_group(false, n_ranks), cut, cut > 8);
                check_equal(&toy, naive, fast);
                mem_give(fast);
            }
            printf("shape %zu, %d ranks: %.2e from one device\n", i, n_ranks,
                   distance(&toy, one, naive));
            if (n_ranks == 1)
                check_equal(&toy, one, naive);
            assert_true(distance(&toy, one, naive) < 1e-4);
            mem_give(naive);
        }
        mem_give(one);
        toy_free(&toy);
    }
}

/* Each rank has some of the layers: the bits are those of one device, for any cut. */
static void test_chains(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct toy_options options = shapes[i];
        options.n_layers = 3;
        struct toy toy;
        toy_init(&toy, &options, i + 1);
        float *one = logits_of(&toy, open_rank(false, 0), N_ROWS, false);
        for (int n_ranks = 1; n_ranks <= 3; n_ranks++)
            for (int cut = 2; cut <= N_ROWS; cut *= 4) {
                const int32_t shares[] = { 2, 3, 1 };
                struct compute_device *ranks[3], *chain;
                bool is_reference = cut > 8;
                for (int r = 0; r < n_ranks; r++)
                    ranks[r] = open_rank(is_reference, r);
                assert_int_equal(group_open_chain(ranks, shares, n_ranks, &chain, NULL), STATUS_OK);
                assert_int_equal(chain->n_ranks, 1);
                float *own = logits_of(&toy, chain, cut, cut == 8);
                check_equal(&toy, one, own);
                mem_give(own);
            }
        mem_give(one);
        toy_free(&toy);
    }
}

/* A copy waits for the passes before it on all ranks, and passes for it. */
static void test_copies(void **state)
{
    enum { N = 7, BYTES = 64 };
    struct compute_device *group = open_group(false, 3);
    const struct compute_memory_options options = { .n_bytes = N * BYTES, .is_host = true };
    struct compute_memory *from, *to;
    struct copy_part parts[N];
    (void)state;
    assert_int_equal(group->memory_open(group->self, &options, &from, NULL), STATUS_OK);
    assert_int_equal(group->memory_open(group->self, &options, &to, NULL), STATUS_OK);
    for (int i = 0; i < N * BYTES; i++)
        from->base[i] = (unsigned char)(i * 7);
    for (int i = 0; i < N; i++)
        parts[i] =
            (struct copy_part){ .from = i * BYTES, .to = (N - 1 - i) * BYTES, .n_bytes = BYTES };
    struct compute_copy copy = {
        .work = { .kind = COMPUTE_WORK_COPY }, .from = from, .to = to, .n_parts = N, .parts = parts
    };
    assert_int_equal(compute_device_wait(group, group->lanes[0], &copy.work), COMPUTE_DONE);
    for (int i = 0; i < N; i++)
        assert_memory_equal(to->base + (N - 1 - i) * BYTES, from->base + i * BYTES, BYTES);
    group_fail(group);
    assert_int_equal(compute_device_wait(group, group->lanes[0], &copy.work), COMPUTE_LOST);
    group->memory_close(group->self, from);
    group->memory_close(group->self, to);
    group->close(group->self);
}

static void test_refusals(void **state)
{
    struct compute_device *ranks[2], *group;
    struct fault fault;
    (void)state;
    ranks[0] = open_rank(false, 0);
    ranks[1] = compute_reference_open(COMPUTE_ARITHMETIC_CPU_TILES);
    assert_int_equal(group_open(ranks, 2, &group, &fault), STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "one arithmetic and one lane"));
    assert_int_equal(group_open(ranks, 0, &group, &fault), STATUS_BAD_INPUT);
    ranks[0] = open_rank(true, 0);
    ranks[0]->memory_copy = (bool (*)(void *, struct compute_memory *, struct compute_memory *,
                                      int64_t, int64_t))(uintptr_t)1;
    assert_int_equal(group_open(ranks, 1, &group, &fault), STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "memory of their own"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_bits), cmocka_unit_test(test_chains),
                                        cmocka_unit_test(test_copies),
                                        cmocka_unit_test(test_refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
