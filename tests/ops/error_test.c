/* The error of a matrix product against a float64 loop over the dequantized weights, per type.
 *
 * Float weights: rounding alone, at most 4e-6 of sum |w x|; halves in tiles, with activations of 16
 * bits, 4e-5. Integer weights: also the activations' rounding, at most half a step of each block of
 * 32: sum over blocks of max|x| / 254 * sum |w|. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "compute/quant.h"
#include "cpu/cpu.h"
#include "toy.h"

enum { COLUMNS = 1024, OUTPUTS = 50, ROWS = 13 };

/* Computes logits = input . weight^T on a device. */
static void multiply(struct compute_device *backend, const struct tensor *input,
                     const struct tensor *weight, float *logits)
{
    static const struct toy_product shape = { COLUMNS, OUTPUTS, ROWS };
    const struct tensor tensors[] = { *input, *weight };
    struct compute_packed packed;
    toy_pack(&packed, backend, tensors, 2);
    toy_multiply(&packed, &shape, ROWS, logits);
    compute_packed_close(&packed);
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/* Returns the exact product, and sets the bound of one output. */
static double exact(const float *w, const float *x, bool is_integer, double part, double *bound)
{
    double sum = 0, rounding = 0, steps = 0;
    for (int32_t k = 0; k < COLUMNS; k += 32) {
        double max = 0, weights = 0;
        for (int32_t i = k; i < k + 32; i++) {
            sum += (double)w[i] * (double)x[i];
            rounding += magnitude((double)w[i] * (double)x[i]);
            weights += magnitude((double)w[i]);
            max = magnitude((double)x[i]) > max ? magnitude((double)x[i]) : max;
        }
        steps += weights * max / 254.0;
    }
    *bound = part * rounding + (is_integer ? steps * 1.0001 : 0);
    return sum;
}

static void check_type(struct compute_device *backend, enum dtype dtype)
{
    static float logits[ROWS * OUTPUTS], w[COLUMNS], x[COLUMNS];
    struct tensor input = toy_tensor(DTYPE_F32, ROWS, COLUMNS, 21);
    struct tensor weight = toy_tensor(dtype, OUTPUTS, COLUMNS, 22);
    multiply(backend, &input, &weight, logits);
    bool is_tiled = backend->arithmetic == COMPUTE_ARITHMETIC_CPU_TILES &&
                    (dtype == DTYPE_F16 || dtype == DTYPE_BF16);
    double worst = 0, biggest = 0, used = 0;
    for (int32_t n = 0; n < OUTPUTS; n++) {
        quant_row_to_float(&weight, n, w);
        for (int32_t row = 0; row < ROWS; row++) {
            double bound;
            quant_row_to_float(&input, row, x);
            double want =
                exact(w, x, dtype_info(dtype)->is_integer, is_tiled ? 4e-5 : 4e-6, &bound);
            double error = magnitude((double)logits[row * OUTPUTS + n] - want);
            worst = error > worst ? error : worst;
            biggest = magnitude(want) > biggest ? magnitude(want) : biggest;
            used = error / bound > used ? error / bound : used;
        }
    }
    printf("%s %s: max|error| / max|y| %.2g, %.0f%% of its bound\n", backend->name,
           dtype_info(dtype)->name, worst / biggest, 100 * used);
    assert_true(used <= 1);
    assert_true(worst / biggest < (dtype_info(dtype)->is_integer ? 0.01 : is_tiled ? 1e-5 : 2e-6));
    mem_give((void *)(uintptr_t)input.data);
    mem_give((void *)(uintptr_t)weight.data);
}

static void every_type_stays_within_its_bound(void **state)
{
    (void)state;
    struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 1 };
    struct compute_device *backends[] = { compute_reference_open(COMPUTE_ARITHMETIC_CPU),
                                          compute_reference_open(COMPUTE_ARITHMETIC_CPU_TILES),
                                          cpu_open(&device, cpu_isa_best()) };
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        for (int dtype = 0; dtype < DTYPE_N; dtype++)
            check_type(backends[i], (enum dtype)dtype);
        backends[i]->close(backends[i]->self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_stays_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
