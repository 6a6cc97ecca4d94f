/* What it costs to change the model between steps: passes of two models in turn against passes of
 * each alone, on one team.
 *
 * Each model is a chain of square matrices, far larger than the caches, as a step of decode reads
 * it: rows of activations, every weight once. A round is A A B B: one pass of each behind itself,
 * one behind the other. The median over the rounds of (behind the other) / (behind itself) is
 * immune to the machine's drift.
 *
 * What the caches keep of a model between two passes of its own is not switching: the wider the
 * models, the less that is.
 *
 * switch [rounds [width]] */
#include "base/mem.h"
#include "compute/packed.h"
#include "cpu/cpu.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 24, ROUNDS_MAX = 2001, REGISTERS = 2 };

struct model {
    int32_t width, n_rows;
    enum dtype dtype;
    struct compute_packed packed;
    struct compute_workspace *workspace;
    struct compute_op ops[LAYERS + 1];
    int32_t widths[REGISTERS];
    bool is_logit_rows[REGISTERS];
    struct compute_program program;
};

/* Give its data back. */
static struct tensor tensor_of(enum dtype dtype, int32_t n_rows, int32_t width)
{
    size_t row_bytes = (size_t)dtype_row_bytes(dtype, width);
    unsigned char *row = mem_take(row_bytes);
    for (size_t i = 0; i < row_bytes; i++)
        row[i] = (unsigned char)(i * 37 % 64); /* halves near 0.01 */
    return (struct tensor){ row, dtype, n_rows, width, 0, false };
}

static void pack(struct model *m, struct compute_device *device)
{
    const struct tensor input = tensor_of(DTYPE_F32, 2, m->width);
    const struct tensor matrix = tensor_of(m->dtype, m->width, m->width);
    const struct tensor *list[LAYERS + 1];
    for (int i = 0; i <= LAYERS; i++)
        list[i] = i == 0 ? &input : &matrix;
    CHECK(compute_packed_open(&m->packed, device, list, LAYERS + 1, NULL, NULL) == STATUS_OK);
    for (int i = 0; i <= LAYERS; i++)
        CHECK(compute_packed_add(&m->packed, list[i], false, NULL) == STATUS_OK);
    mem_give((void *)(uintptr_t)input.data);
    mem_give((void *)(uintptr_t)matrix.data);
}

static void open_model(struct model *m, struct compute_device *backend, enum dtype dtype,
                       int32_t width, int32_t n_rows)
{
    *m = (struct model){ .width = width, .n_rows = n_rows, .dtype = dtype };
    pack(m, backend);
    m->ops[0] = (struct compute_op){ .kind = COMPUTE_EMBED, .bias = -1, .weight2 = -1, .scale = 1 };
    for (int i = 1; i <= LAYERS; i++) {
        m->ops[i] = (struct compute_op){ .kind = COMPUTE_MATMUL,
                                         .dst = (uint16_t)(i % 2),
                                         .src = (uint16_t)((i + 1) % 2),
                                         .weight = i,
                                         .bias = -1,
                                         .weight2 = -1 };
    }
    m->widths[0] = m->widths[1] = width;
    m->program = (struct compute_program){ .n_ops = LAYERS + 1,
                                           .ops = m->ops,
                                           .n_registers = REGISTERS,
                                           .widths = m->widths,
                                           .is_logit_rows = m->is_logit_rows,
                                           .n_weights = LAYERS + 1,
                                           .weights = m->packed.weights,
                                           .n_heads = 1,
                                           .n_kv_heads = 1,
                                           .head_dim = 64,
                                           .n_vocabulary = 2 };
    CHECK(backend->workspace_open(backend->self, backend->lanes[0], &m->program,
                                  (struct compute_sizes){ 64, 0 }, &m->workspace,
                                  NULL) == STATUS_OK);
}

static void close_model(struct model *m, struct compute_device *backend)
{
    backend->workspace_close(backend->self, m->workspace);
    compute_packed_close(&m->packed);
}

/* Milliseconds. */
static double time_pass(struct compute_device *backend, const struct model *m)
{
    static const int32_t zeros[64];
    struct compute_pass pass = { .program = &m->program,
                                 .workspace = m->workspace,
                                 .n_rows = m->n_rows,
                                 .ids = zeros,
                                 .positions = zeros };
    CHECK(compute_device_wait(backend, backend->lanes[0], &pass.work) == COMPUTE_DONE);
    return (double)(pass.work.end_ns - pass.work.begin_ns) * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(values[0]), by_value);
    return values[n / 2];
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? min_i32(max_i32(atoi(argv[1]), 1), ROUNDS_MAX) : 101;
    struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 2, .cores = { 0, 1 } };
    struct compute_device *backend = cpu_open(&device, CPU_ISA_N - 1);
    struct model a, b;
    int32_t width = argc > 2 ? min_i32(max_i32(atoi(argv[2]), 256), 8192) / 256 * 256 : 3072;
    open_model(&a, backend, DTYPE_Q8_0, width, 4);
    open_model(&b, backend, DTYPE_Q4_0, width, 1);
    static double times[4][ROUNDS_MAX], ratios[ROUNDS_MAX];
    (void)time_pass(backend, &b);
    for (int i = 0; i < n_rounds; i++) {
        for (int pass = 0; pass < 4; pass++)
            times[pass][i] = time_pass(backend, pass < 2 ? &a : &b);
        ratios[i] = (times[0][i] + times[2][i]) / (times[1][i] + times[3][i]);
    }
    double ratio = median(ratios, n_rounds);
    printf("%s: ms a pass behind itself: A %.3f, B %.3f; behind the other: A %.3f, B %.3f\n",
           backend->name, median(times[1], n_rounds), median(times[3], n_rounds),
           median(times[0], n_rounds), median(times[2], n_rounds));
    int half = (int)(0.98 * sqrt((double)n_rounds)); /* of the median's 95% interval, in ranks */
    printf(
        "in turn / alone, median of %d rounds: %.4f (95%%: %.4f to %.4f; quartiles %.4f, %.4f)\n",
        n_rounds, ratio, ratios[max_i32(n_rounds / 2 - half, 0)],
        ratios[min_i32(n_rounds / 2 + half, n_rounds - 1)], ratios[n_rounds / 4],
        ratios[n_rounds * 3 / 4]);
    close_model(&a, backend);
    close_model(&b, backend);
    backend->close(backend->self);
    return 0;
}
