/* Operations row by row on the emulated device: embedding, norms, gates, copies of rows. Embedding,
 * gates and copies have the CPU's bits. Norms have an order of summation of their own. */
#include "cuda/kernels.h"

#include "base/mem.h"
#include "compute/quant.h"
#include "compute/vmath.h"
#include "ops/toy.h"
#include "pieces.h"

static void same_bits(const float *got, const float *want, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (vmath_bits(got[i]) != vmath_bits(want[i]))
            fail_msg("element %d: %.9g, not %.9g", i, (double)got[i], (double)want[i]);
}

static void check_embedding(enum dtype dtype, int32_t n_columns, bool is_positional)
{
    enum { TOKENS = 7, POSITIONS = 5, OFFSET = 2 };
    static const int32_t ids[] = { 6, 0, 3, 3 }, positions[] = { 0, 1, 2, 0 };
    struct tensor tokens = toy_tensor(dtype, TOKENS, n_columns, 1);
    struct tensor places = toy_tensor(dtype, POSITIONS, n_columns, 2);
    struct cuda_embed embed = {
        .tokens = piece_matrix(&tokens),
        .ids = piece_copy(ids, sizeof(ids)),
        .positions = piece_copy(positions, sizeof(positions)),
        .offset = OFFSET,
        .scale = 1.7f,
        .dst = piece_rows(COUNT_OF(ids), n_columns),
    };
    if (is_positional)
        embed.positional = piece_matrix(&places);
    float *row = mem_take((size_t)n_columns * 8);
    assert_true(cuda_kernels_embed(NULL, &embed));
    for (size_t r = 0; r < COUNT_OF(ids); r++) {
        quant_row_to_float(&tokens, ids[r], row);
        quant_row_to_float(&places, positions[r] + OFFSET, row + n_columns);
        for (int32_t i = 0; i < n_columns; i++) {
            row[i] *= embed.scale;
            if (is_positional)
                row[i] += row[n_columns + i];
        }
        same_bits(embed.dst.at + (int64_t)r * embed.dst.stride, row, n_columns);
    }
    mem_give(row);
    mem_give((void *)(uintptr_t)tokens.data);
    mem_give((void *)(uintptr_t)places.data);
    piece_give_matrix(embed.tokens);
    if (is_positional)
        piece_give_matrix(embed.positional);
    emulate_give((void *)(uintptr_t)embed.ids);
    emulate_give((void *)(uintptr_t)embed.positions);
    emulate_give(embed.dst.at);
}

/* This also shows that packing is exact for every type. */
static void embedded_rows_are_the_files(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < (int)CUDA_TYPES; dtype++) {
        int32_t n_block = dtype_info((enum dtype)dtype)->n_block;
        check_embedding((enum dtype)dtype, n_block == 1 ? 13 : n_block * 3, false);
        check_embedding((enum dtype)dtype, n_block == 1 ? 260 : 256, true);
    }
}

/* ---- Norms. ---- */

enum { THREADS = 256 }; /* of the norm's block */

/* Partial sums by thread, folded over warps by halves, warps upwards. */
static float fold_block(const float partial[THREADS])
{
    float total = 0;
    for (int warp = 0; warp < THREADS / 32; warp++) {
        float lanes[32];
        memcpy(lanes, partial + 32 * warp, sizeof(lanes));
        for (int o = 16; o > 0; o /= 2)
            for (int i = 0; i < o; i++)
                lanes[i] += lanes[i + o];
        total = warp == 0 ? lanes[0] : total + lanes[0];
    }
    return total;
}

static void norm_row(const struct cuda_norm *norm, const float *x, float *out)
{
    float partial[THREADS] = { 0 }, mean = 0;
    int32_t n = norm->src.width;
    for (int32_t i = 0; i < n; i++)
        partial[i % THREADS] += x[i];
    mean = norm->is_layer ? fold_block(partial) / (float)n : 0;
    memset(partial, 0, sizeof(partial));
    for (int32_t i = 0; i < n; i++) {
        float t = norm->is_layer ? x[i] - mean : x[i];
        partial[i % THREADS] = vmath_fma(t, t, partial[i % THREADS]);
    }
    float inverse = 1.0f / __builtin_sqrtf(fold_block(partial) / (float)n + norm->epsilon);
    for (int32_t i = 0; i < n; i++) {
        float t = (norm->is_layer ? x[i] - mean : x[i]) * inverse;
        t = norm->bias != NULL ? vmath_fma(t, norm->weight[i], norm->bias[i]) : t * norm->weight[i];
        out[i] = norm->adds ? out[i] + t : t;
    }
}

