/* The table of number formats against GGUF's figures. */
#include "test.h"
#include "core/dtype.h"

static void has_every_row(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        const char *name;
        int n_block, block_bytes;
    } rows[] = {
        { DTYPE_F32, "F32", 1, 4 },
        { DTYPE_F16, "F16", 1, 2 },
        { DTYPE_BF16, "BF16", 1, 2 },
        { DTYPE_Q8_0, "Q8_0", 32, 34 },
        { DTYPE_Q4_0, "Q4_0", 32, 18 },
        { DTYPE_Q4_1, "Q4_1", 32, 20 },
        { DTYPE_Q5_0, "Q5_0", 32, 22 },
        { DTYPE_Q5_1, "Q5_1", 32, 24 },
        { DTYPE_Q2_K, "Q2_K", 256, 84 },
        { DTYPE_Q3_K, "Q3_K", 256, 110 },
        { DTYPE_Q4_K, "Q4_K", 256, 144 },
        { DTYPE_Q5_K, "Q5_K", 256, 176 },
        { DTYPE_Q6_K, "Q6_K", 256, 210 },
        { DTYPE_IQ4_NL, "IQ4_NL", 32, 18 },
        { DTYPE_IQ4_XS, "IQ4_XS", 256, 136 },
        { DTYPE_MXFP4, "MXFP4", 32, 17 },
        { DTYPE_TQ1_0, "TQ1_0", 256, 54 },
        { DTYPE_TQ2_0, "TQ2_0", 256, 66 },
        { DTYPE_F8_E4M3, "F8_E4M3", 128, 132 },
    };
    assert_int_equal(COUNT_OF(rows), DTYPE_N);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct dtype_info *info = dtype_info(rows[i].dtype);
        assert_string_equal(info->name, rows[i].name);
        assert_int_equal(info->n_block, rows[i].n_block);
        assert_int_equal(info->block_bytes, rows[i].block_bytes);
        assert_int_equal(info->is_integer, rows[i].n_block > 1 && rows[i].dtype != DTYPE_F8_E4M3);
    }
}

static void counts_row_bytes(void **state)
{
    (void)state;
    assert_int_equal(dtype_row_bytes(DTYPE_F16, 7), 14);
    assert_int_equal(dtype_row_bytes(DTYPE_Q8_0, 64), 68);
    assert_int_equal(dtype_row_bytes(DTYPE_Q6_K, 512), 420);
    assert_int_equal(dtype_row_bytes(DTYPE_Q4_K, 0), 0);
    assert_int_equal(dtype_row_bytes(DTYPE_Q8_0, 33), -1);
    assert_int_equal(dtype_row_bytes(DTYPE_F32, -1), -1);
    assert_int_equal(dtype_row_bytes(DTYPE_F32, INT64_MAX), -1);
}

static void ask_beyond(void *arg)
{
    (void)arg;
    dtype_info(DTYPE_N);
}

static void dies_beyond_the_table(void **state)
{
    (void)state;
    test_dies(ask_beyond, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_every_row),
        cmocka_unit_test(counts_row_bytes),
        cmocka_unit_test(dies_beyond_the_table),
    };
    return cmocka_run_group_tests_name("core/dtype", tests, NULL, NULL);
}
