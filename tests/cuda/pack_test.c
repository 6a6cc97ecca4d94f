/* Packing: every row of every part lies where the layout says, and an odd tensor is refused.
 * rows_test.c tests the meaning of the bytes, since kernels read them there. */
#include "cuda/pack.h"

#include "base/mem.h"
#include "ops/toy.h"
#include "test.h"

static void check_layout(enum dtype dtype, int32_t n_rows, int32_t n_columns)
{
    struct tensor tensor = toy_tensor(dtype, n_rows, n_columns, 1);
    struct cuda_layout layout = cuda_layout_of((int32_t)dtype, n_rows, n_columns);
    unsigned char *all = mem_take((size_t)layout.n_bytes);
    int64_t n_stored = 0, n_last = 0;
    cuda_pack_all(&tensor, all);
    for (int part = 0; part < CUDA_PARTS; part++) {
        int64_t n = layout.row_bytes[part];
        if (n == 0)
            continue;
        unsigned char *row = mem_take((size_t)n + 1);
        assert_true(layout.at[part] % 64 == 0 && layout.at[part] >= n_last);
        for (int32_t r = 0; r < n_rows; r++) {
            row[n] = 0xA5;
            cuda_pack_row(&tensor, part, r, row);
            assert_memory_equal(row, all + layout.at[part] + r * n, (size_t)n);
            assert_int_equal(row[n], 0xA5);
        }
        n_stored += n * n_rows;
        n_last = layout.at[part] + n * n_rows;
        mem_give(row);
    }
    assert_true(layout.n_bytes >= n_last && layout.n_bytes < n_last + 64);
    /* A scale takes a byte, which is this many bytes more than in the file for 256 columns. */
    int32_t more = dtype == DTYPE_Q2_K ? 16 : 4;
    if (n_rows > 1 && dtype_info(dtype)->is_integer)
        assert_true(n_stored <= n_rows * (tensor.row_bytes + n_columns / 256 * more));
    mem_give(all);
    mem_give((void *)(uintptr_t)tensor.data);
}

static void rows_lie_where_the_layout_says(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < (int)CUDA_TYPES; dtype++) {
        check_layout((enum dtype)dtype, 1, 256);
        check_layout((enum dtype)dtype, 5, 256);
        check_layout((enum dtype)dtype, 3, 768);
        if (!dtype_info((enum dtype)dtype)->is_integer)
            check_layout((enum dtype)dtype, 3, 13);
    }
}

static void transposed_tensors_are_turned(void **state)
{
    static const float stored[] = { 1, 2, 3, 4, 5, 6 }; /* (n_columns 3, n_rows 2) */
    static const float want[2][8] = { { 1, 3, 5 }, { 2, 4, 6 } };
    struct tensor tensor = { stored, DTYPE_F32, 2, 3, 8, true };
    float row[8];
    (void)state;
    for (int32_t r = 0; r < 2; r++) {
        cuda_pack_row(&tensor, 0, r, (unsigned char *)row);
        assert_memory_equal(row, want[r], sizeof(row));
    }
}

static void broken_blocks_are_refused(void **state)
{
    struct fault fault;
    struct tensor tensor = { "", DTYPE_Q4_K, 2, 128, 72, false };
    (void)state;
    assert_int_equal(cuda_pack_check(&tensor, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "128 elements"));
    tensor.n_columns = 256;
    assert_int_equal(cuda_pack_check(&tensor, &fault), STATUS_OK);
    tensor.n_rows = 0;
    assert_int_equal(cuda_pack_check(&tensor, &fault), STATUS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_lie_where_the_layout_says),
        cmocka_unit_test(transposed_tensors_are_turned),
        cmocka_unit_test(broken_blocks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
