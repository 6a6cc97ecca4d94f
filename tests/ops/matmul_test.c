/* One matrix product of every type at every number of rows. A row's result does not depend on the
 * number of other rows, nor on chunks of K, items, threads or old memory content.
 *
 * The columns are two and a quarter of the driver's chunks, the outputs are not a whole number of
 * panels, and the largest numbers of rows exceed its tiles and sweeps. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cpu/cpu.h"
#include "toy.h"

enum { COLUMNS = 2304, OUTPUTS = 203, DISTINCT = 64, ROWS_MAX = 1030 };

struct product {
    struct tensor input, weight;
    float want[2][DISTINCT * OUTPUTS]; /* the reference's of both arithmetics, row by row */
};

static const struct toy_product shape = { COLUMNS, OUTPUTS, DISTINCT };

static void load(struct compute_device *device, const struct product *product,
                 struct compute_packed *packed)
{
    const struct tensor tensors[] = { product->input, product->weight };
    toy_pack(packed, device, tensors, 2);
}

static void check_rows(const struct compute_packed *packed, const struct product *product,
                       int32_t n_rows)
{
    const struct compute_device *backend = packed->device;
    const float *want = product->want[backend->arithmetic == COMPUTE_ARITHMETIC_CPU_TILES];
    float *got = mem_take((size_t)(n_rows + 1) * OUTPUTS * sizeof(float));
    memset(got, 0xFF, (size_t)(n_rows + 1) * OUTPUTS * sizeof(float));
    toy_multiply(packed, &shape, n_rows, got);
    for (int32_t row = 0; row < n_rows; row++)
        if (memcmp(got + row * OUTPUTS, want + row % DISTINCT * OUTPUTS, OUTPUTS * sizeof(float)) !=
            0)
            fail_msg("%s %s: row %d of %d differs", backend->name,
                     dtype_info(product->weight.dtype)->name, row, n_rows);
    for (int32_t i = n_rows * OUTPUTS; i < (n_rows + 1) * OUTPUTS; i++)
        assert_true(__builtin_isnan(got[i]));
    mem_give(got);
}

static void check_backend(const struct product *product, enum cpu_isa isa, int n_threads)
{
    static const int32_t some[] = { 1, 13, 49 }, many[] = { 65, 97, 511, 512, 513, ROWS_MAX };
    struct device_spec device = { .kind = DEVICE_CPU, .n_cores = n_threads };
    struct compute_device *backend = cpu_open(&device, isa);
    struct compute_packed packed;
    load(backend, product, &packed);
    bool is_quick = isa == CPU_ISA_GENERIC || n_threads == 3;
    for (size_t i = 0; i < COUNT_OF(some); i++)
        check_rows(&packed, product, some[i]);
    for (int32_t n_rows = 1; n_rows <= DISTINCT && !is_quick; n_rows++)
        check_rows(&packed, product, n_rows);
    for (size_t i = 0; i < COUNT_OF(many) && !is_quick; i++)
        check_rows(&packed, product, many[i]);
    compute_packed_close(&packed);
    backend->close(backend->self);
}

static void check_type(enum dtype dtype)
{
    static struct product product;
    product.input = toy_tensor(DTYPE_F32, DISTINCT, COLUMNS, 5);
    product.weight = toy_tensor(dtype, OUTPUTS, COLUMNS, 7 + (uint64_t)dtype);
    for (uint32_t arithmetic = COMPUTE_ARITHMETIC_CPU; arithmetic <= COMPUTE_ARITHMETIC_CPU_TILES;
         arithmetic++) {
        struct compute_device *reference = compute_reference_open(arithmetic);
        struct compute_packed packed;
        load(reference, &product, &packed);
        toy_multiply(&packed, &shape, DISTINCT,
                     product.want[arithmetic == COMPUTE_ARITHMETIC_CPU_TILES]);
        compute_packed_close(&packed);
        reference->close(reference->self);
    }
    bool is_half = dtype == DTYPE_F16 || dtype == DTYPE_BF16;
    assert_true((memcmp(product.want[0], product.want[1], sizeof(product.want[0])) != 0) ==
                is_half);
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++)
        for (int n_threads = 1; n_threads <= 3; n_threads++)
            check_backend(&product, (enum cpu_isa)isa, n_threads);
    mem_give((void *)(uintptr_t)product.input.data);
    mem_give((void *)(uintptr_t)product.weight.data);
}

/* More items than the driver lets wait for each other. */
static void check_items(enum dtype dtype, const struct toy_product *many)
{
    int32_t n_max = many->n_distinct, n_outputs = many->n_outputs;
    size_t n_bytes = (size_t)n_max * (size_t)n_outputs * sizeof(float);
    float *want = mem_take(n_bytes), *got = mem_take(n_bytes);
    struct product product = { .input = toy_tensor(DTYPE_F32, n_max, many->n_columns, 5),
                               .weight = toy_tensor(dtype, n_outputs, many->n_columns, 7) };
    struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 1 };
    struct compute_device *backends[] = { compute_reference_open(COMPUTE_ARITHMETIC_CPU),
                                          cpu_open(&device, CPU_ISA_N - 1) };
    for (int i = 0; i < 2; i++) {
        struct compute_packed packed;
        load(backends[i], &product, &packed);
        for (int32_t n_rows = i == 0 ? n_max : 1; n_rows <= n_max; n_rows++) {
            memset(got, 0xFF, n_bytes);
            toy_multiply(&packed, many, n_rows, i == 0 ? want : got);
            if (i == 1)
                assert_memory_equal(got, want, n_bytes / (size_t)n_max * (size_t)n_rows);
        }
        compute_packed_close(&packed);
        backends[i]->close(backends[i]->self);
    }
    mem_give((void *)(uintptr_t)product.input.data);
    mem_give((void *)(uintptr_t)product.weight.data);
    mem_give(want);
    mem_give(got);
}

static void few_rows_meet_many_items(void **state)
{
    (void)state;
    check_items(DTYPE_F32, &(struct toy_product){ 160, 64 * 70 + 5, 12 });
    check_items(DTYPE_Q8_0, &(struct toy_product){ 640, 64 * 70 + 5, 48 });
}

static void a_row_is_the_same_among_any_number(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPE_N; dtype++)
        check_type((enum dtype)dtype);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_the_same_among_any_number),
        cmocka_unit_test(few_rows_meet_many_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
