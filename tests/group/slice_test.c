/* A rank's part of a tensor has the values that the whole tensor has there. */
#include "group/slice.h"
#include "test.h"

#include "compute/quant.h"

enum { ROWS = 48, COLUMNS = 512 };

static void fill(unsigned char *bytes, size_t n)
{
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(x >> 24);
    }
}

static struct tensor tensor_of(enum dtype dtype, const unsigned char *bytes)
{
    return (struct tensor){ .data = bytes,
                            .dtype = dtype,
                            .n_rows = ROWS,
                            .n_columns = COLUMNS,
                            .row_bytes = dtype_row_bytes(dtype, COLUMNS) };
}

/* Compares the bits of all values of the parts with those of the whole. The parts cover it once. */
static void check_parts(const struct tensor *whole, int32_t n_ranks)
{
    static float all[COLUMNS], own[COLUMNS];
    bool is_by_rows = whole->split.kind == TENSOR_ROWS;
    int32_t row = 0, column = 0;
    for (int32_t r = 0; r < n_ranks; r++) {
        struct tensor part;
        if (!group_slice_part(whole, (enum tensor_split_kind)whole->split.kind, r, n_ranks, &part))
            continue;
        for (int32_t i = 0; i < part.n_rows; i++) {
            quant_row_to_float(whole, row + i, all);
            quant_row_to_float(&part, i, own);
            assert_memory_equal(own, all + column, sizeof(float) * (size_t)part.n_columns);
        }
        row += is_by_rows ? part.n_rows : 0;
        column += is_by_rows ? 0 : part.n_columns;
    }
    assert_int_equal(is_by_rows ? row : column, is_by_rows ? ROWS : COLUMNS);
}

static void test_types(void **state)
{
    static const enum dtype dtypes[] = { DTYPE_F32,  DTYPE_F16,  DTYPE_BF16, DTYPE_Q8_0,
                                         DTYPE_Q4_0, DTYPE_Q4_K, DTYPE_Q6_K, DTYPE_MXFP4 };
    static unsigned char bytes[ROWS * COLUMNS * 4];
    (void)state;
    fill(bytes, sizeof bytes);
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        for (int32_t n_ranks = 1; n_ranks <= 4; n_ranks++) {
            struct tensor tensor = tensor_of(dtypes[i], bytes);
            tensor.split = (struct tensor_split){ .kind = TENSOR_ROWS, .unit = 5 };
            check_parts(&tensor, n_ranks);
            tensor.split = (struct tensor_split){ .kind = TENSOR_COLUMNS, .unit = 256 };
            check_parts(&tensor, n_ranks);
        }
}

/* Stored the other way round, and with a second tensor's columns between. */
static void test_transposed(void **state)
{
    static unsigned char bytes[ROWS * COLUMNS * 4];
    (void)state;
    fill(bytes, sizeof bytes);
    for (int is_alternate = 0; is_alternate <= 1; is_alternate++)
        for (enum tensor_split_kind kind = TENSOR_ROWS; kind <= TENSOR_COLUMNS; kind++) {
            struct tensor tensor = tensor_of(DTYPE_F16, bytes);
            tensor.is_transposed = true;
            tensor.is_alternate = is_alternate;
            tensor.row_bytes = ROWS * (is_alternate ? 4 : 2);
            tensor.split = (struct tensor_split){ .kind = (uint8_t)kind, .unit = 16 };
            check_parts(&tensor, 3);
        }
}

/* Each layout of values and scales that lie apart. */
static void test_parts_apart(void **state)
{
    static const struct {
        enum tensor_layout layout;
        int32_t n_bits;
        bool has_zeros;
        enum dtype dtype;
    } rows[] = {
        { TENSOR_MXFP4, 4, false, DTYPE_MXFP4 }, { TENSOR_GPTQ, 4, true, DTYPE_Q5_0 },
        { TENSOR_AWQ, 4, true, DTYPE_Q5_0 },     { TENSOR_PACKED, 4, false, DTYPE_Q4_0 },
        { TENSOR_BYTES, 8, false, DTYPE_Q8_0 },  { TENSOR_F8, 8, false, DTYPE_F8_E4M3 },
    };
    static unsigned char bytes[ROWS * COLUMNS], scales[ROWS * COLUMNS / 8], zeros[ROWS * COLUMNS];
    (void)state;
    fill(bytes, sizeof bytes);
    fill(scales, sizeof scales);
    fill(zeros, sizeof zeros);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct tensor_apart apart = { .layout = rows[i].layout,
                                            .n_bits = rows[i].n_bits,
                                            .n_rows = ROWS,
                                            .n_columns = COLUMNS,
                                            .row_group = rows[i].layout == TENSOR_F8 ? 16 : 1,
                                            .group = rows[i].layout == TENSOR_F8 ? 128 : 64,
                                            .scale_dtype = DTYPE_F16,
                                            .values = bytes,
                                            .scales = scales,
                                            .zeros = rows[i].has_zeros ? zeros : NULL };
        for (enum tensor_split_kind kind = TENSOR_ROWS; kind <= TENSOR_COLUMNS; kind++) {
            struct tensor tensor = tensor_of(rows[i].dtype, bytes);
            tensor.apart = &apart;
            tensor.apart_step = 1;
            tensor.split = (struct tensor_split){ .kind = (uint8_t)kind, .unit = 128 };
            if (kind == TENSOR_ROWS)
                tensor.split.unit = 5;
            check_parts(&tensor, 3);
        }
    }
}

static void test_vectors_and_ranks(void **state)
{
    static float values[COLUMNS];
    struct tensor part, tensor = tensor_of(DTYPE_F32, (const unsigned char *)values);
    (void)state;
    tensor.n_rows = 1;
    tensor.split = (struct tensor_split){ .kind = TENSOR_ROWS, .unit = 128 };
    assert_true(group_slice_part(&tensor, TENSOR_ROWS, 1, 2, &part));
    assert_ptr_equal(part.data, values + 256);
    assert_int_equal(part.n_columns, 256);
    /* Fewer units than ranks: some have none. */
    tensor.split.unit = 256;
    for (int r = 0; r < 4; r++)
        assert_int_equal(group_slice_part(&tensor, TENSOR_ROWS, r, 4, &part), r % 2);
    /* Only some ranks share it. */
    tensor.split = (struct tensor_split){ .kind = TENSOR_WHOLE, .ranks = 6 };
    for (int r = 0; r < 4; r++)
        assert_int_equal(group_slice_part(&tensor, TENSOR_WHOLE, r, 4, &part), r == 1 || r == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_types),
                                        cmocka_unit_test(test_transposed),
                                        cmocka_unit_test(test_parts_apart),
                                        cmocka_unit_test(test_vectors_and_ranks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
