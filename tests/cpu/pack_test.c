/* Packing loses nothing: every row of every type comes back as it was. */
#include "test.h"

#include "base/mem.h"
#include "compute/quant.h"
#include "cpu/pack.h"
#include "ops/toy.h"

static void check_rows(const struct tensor *tensor, int n_threads)
{
    struct team *team = team_open(n_threads, NULL, false);
    struct cpu_store *store = cpu_store_open();
    struct compute_weight *weight;
    struct fault fault;
    assert_int_equal(cpu_pack(team, store, tensor, &weight, &fault), STATUS_OK);
    assert_true(weight->n_bytes > 0);
    size_t n_bytes = (size_t)tensor->n_columns * sizeof(float);
    float *want = mem_take(n_bytes), *got = mem_take(n_bytes);
    for (int32_t row = 0; row < tensor->n_rows; row++) {
        quant_row_to_float(tensor, row, want);
        cpu_pack_row(weight, row, got);
        assert_memory_equal(want, got, n_bytes);
    }
    mem_give(want);
    mem_give(got);
    cpu_pack_free(weight);
    cpu_store_close(store);
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

/* Packed bytes over the file's: what the ledger will book. */
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
    struct team *team = team_open(1, NULL, false);
    struct cpu_store *store = cpu_store_open();
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct tensor tensor = toy_tensor(sizes[i].dtype, 32, 512, 1);
        struct compute_weight *weight;
        assert_int_equal(cpu_pack(team, store, &tensor, &weight, NULL), STATUS_OK);
        double ratio = (double)weight->n_bytes / (double)(tensor.row_bytes * 32);
        printf("%s: %.3f of the file's bytes\n", dtype_info(sizes[i].dtype)->name, ratio);
        assert_true(ratio <= sizes[i].most);
        cpu_pack_free(weight);
        mem_give((void *)(uintptr_t)tensor.data);
    }
    cpu_store_close(store);
    team_close(team);
}

static void a_broken_row_is_refused(void **state)
{
    (void)state;
    struct team *team = team_open(1, NULL, false);
    struct cpu_store *store = cpu_store_open();
    struct compute_weight *weight;
    struct fault fault;
    struct tensor tensor = { "", DTYPE_Q4_K, 4, 100, 0, false };
    assert_int_equal(cpu_pack(team, store, &tensor, &weight, &fault), STATUS_BAD_INPUT);
    assert_true(strstr(fault.text, "Q4_K") != NULL);
    cpu_store_close(store);
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
