/* Heads on the emulated device: angles, norms of heads, rotations, and rows in the cache. All but
 * the norm's sum have the CPU's bits. */
#include "cuda/kernels.h"

#include "base/half.h"
#include "base/mem.h"
#include "base/num.h"
#include "compute/quant.h"
#include "compute/vmath.h"
#include "cache.h"

static void angles_have_the_processors_bits(void **state)
{
    static const int32_t list[] = { 0, 1, 511, 4096, 131071, 1048575 };
    (void)state;
    float frequencies[24];
    for (int i = 0; i < 24; i++)
        frequencies[i] = (float)num_pow(10000.0, -i / 24.0);
    struct cuda_angles angles = {
        .positions = piece_copy(list, sizeof(list)),
        .inverse_frequencies = piece_copy(frequencies, sizeof(frequencies)),
        .table = emulate_take(COUNT_OF(list) * 48 * sizeof(float)),
        .n_rows = COUNT_OF(list),
        .n_dims = 48,
        .scale = 1.1f,
    };
    assert_true(cuda_kernels_angles(NULL, &angles));
    for (size_t r = 0; r < COUNT_OF(list); r++)
        for (int i = 0; i < 24; i++) {
            float sine, cosine, angle = (float)list[r] * frequencies[i];
            vmath_sincos((double)angle, &sine, &cosine);
            assert_true(vmath_bits(angles.table[r * 48 + (size_t)i]) ==
                        vmath_bits(cosine * angles.scale));
            assert_true(vmath_bits(angles.table[r * 48 + 24 + (size_t)i]) ==
                        vmath_bits(sine * angles.scale));
        }
    emulate_give((void *)(uintptr_t)angles.positions);
    emulate_give((void *)(uintptr_t)angles.inverse_frequencies);
    emulate_give(angles.table);
}

/* ---- What a head becomes. ---- */

static void norm_head(float *x, int32_t n, const float *weight, float epsilon)
{
    float lanes[32] = { 0 };
    for (int32_t i = 0; i < n; i++)
        lanes[i % 32] = vmath_fma(x[i], x[i], lanes[i % 32]);
    for (int o = 16; o > 0; o /= 2)
        for (int i = 0; i < o; i++)
            lanes[i] += lanes[i + o];
    float inverse = 1.0f / __builtin_sqrtf(lanes[0] / (float)n + epsilon);
    for (int32_t i = 0; i < n; i++)
        x[i] = x[i] * inverse * weight[i];
}

static void rotate(float *x, const float *table, int32_t n_dims, bool is_pairs)
{
    int32_t half = n_dims / 2;
    for (int32_t i = 0; i < half; i++) {
        float *a = is_pairs ? x + 2 * i : x + i, *b = is_pairs ? a + 1 : a + half;
        float a0 = *a, b0 = *b;
        *a = vmath_fma(a0, table[i], -(b0 * table[half + i]));
        *b = vmath_fma(b0, table[i], a0 * table[half + i]);
    }
}

/* A row as the cache has it. */
static void round_row(enum dtype dtype, float *x, int32_t n)
{
    for (int32_t d = 0; d < n && dtype == DTYPE_F16; d++)
        x[d] = half_to_float(half_from_float(x[d]));
    for (int32_t d = 0; d < n && dtype == DTYPE_Q8_0; d += 32) {
        int8_t q[32];
        float scale = quant_activations(x + d, q);
        scale = half_to_float(quant_cache_scale(half_from_float(scale)));
        for (int i = 0; i < 32; i++)
            x[d + i] = scale * (float)q[i];
    }
}

struct variant {
    bool has_norm, has_table, is_pairs;
};

static void compare_heads(const struct cuda_rows *got, const float *want, int32_t n)
{
    for (int32_t r = 0; r < got->n_rows; r++)
        assert_memory_equal(got->at + r * got->stride, want + r * n, (size_t)n * sizeof(float));
}

static void expect_rows(struct cuda_rows rows, const struct cuda_heads *h, const float *weight,
                        bool is_turned, float *want)
{
    int32_t n = h->head_dim;
    for (int32_t r = 0; r < rows.n_rows; r++)
        for (int32_t head = 0; head < rows.width / n; head++) {
            float *x = want + (int64_t)r * rows.width + (int64_t)head * n;
            memcpy(x, rows.at + r * rows.stride + (int64_t)head * n, (size_t)n * sizeof(float));
            if (weight != NULL)
                norm_head(x, n, weight, h->epsilon);
            if (is_turned && h->table != NULL)
                rotate(x, h->table + r * h->n_rope_dims, h->n_rope_dims, h->is_pairs);
        }
}

