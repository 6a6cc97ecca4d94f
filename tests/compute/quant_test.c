/* Every block format against what Python's gguf package decodes, and the quantizer of activations.
 */
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "compute/quant.h"
#include "compute/vmath.h"

static const char *data_folder; /* tests/golden/data/quants */

static void check_type(enum dtype dtype)
{
    const struct dtype_info *info = dtype_info(dtype);
    char path[512], lower[16];
    for (size_t i = 0; i <= strlen(info->name); i++)
        lower[i] = (char)(info->name[i] >= 'A' && info->name[i] <= 'Z' ? info->name[i] + 32
                                                                       : info->name[i]);
    char *blocks, *floats;
    size_t n_blocks, n_floats;
    struct fault fault;
    snprintf(path, sizeof(path), "%s/%s.bin", data_folder, lower);
    assert_int_equal(file_read(path, 1 << 20, &blocks, &n_blocks, &fault), STATUS_OK);
    snprintf(path, sizeof(path), "%s/%s.f32", data_folder, lower);
    assert_int_equal(file_read(path, 1 << 20, &floats, &n_floats, &fault), STATUS_OK);
    n_blocks /= (size_t)info->block_bytes;
    assert_int_equal(n_blocks * (size_t)info->n_block * sizeof(float), n_floats);
    float *got = mem_take(n_floats);
    struct tensor tensor = { blocks,
                             dtype,
                             1,
                             (int32_t)(n_floats / sizeof(float)),
                             (int64_t)n_blocks * info->block_bytes,
                             false };
    quant_row_to_float(&tensor, 0, got);
    for (size_t i = 0; i < n_floats / sizeof(float); i++) {
        float want;
        memcpy(&want, floats + i * sizeof(float), sizeof(want));
        if (memcmp(&want, &got[i], sizeof(want)) != 0 && !(want != want && got[i] != got[i]))
            fail_msg("%s element %zu: %.9g, expected %.9g", info->name, i, (double)got[i],
                     (double)want);
    }
    mem_give(got);
    mem_give(blocks);
    mem_give(floats);
}

static void every_type_is_decoded_exactly(void **state)
{
    (void)state;
    for (int dtype = DTYPE_F16; dtype < DTYPE_N; dtype++)
        check_type((enum dtype)dtype);
}

static void activations_are_scaled_by_their_maximum(void **state)
{
    (void)state;
    float x[32] = { 0 };
    int8_t q[32];
    assert_true(quant_activations(x, q) == 0.0f && q[0] == 0);
    x[3] = -12.7f;
    x[4] = 0.25f; /* 2.5 steps: to even */
    x[5] = 0.35f; /* 3.5 steps */
    float scale = quant_activations(x, q);
    assert_true(scale == 12.7f / 127.0f);
    assert_int_equal(q[3], -127);
    assert_int_equal(q[4], 2);
    x[6] = vmath_of_bits(0x7F800000u);
    scale = quant_activations(x, q);
    assert_true(scale != scale && q[3] == 0);
    x[6] = 0;
    x[3] = x[4] = x[5] = 1e-40f;
    assert_true(quant_activations(x, q) == 0.0f && q[3] == 0);
}

static void transposed_and_strided_rows_are_found(void **state)
{
    (void)state;
    const float data[] = { 1, 2, 3, 4, 5, 6 };
    float out[3];
    struct tensor plain = { data, DTYPE_F32, 2, 2, 3 * sizeof(float), false };
    quant_row_to_float(&plain, 1, out);
    assert_true(out[0] == 4 && out[1] == 5);
    struct tensor transposed = { data, DTYPE_F32, 2, 3, 2 * sizeof(float), true };
    quant_row_to_float(&transposed, 1, out);
    assert_true(out[0] == 2 && out[1] == 4 && out[2] == 6);
}

static void q8_0_comes_back_within_half_a_step(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    float x[64], back[64];
    unsigned char blocks[68];
    for (int i = 0; i < 64; i++)
        x[i] = (float)rng_normal(&rng);
    quant_row_to_q8_0(x, 64, blocks);
    for (int b = 0; b < 2; b++) {
        float max = 0;
        quant_block_to_float(DTYPE_Q8_0, blocks + b * 34, back + b * 32);
        for (int i = b * 32; i < b * 32 + 32; i++)
            max = __builtin_fabsf(x[i]) > max ? __builtin_fabsf(x[i]) : max;
        for (int i = b * 32; i < b * 32 + 32; i++)
            assert_true(__builtin_fabsf(x[i] - back[i]) <= max / 127 * 0.57f);
    }
}

int main(int argc, char **argv)
{
    assert_true(argc > 1);
    data_folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_decoded_exactly),
        cmocka_unit_test(activations_are_scaled_by_their_maximum),
        cmocka_unit_test(transposed_and_strided_rows_are_found),
        cmocka_unit_test(q8_0_comes_back_within_half_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
