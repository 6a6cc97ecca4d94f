/* The matrix kernels against the machine's limits, measured in the same run.
 *
 * Each figure is the median of rounds; a round measures the limits, then the kernel through the
 * whole backend (barriers included), so that both meet the same machine: its clock, and what its
 * neighbours take, change from second to second. The limit of a shape is the larger of the time to
 * read the file's bytes (not those of the packed form) from memory, and of the time for the
 * arithmetic at the peak of the instructions that its type allows.
 * kernels [generic|avx2|avx512|amx] [type|all] [threads at most] */
#include "cpu/limits.h"
#include "one_matmul.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7 };

/* What multiplies this type at its best: pairs of bytes are summed in 16 bits first unless they are
 * as large as bytes get. */
static enum cpu_limit limit_of(enum dtype dtype)
{
    if (!dtype_info(dtype)->is_integer)
        return dtype == DTYPE_F32 || dtype == DTYPE_F8_E4M3 ? CPU_LIMIT_FLOAT : CPU_LIMIT_HALF;
    return dtype == DTYPE_Q8_0 ? CPU_LIMIT_INT8 : CPU_LIMIT_INT8_SHORT;
}

static void measure_shape(struct one_matmul *m, enum dtype dtype, int32_t n_outputs, int32_t n_rows)
{
    double bytes = (double)dtype_row_bytes(dtype, ONE_MATMUL_COLUMNS) * n_outputs;
    double ops = 2.0 * n_outputs * n_rows * ONE_MATMUL_COLUMNS;
    double rates[ROUNDS], parts[ROUNDS];
    struct cpu_limits_sizes sizes;
    cpu_limits_sizes(m->spec.n_cores, &sizes);
    one_matmul_pack(m, dtype, n_outputs);
    one_matmul_time(m, n_outputs, n_rows);
    for (int i = 0; i < ROUNDS; i++) {
        double peak = cpu_limits_peak(&m->spec, m->spec.n_cores, limit_of(dtype));
        double bandwidth = cpu_limits_read(&m->spec, m->spec.n_cores, sizes.memory);
        double s = one_matmul_time(m, n_outputs, n_rows);
        double by_bytes = bytes / bandwidth, by_ops = ops / peak;
        rates[i] = (n_rows == 1 ? bytes : ops) / s * 1e-9;
        parts[i] = (by_bytes > by_ops ? by_bytes : by_ops) / s;
    }
    one_matmul_unpack(m);
    printf(" | %6.1f %3.0f%%", one_matmul_median(rates, ROUNDS),
           100 * one_matmul_median(parts, ROUNDS));
    fflush(stdout);
}

static void measure(struct one_matmul *m, enum dtype dtype)
{
    static const int32_t shapes[][2] = { { 32768, 1 }, { 32768, 2 },  { 32768, 3 },
                                         { 32768, 8 }, { 32768, 32 }, { 4096, 512 } };
    printf("  %-7s", dtype_info(dtype)->name);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        measure_shape(m, dtype, shapes[i][0], shapes[i][1]);
    printf("\n");
}

static enum cpu_isa isa_named(const char *name)
{
    for (int isa = 0; isa < CPU_ISA_N; isa++)
        if (strcmp(name, cpu_isa_name((enum cpu_isa)isa)) == 0)
            return (enum cpu_isa)isa;
    return cpu_isa_best();
}

int main(int argc, char **argv)
{
    static const enum dtype dtypes[] = {
        DTYPE_F32,  DTYPE_F16,    DTYPE_BF16,   DTYPE_F8_E4M3, DTYPE_Q8_0,  DTYPE_Q4_0,
        DTYPE_Q4_1, DTYPE_Q5_0,   DTYPE_Q4_K,   DTYPE_Q5_K,    DTYPE_Q6_K,  DTYPE_Q2_K,
        DTYPE_Q3_K, DTYPE_IQ4_NL, DTYPE_IQ4_XS, DTYPE_MXFP4,   DTYPE_TQ1_0, DTYPE_TQ2_0,
    };
    enum cpu_isa isa = argc > 1 ? isa_named(argv[1]) : cpu_isa_best();
    for (int n = 1; n <= (argc > 3 ? atoi(argv[3]) : 2); n++) {
        struct one_matmul m;
        one_matmul_open(&m, isa, n);
        printf("%s, %d thread%s, %d inputs; of the limit, one row: GB/s, else Gop/s\n",
               m.device->name, n, n > 1 ? "s" : "", ONE_MATMUL_COLUMNS);
        printf("  rows    |           1 |           2 |           3 |           8 |          32 |"
               "         512\n");
        for (size_t i = 0; i < COUNT_OF(dtypes); i++)
            if (argc < 3 || strcmp(argv[2], "all") == 0 ||
                strcmp(argv[2], dtype_info(dtypes[i])->name) == 0)
                measure(&m, dtypes[i]);
        one_matmul_close(&m);
    }
    return 0;
}