static void compare_cache(const struct cache *cache, const float *const want[2], int32_t layer)
{
    int32_t n = cache->shape.head_dim, width = n * cache->shape.n_kv_heads;
    float got[CUDA_HEAD_DIM_MAX], row[CUDA_HEAD_DIM_MAX];
    for (int i = 0; i < cache->n_sequences; i++)
        for (int32_t r = 0; r < cache->sequences[i].n_rows; r++)
            for (int32_t at = 0; at < 2 * cache->shape.n_kv_heads; at++) {
                int32_t part = at % 2, head = at / 2;
                const float *from = want[part];
                from += (int64_t)(cache->sequences[i].first_row + r) * width + head * n;
                memcpy(row, from, (size_t)n * sizeof(float));
                round_row(cache->shape.dtype, row, n);
                cache_read(cache, i, layer, part, head, cache->sequences[i].n_before + r, got);
                for (int32_t d = 0; d < n; d++)
                    if (vmath_bits(got[d]) != vmath_bits(row[d]) &&
                        (got[d] == got[d] || row[d] == row[d]))
                        fail_msg("sequence %d, row %d, part %d, head %d, dim %d: %g, not %g", i, r,
                                 part, head, d, (double)got[d], (double)row[d]);
            }
}

static void check(const struct cache_shape *shape, struct variant variant, uint64_t seed)
{
    static const struct cache_sequence sequences[] = { { 0, 5 }, { 30, 4 }, { 7, 1 } };
    enum { QUERY_GROUP = 3, LAYER = 1 };
    struct rng rng;
    struct cache cache;
    rng_init(&rng, seed, 1);
    cache_open(&cache, shape, sequences, COUNT_OF(sequences), &rng);
    int32_t n = shape->head_dim, rows = cache.n_rows, n_rope_dims = n / 4 * 2;
    struct cuda_rows vectors = piece_random(2, n, &rng);
    float *table = piece_random(1, rows * n_rope_dims, &rng).at;
    struct cuda_heads h = {
        .queries = piece_random(rows, QUERY_GROUP * shape->n_kv_heads * n, &rng),
        .keys = piece_random(rows, shape->n_kv_heads * n, &rng),
        .values = piece_random(rows, shape->n_kv_heads * n, &rng),
        .query_weight = variant.has_norm ? vectors.at : NULL,
        .key_weight = variant.has_norm ? vectors.at + vectors.stride : NULL,
        .epsilon = 1e-6f,
        .table = variant.has_table ? table : NULL,
        .n_rope_dims = n_rope_dims,
        .is_pairs = variant.is_pairs,
        .batch = cache.batch,
        .cache = cache.cuda,
        .n_rows = rows,
        .head_dim = n,
        .layer = LAYER,
    };
    int32_t width = h.keys.width;
    memset(h.keys.at + h.keys.stride, 0, 32 * sizeof(float)); /* a block of zeros */
    h.values.at[h.values.stride + 3] = 3e38f;                 /* its scale is no half */
    float *want = mem_take((size_t)rows * (size_t)width * (QUERY_GROUP + 2) * sizeof(float));
    float *keys = want + (int64_t)rows * h.queries.width, *values = keys + (int64_t)rows * width;
    expect_rows(h.queries, &h, h.query_weight, true, want);
    expect_rows(h.keys, &h, h.key_weight, true, keys);
    expect_rows(h.values, &h, NULL, false, values);
    assert_true(cuda_kernels_heads(NULL, &h));
    compare_heads(&h.queries, want, h.queries.width);
    compare_heads(&h.keys, keys, width);
    compare_heads(&h.values, values, width);
    compare_cache(&cache, (const float *[]){ keys, values }, LAYER);
    mem_give(want);
    emulate_give(vectors.at);
    emulate_give(table);
    emulate_give(h.queries.at);
    emulate_give(h.keys.at);
    emulate_give(h.values.at);
    cache_close(&cache);
}

static void heads_are_turned_and_stored(void **state)
{
    static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_F16, DTYPE_Q8_0 };
    static const int32_t dims[] = { 8, 32, 64, 96, 128, 256 }, tokens[] = { 1, 16, 32, 48 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        for (size_t j = 0; j < COUNT_OF(dims); j++)
            for (int k = 0; k < 4; k++) {
                struct cache_shape shape = { dtypes[i], tokens[k], 2, 2, dims[j], k % 2 };
                if (dtypes[i] == DTYPE_Q8_0 && dims[j] % 32 != 0)
                    continue;
                emulate_seed(j + 1);
                check(&shape, (struct variant){ k & 1, k < 3, k & 2 }, i * 10 + j);
            }
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    float x[64];
    struct cuda_heads h = { .keys = { x, 64, 1, 64 }, .n_rows = 1, .head_dim = 16 };
    h.cache = (struct cuda_cache){ .base = (unsigned char *)x, .type = CUDA_Q8_0, .head_dim = 16 };
    assert_false(cuda_kernels_heads(NULL, &h)); /* 32 does not divide 16 */
    h.cache.type = CUDA_BF16;
    assert_false(cuda_kernels_heads(NULL, &h));
    h.cache.type = CUDA_F16;
    h.cache.head_dim = 8;
    assert_false(cuda_kernels_heads(NULL, &h));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angles_have_the_processors_bits),
        cmocka_unit_test(heads_are_turned_and_stored),
        cmocka_unit_test(wrong_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