static void check_norm(int32_t width, int variant)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)(width + variant), 1);
    struct cuda_rows vectors = piece_random(2, width, &rng);
    struct cuda_norm norm = {
        .src = piece_random(3, width, &rng),
        .dst = piece_random(3, width, &rng),
        .weight = vectors.at,
        .bias = variant & 1 ? vectors.at + vectors.stride : NULL,
        .epsilon = 1e-5f,
        .is_layer = variant & 2,
        .adds = variant & 4,
    };
    size_t n_bytes = (size_t)width * sizeof(float);
    float *want = mem_take(3 * n_bytes);
    if (variant == 8) { /* in place */
        emulate_give(norm.dst.at);
        norm.dst = norm.src;
    }
    for (int32_t r = 0; r < 3; r++) {
        memcpy(want + r * width, norm.dst.at + r * norm.dst.stride, n_bytes);
        norm_row(&norm, norm.src.at + r * norm.src.stride, want + r * width);
    }
    assert_true(cuda_kernels_norm(NULL, &norm));
    for (int32_t r = 0; r < 3; r++)
        same_bits(norm.dst.at + r * norm.dst.stride, want + r * width, width);
    mem_give(want);
    emulate_give(vectors.at);
    emulate_give(norm.src.at);
    if (variant != 8)
        emulate_give(norm.dst.at);
}

static void norms_have_the_stated_bits(void **state)
{
    static const int32_t widths[] = { 1, 31, 64, 255, 256, 257, 1000 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(widths); i++)
        for (int variant = 0; variant <= 8; variant++)
            check_norm(widths[i], variant);
}

/* ---- Gates and copies. ---- */

static float act_of(int32_t act, float x)
{
    return act == 0   ? vmath_silu(x)
           : act == 1 ? vmath_gelu_tanh(x)
           : act == 2 ? vmath_gelu_erf(x)
                      : vmath_relu(x);
}

static void gates_have_the_processors_bits(void **state)
{
    static const float odd[] = { 0.0f, -0.0f, 100.0f, -100.0f, 1e-40f, -__builtin_inff() };
    (void)state;
    for (int32_t act = 0; act < 4; act++) {
        struct rng rng;
        rng_init(&rng, (uint64_t)act, 1);
        struct cuda_gate gate = { piece_random(3, 301, &rng), piece_random(3, 301, &rng),
                                  piece_rows(3, 301), act };
        float want[3][301];
        memcpy(gate.src.at + 20, odd, sizeof(odd));
        for (int32_t r = 0; r < 3; r++)
            for (int32_t i = 0; i < 301; i++)
                want[r][i] = act_of(act, gate.src.at[r * gate.src.stride + i]) *
                             gate.src2.at[r * gate.src2.stride + i];
        assert_true(cuda_kernels_gate(NULL, &gate));
        for (int32_t r = 0; r < 3; r++)
            same_bits(gate.dst.at + r * gate.dst.stride, want[r], 301);
        emulate_give(gate.dst.at);
        gate.dst = gate.src; /* in place */
        assert_true(cuda_kernels_gate(NULL, &gate));
        for (int32_t r = 0; r < 3; r++)
            same_bits(gate.dst.at + r * gate.dst.stride, want[r], 301);
        emulate_give(gate.src.at);
        emulate_give(gate.src2.at);
    }
}

static void rows_are_taken(void **state)
{
    static const int32_t list[] = { 4, 0, 4 };
    (void)state;
    struct rng rng;
    rng_init(&rng, 1, 1);
    struct cuda_rows src = piece_random(5, 257, &rng), dst = piece_rows(3, 257);
    int32_t *rows = piece_copy(list, sizeof(list));
    assert_true(cuda_kernels_take_rows(NULL, &src, rows, &dst));
    for (int32_t r = 0; r < 3; r++)
        same_bits(dst.at + r * dst.stride, src.at + list[r] * src.stride, 257);
    emulate_give(src.at);
    emulate_give(dst.at);
    emulate_give(rows);
}

static void drawn_ids_are_put_in(void **state)
{
    static const int32_t given[] = { 5, -1, -3, 0 }, last[] = { 11, 12, 13 };
    static const int32_t want[] = { 5, 11, 13, 0 };
    (void)state;
    int32_t *ids = piece_copy(given, sizeof(given)), *drawn = piece_copy(last, sizeof(last));
    assert_true(cuda_kernels_resolve_ids(NULL, ids, COUNT_OF(given), drawn));
    assert_memory_equal(ids, want, sizeof(want));
    emulate_give(ids);
    emulate_give(drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedded_rows_are_the_files),
        cmocka_unit_test(norms_have_the_stated_bits),
        cmocka_unit_test(gates_have_the_processors_bits),
        cmocka_unit_test(rows_are_taken),
        cmocka_unit_test(drawn_ids_are_put_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
