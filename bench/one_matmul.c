/* One matrix through a whole backend: opened, packed, multiplied and timed for the benchmarks that
 * compare single kernels. */
#include "one_matmul.h"
#include "base/mem.h"
#include <stdlib.h>

enum { TIMES_MAX = 8 };

/* n_outputs copies of one row: packing does not care. Give its data back. */
static struct tensor tensor_of(enum dtype dtype, int32_t n_outputs)
{
    int64_t n_bytes = dtype_row_bytes(dtype, ONE_MATMUL_COLUMNS);
    unsigned char *row = mem_take((size_t)n_bytes);
    for (int64_t i = 0; i < n_bytes; i++)
        row[i] = (unsigned char)(i * 37 % 64); /* halves near 0.01 */
    return (struct tensor){ row, dtype, n_outputs, ONE_MATMUL_COLUMNS, 0, false };
}

void one_matmul_open(struct one_matmul *m, enum cpu_isa isa, int n_threads)
{
    *m = (struct one_matmul){
        .spec = { .kind = DEVICE_CPU, .n_cores = n_threads, .cores = { 0, 1, 2, 3 } },
    };
    m->device = cpu_open(&m->spec, isa);
    m->logits = mem_take((size_t)ONE_MATMUL_OUTPUTS * 64 * sizeof(float));
}

void one_matmul_close(struct one_matmul *m)
{
    mem_give(m->logits);
    m->device->close(m->device->self);
}

void one_matmul_pack(struct one_matmul *m, enum dtype dtype, int32_t n_outputs)
{
    const struct tensor tensors[] = { tensor_of(DTYPE_F32, 2), tensor_of(dtype, n_outputs) };
    const struct tensor *list[] = { &tensors[0], &tensors[1] };
    CHECK(compute_packed_open(&m->packed, m->device, list, 2, NULL, NULL) == STATUS_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(compute_packed_add(&m->packed, list[i], false, NULL) == STATUS_OK);
        mem_give((void *)(uintptr_t)tensors[i].data);
    }
}

void one_matmul_unpack(struct one_matmul *m)
{
    compute_packed_close(&m->packed);
}

double one_matmul_time(struct one_matmul *m, int32_t n_outputs, int32_t n_rows)
{
    int times = n_rows > 64 ? TIMES_MAX : 1;
    CHECK((int64_t)n_outputs * n_rows <= (int64_t)ONE_MATMUL_OUTPUTS * 64);
    struct compute_op ops[1 + TIMES_MAX] = {
        { .kind = COMPUTE_EMBED, .weight = 0, .bias = -1, .weight2 = -1, .scale = 1 },
    };
    for (int i = 1; i <= times; i++)
        ops[i] =
            (struct compute_op){ .kind = COMPUTE_LOGITS, .weight = 1, .bias = -1, .weight2 = -1 };
    const int32_t widths[] = { ONE_MATMUL_COLUMNS };
    const bool is_logit_rows[] = { false };
    struct compute_program program = { .n_ops = 1 + times,
                                       .ops = ops,
                                       .n_registers = 1,
                                       .widths = widths,
                                       .is_logit_rows = is_logit_rows,
                                       .n_weights = 2,
                                       .weights = m->packed.weights,
                                       .n_heads = 1,
                                       .n_kv_heads = 1,
                                       .head_dim = 64,
                                       .n_vocabulary = n_outputs };
    struct compute_pass pass = { .program = &program,
                                 .n_rows = n_rows,
                                 .ids = m->ids,
                                 .positions = m->positions,
                                 .n_logit_rows = n_rows,
                                 .logit_rows = m->rows,
                                 .logits = m->logits };
    struct compute_device *device = m->device;
    const struct compute_sizes sizes = { n_rows, n_rows };
    CHECK(device->workspace_open(device->self, device->lanes[0], &program, sizes, &pass.workspace,
                                 NULL) == STATUS_OK);
    for (int i = 0; i < 2; i++) /* the first finds memory that was never touched */
        CHECK(compute_device_wait(device, device->lanes[0], &pass.work) == COMPUTE_DONE);
    device->workspace_close(device->self, pass.workspace);
    return (double)(pass.work.end_ns - pass.work.begin_ns) * 1e-9 / times;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double one_matmul_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_value);
    return values[n / 2];
}
