/* The matrix kernels against the machine's limits, measured in the same run.
 *
 * Each figure is the median of rounds; a round measures the limits, then the kernel through the
 * whole backend (barriers included), so that both meet the same machine: its clock, and what its
 * neighbours take, change from second to second. The limit of a shape is the larger of the time to
 * read the file's bytes (not those of the packed form) from memory, and of the time for the
 * arithmetic at the peak of the instructions that its type allows.
 * kernels [generic|avx2|avx512] [type|all] [threads at most] */
#include "base/mem.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "cpu/limits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 2048, ROWS_MAX = 512, ROUNDS = 7, TIMES_MAX = 8 };

struct bench {
    struct compute_backend *backend;
    struct device_spec device;
    int64_t (*now_ns)(void); /* one thread: its processor time, which neighbours do not stretch */
    struct compute_weight *input, *weight;
    void *workspace;
    float *logits;
    int32_t ids[ROWS_MAX], rows[ROWS_MAX], positions[ROWS_MAX];
};

/* n_outputs copies of one row: packing does not care. */
static struct compute_weight *pack(struct bench *b, enum dtype dtype, int32_t n_outputs)
{
    struct fault fault;
    struct compute_weight *weight;
    unsigned char *row = mem_take((size_t)dtype_row_bytes(dtype, COLUMNS));
    for (int64_t i = 0; i < dtype_row_bytes(dtype, COLUMNS); i++)
        row[i] = (unsigned char)(i * 37 % 64); /* halves near 0.01 */
    struct tensor tensor = { row, dtype, n_outputs, COLUMNS, 0, false };
    enum status status = b->backend->pack(b->backend->self, &tensor, &weight, &fault);
    CHECK(status == STATUS_OK);
    mem_give(row);
    return weight;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds that multiplying n_rows rows takes: one of `times` equal operations. */
static double time_pass(struct bench *b, int32_t n_outputs, int32_t n_rows, int times)
{
    struct compute_op ops[1 + TIMES_MAX] = {
        { .kind = COMPUTE_EMBED, .weight = 0, .bias = -1, .weight2 = -1, .scale = 1 },
    };
    for (int i = 1; i <= times; i++)
        ops[i] =
            (struct compute_op){ .kind = COMPUTE_LOGITS, .weight = 1, .bias = -1, .weight2 = -1 };
    const int32_t widths[] = { COLUMNS };
    const bool is_logit_rows[] = { false };
    struct compute_weight *const weights[] = { b->input, b->weight };
    struct compute_program program = { .n_ops = 1 + times,
                                       .ops = ops,
                                       .n_registers = 1,
                                       .widths = widths,
                                       .is_logit_rows = is_logit_rows,
                                       .n_weights = 2,
                                       .weights = weights,
                                       .n_heads = 1,
                                       .n_kv_heads = 1,
                                       .head_dim = 64,
                                       .n_vocabulary = n_outputs };
    struct compute_pass pass = { .n_rows = n_rows,
                                 .ids = b->ids,
                                 .positions = b->positions,
                                 .n_logit_rows = n_rows,
                                 .logit_rows = b->rows,
                                 .logits = b->logits };
    int64_t start = b->now_ns();
    b->backend->run(b->backend->self, &program, &pass, b->workspace);
    return (double)(b->now_ns() - start) * 1e-9 / times;
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_value);
    return values[n / 2];
}

/* What multiplies this type at its best: pairs of bytes are summed in 16 bits first unless they are
 * as large as bytes get. */
static enum cpu_limit limit_of(enum dtype dtype)
{
    if (!dtype_info(dtype)->is_integer)
        return CPU_LIMIT_FLOAT;
    return dtype == DTYPE_Q8_0 ? CPU_LIMIT_INT8 : CPU_LIMIT_INT8_SHORT;
}

static void measure_shape(struct bench *b, enum dtype dtype, int32_t n_outputs, int32_t n_rows)
{
    double bytes = (double)dtype_row_bytes(dtype, COLUMNS) * n_outputs;
    double ops = 2.0 * n_outputs * n_rows * COLUMNS;
    double rates[ROUNDS], parts[ROUNDS];
    struct cpu_limits_sizes sizes;
    cpu_limits_sizes(b->device.n_cores, &sizes);
    b->weight = pack(b, dtype, n_outputs);
    time_pass(b, n_outputs, n_rows, 1);
    for (int i = 0; i < ROUNDS; i++) {
        double peak = cpu_limits_peak(&b->device, b->device.n_cores, limit_of(dtype));
        double bandwidth = cpu_limits_read(&b->device, b->device.n_cores, sizes.memory);
        double s = time_pass(b, n_outputs, n_rows, n_rows > 64 ? TIMES_MAX : 1);
        double by_bytes = bytes / bandwidth, by_ops = ops / peak;
        rates[i] = (n_rows == 1 ? bytes : ops) / s * 1e-9;
        parts[i] = (by_bytes > by_ops ? by_bytes : by_ops) / s;
    }
    b->backend->unpack(b->backend->self, b->weight);
    printf(" | %6.1f %3.0f%%", median(rates, ROUNDS), 100 * median(parts, ROUNDS));
    fflush(stdout);
}

static void measure(struct bench *b, enum dtype dtype)
{
    static const int32_t shapes[][2] = { { 32768, 1 }, { 32768, 2 },  { 32768, 3 },
                                         { 32768, 8 }, { 32768, 32 }, { 4096, 512 } };
    printf("  %-5s", dtype_info(dtype)->name);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        measure_shape(b, dtype, shapes[i][0], shapes[i][1]);
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
    static const enum dtype dtypes[] = { DTYPE_F32,  DTYPE_F16,  DTYPE_BF16, DTYPE_Q8_0,
                                         DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q4_K,
                                         DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_Q2_K, DTYPE_Q3_K };
    enum cpu_isa isa = argc > 1 ? isa_named(argv[1]) : cpu_isa_best();
    for (int n = 1; n <= (argc > 3 ? atoi(argv[3]) : 2); n++) {
        struct bench b = { .device = { .kind = DEVICE_CPU, .n_cores = n, .cores = { 0, 1, 2, 3 } },
                           .now_ns = n == 1 ? time_thread_cpu_ns : time_now_ns };
        b.backend = cpu_open(&b.device, isa);
        printf("%s, %d thread%s, %d inputs; of the limit, one row: GB/s, else Gop/s\n",
               b.backend->name, n, n > 1 ? "s" : "", COLUMNS);
        printf("  rows  |           1 |           2 |           3 |           8 |          32 |"
               "         512\n");
        b.workspace = mem_take(64 << 20);
        b.logits = mem_take((size_t)32768 * 64 * sizeof(float));
        b.input = pack(&b, DTYPE_F32, 2);
        for (size_t i = 0; i < COUNT_OF(dtypes); i++)
            if (argc < 3 || strcmp(argv[2], "all") == 0 ||
                strcmp(argv[2], dtype_info(dtypes[i])->name) == 0)
                measure(&b, dtypes[i]);
        b.backend->unpack(b.backend->self, b.input);
        mem_give(b.workspace);
        mem_give(b.logits);
        b.backend->close(b.backend);
    }
    return 0;
}
