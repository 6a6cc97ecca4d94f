/* The matrix kernels against the machine's limits, measured in the same run.
 *
 * GB/s count the bytes of the file's format, not of the packed form. Each figure is the median of
 * windows through the whole backend (quantization of the activations and barriers included).
 * kernels [generic|avx2|avx512] [type|all] [threads at most] */
#include "base/mem.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "limits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 2048, ROWS_MAX = 512, WINDOWS = 9 };

struct bench {
    struct compute_backend *backend;
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

/* Seconds of one pass that multiplies n_rows rows. */
static double time_pass(struct bench *b, int32_t n_outputs, int32_t n_rows)
{
    const struct compute_op ops[] = {
        { .kind = COMPUTE_EMBED, .weight = 0, .bias = -1, .weight2 = -1, .scale = 1 },
        { .kind = COMPUTE_LOGITS, .weight = 1, .bias = -1, .weight2 = -1 },
    };
    const int32_t widths[] = { COLUMNS };
    const bool is_logit_rows[] = { false };
    struct compute_weight *const weights[] = { b->input, b->weight };
    struct compute_program program = { .n_ops = 2,
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
    double windows[WINDOWS];
    for (int i = -1; i < WINDOWS; i++) {
        int64_t start = b->now_ns();
        b->backend->run(b->backend->self, &program, &pass, b->workspace);
        windows[max_i32(i, 0)] = (double)(b->now_ns() - start) * 1e-9;
    }
    qsort(windows, WINDOWS, sizeof(windows[0]), by_value);
    return windows[WINDOWS / 2];
}

static void measure(struct bench *b, enum dtype dtype, double bandwidth, double peak)
{
    static const int32_t shapes[][2] = { { 65536, 1 }, { 65536, 8 }, { 4096, 64 }, { 4096, 512 } };
    double row_bytes = (double)dtype_row_bytes(dtype, COLUMNS);
    printf("  %-5s", dtype_info(dtype)->name);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        int32_t n_outputs = shapes[i][0], n_rows = shapes[i][1];
        b->weight = pack(b, dtype, n_outputs);
        double s = time_pass(b, n_outputs, n_rows);
        double bytes = row_bytes * n_outputs / s, ops = 2.0 * n_outputs * n_rows * COLUMNS / s;
        if (n_rows == 1)
            printf(" | %5.1f GB/s %3.0f%%", bytes * 1e-9, 100 * bytes / bandwidth);
        else
            printf(" | %5.0f Gop/s %3.0f%%", ops * 1e-9, 100 * ops / peak);
        b->backend->unpack(b->backend->self, b->weight);
        fflush(stdout);
    }
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
    double float_peak = limits_float_peak(), int8_peak = limits_int8_peak();
    for (int n = 1; n <= (argc > 3 ? atoi(argv[3]) : 2); n++) {
        struct device_spec device = { .kind = DEVICE_CPU, .n_cores = n, .cores = { 0, 1 } };
        struct bench b = { .backend = cpu_open(&device, isa),
                           .now_ns = n == 1 ? time_thread_cpu_ns : time_now_ns };
        double bandwidth = limits_read_bandwidth(n);
        printf("%s, %d thread%s: read %.1f GB/s, float %.0f, int8 (AVX2) %.0f Gop/s\n",
               b.backend->name, n, n > 1 ? "s" : "", bandwidth * 1e-9, float_peak * n * 1e-9,
               int8_peak * n * 1e-9);
        printf("  type  | 1 row            | 8 rows          | 64 rows         | 512 rows\n");
        b.workspace = mem_take(64 << 20);
        b.logits = mem_take((size_t)65536 * 64 * sizeof(float));
        b.input = pack(&b, DTYPE_F32, 2);
        for (size_t i = 0; i < COUNT_OF(dtypes); i++)
            if (argc < 3 || strcmp(argv[2], "all") == 0 ||
                strcmp(argv[2], dtype_info(dtypes[i])->name) == 0)
                measure(&b, dtypes[i], bandwidth,
                        n * (dtype_info(dtypes[i])->is_integer ? int8_peak : float_peak));
        b.backend->unpack(b.backend->self, b.input);
        mem_give(b.workspace);
        mem_give(b.logits);
        b.backend->close(b.backend->self);
    }
    return 0;
}
