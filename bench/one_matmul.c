/* One matrix through a whole backend: opened, packed, multiplied and timed for the benchmarks that
 * compare single kernels. */
#include "one_matmul.h"
#include "base/mem.h"
#include "base/time.h"
#include <stdlib.h>

enum { TIMES_MAX = 8 };

/* n_outputs copies of one row: packing does not care. */
static struct compute_weight *pack(struct one_matmul *m, enum dtype dtype, int32_t n_outputs)
{
    struct fault fault;
    struct compute_weight *weight;
    int64_t n_bytes = dtype_row_bytes(dtype, ONE_MATMUL_COLUMNS);
    unsigned char *row = mem_take((size_t)n_bytes);
    for (int64_t i = 0; i < n_bytes; i++)
        row[i] = (unsigned char)(i * 37 % 64); /* halves near 0.01 */
    struct tensor tensor = { row, dtype, n_outputs, ONE_MATMUL_COLUMNS, 0, false };
    enum status status = m->backend->pack(m->backend->self, &tensor, &weight, &fault);
    CHECK(status == STATUS_OK);
    mem_give(row);
    return weight;
}

void one_matmul_open(struct one_matmul *m, enum cpu_isa isa, int n_threads)
{
    *m = (struct one_matmul){
        .device = { .kind = DEVICE_CPU, .n_cores = n_threads, .cores = { 0, 1, 2, 3 } },
        .now_ns = n_threads == 1 ? time_thread_cpu_ns : time_now_ns,
    };
    m->backend = cpu_open(&m->device, isa);
    m->workspace = mem_take(64 << 20);
    m->logits = mem_take((size_t)ONE_MATMUL_OUTPUTS * 64 * sizeof(float));
    m->input = pack(m, DTYPE_F32, 2);
}

void one_matmul_close(struct one_matmul *m)
{
    m->backend->unpack(m->backend->self, m->input);
    mem_give(m->workspace);
    mem_give(m->logits);
    m->backend->close(m->backend);
}

void one_matmul_pack(struct one_matmul *m, enum dtype dtype, int32_t n_outputs)
{
    m->weight = pack(m, dtype, n_outputs);
}

void one_matmul_unpack(struct one_matmul *m)
{
    m->backend->unpack(m->backend->self, m->weight);
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
    struct compute_weight *const weights[] = { m->input, m->weight };
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
                                 .ids = m->ids,
                                 .positions = m->positions,
                                 .n_logit_rows = n_rows,
                                 .logit_rows = m->rows,
                                 .logits = m->logits };
    int64_t start = m->now_ns();
    m->backend->run(m->backend->self, &program, &pass, m->workspace);
    return (double)(m->now_ns() - start) * 1e-9 / times;
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
