/* Packing loses nothing: every row of every type comes back as it was. */
#include "test.h"

#include "base/mem.h"
#include "compute/quant.h"
#include "cpu/pack.h"
#include "ops/toy.h"

static void check_rows(const struct tensor *tensor, int n_threads)
{
    struct team *team = team_open(n_threads, NULL, false);
    struct fault fault;
    size_t n_packed = cpu_pack_bytes(tensor);
    unsigned char *packed = mem_take(n_packed + 64);
    memset(packed, 0xFF, n_packed + 64); /* the old content does not matter */
    assert_int_equal(cpu_pack(team, tensor, packed, &fault), STATUS_OK);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(packed[n_packed + i], 0xFF);
    struct compute_weight *weight = cpu_pack_bind(tensor, packed);
    size_t n_bytes = (size_t)tensor->n_columns * sizeof(float);
    float *want = mem_take(n_bytes), *got = mem_take(n_bytes);
    for (int32_t row = 0; row < tensor->n_rows; row++) {
        quant_row_to_float(tensor, row, want);
        cpu_pack_row(weight, row, got);
        assert_memory_equal(want, got, n_bytes);
    }
    mem_give(want);
    mem_give(got);
    cpu_pack_unbind(weight);
    mem_give(packed);
    team_close(team);
}

static void every_row_comes_back(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPE_N; dtype++) {
        static const int32_t n_rows[] = { 1, 2, 16, 37 };
        for (size_t i = 0; i < COUNT_OF(n_rows); i++) {
            struct tensor tensor = toy_tensor((enum dtype)dtype, n_rows[i], 512, 3 + i);
            check_rows(&tensor, 1 + (int)i % 3);
            mem_give((void *)(uintptr_t)tensor.data);
        }
    }
}

static void transposed_and_odd_matrices_come_back(void **state)
{
    (void)state;
    for (int dtype = DTYPE_F32; dtype <= DTYPE_BF16; dtype++) {
        struct tensor tensor = toy_tensor((enum dtype)dtype, 19, 7, 1);
        check_rows(&tensor, 2);
        tensor.is_transposed = true;
        tensor.row_bytes = dtype_row_bytes((enum dtype)dtype, 19);
        check_rows(&tensor, 2);
        mem_give((void *)(uintptr_t)tensor.data);
    }
}

/* Packed bytes over the file's, which the ledger will book. */
static void packed_forms_stay_small(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        double most;
    } sizes[] = { { DTYPE_F16, 1.0 },   { DTYPE_Q8_0, 1.0 },  { DTYPE_Q4_0, 1.0 },
                  { DTYPE_Q4_1, 1.0 },  { DTYPE_Q4_K, 1.03 }, { DTYPE_Q5_0, 1.0 },
                  { DTYPE_Q5_1, 1.0 },  { DTYPE_Q5_K, 1.03 }, { DTYPE_Q6_K, 1.0 },
                  { DTYPE_Q3_K, 1.04 }, { DTYPE_Q2_K, 1.2 } };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct tensor tensor = toy_tensor(sizes[i].dtype, 32, 512, 1);
        double ratio = (double)cpu_pack_bytes(&tensor) / (double)(tensor.row_bytes * 32);
        printf("%s: %.3f of the file's bytes\n", dtype_info(sizes[i].dtype)->name, ratio);
        assert_true(ratio <= sizes[i].most);
        mem_give((void *)(uintptr_t)tensor.data);
    }
}

static void a_broken_row_is_refused(void **state)
{
    (void)state;
    struct team *team = team_open(1, NULL, false);
    unsigned char packed[64];
    struct fault fault;
    struct tensor tensor = { "", DTYPE_Q4_K, 4, 100, 0, false };
    assert_int_equal(cpu_pack(team, &tensor, packed, &fault), STATUS_BAD_INPUT);
    assert_true(strstr(fault.text, "Q4_K") != NULL);
    team_close(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_back),
        cmocka_unit_test(transposed_and_odd_matrices_come_back),
        cmocka_unit_test(packed_forms_stay_small),
        cmocka_unit_test(a_broken_row_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
