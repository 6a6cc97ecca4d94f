/* Computes operations and bytes of a pass, and the time that they take at the machine's peaks. */
#include "roofline/work.h"

#include "base/num.h"

#include <string.h>

enum { MEDIAN_MAX = 64 };

enum cpu_limit roofline_work_peak_of(enum dtype dtype)
{
    if (!dtype_info(dtype)->is_integer)
        return dtype == DTYPE_F32 || dtype == DTYPE_F8_E4M3 ? CPU_LIMIT_FLOAT : CPU_LIMIT_HALF;
    bool is_small = dtype == DTYPE_Q4_0 || dtype == DTYPE_Q4_1 || dtype == DTYPE_Q4_K ||
                    dtype == DTYPE_Q2_K || dtype == DTYPE_Q3_K;
    return is_small ? CPU_LIMIT_INT8_SHORT : CPU_LIMIT_INT8;
}

static void add_part(struct roofline_limit *limit, double ops, double bytes, double peak,
                     double read)
{
    double arithmetic_s = peak > 0 ? ops / peak : 0, read_s = read > 0 ? bytes / read : 0;
    limit->ops += ops;
    limit->bytes += bytes;
    limit->arithmetic_s += arithmetic_s;
    limit->composite_s += arithmetic_s > read_s ? arithmetic_s : read_s;
}

/* Returns the pairs of a query row and a position that it sees, for one sequence. */
static double pairs_of(const struct roofline_point *point, int32_t window)
{
    double n = 0;
    for (int32_t i = 0; i < point->n_new; i++) {
        int32_t sees = point->n_before + i + 1;
        n += window > 0 ? min_i32(sees, window) : sees;
    }
    return n;
}

static void add_attention(const struct compute_program *program, const struct compute_op *op,
                          const struct roofline_point *point, int kv_bytes,
                          const struct roofline_speeds *speeds, struct roofline_limit *out)
{
    int32_t context = point->n_before + point->n_new;
    if (op->n > 0)
        context = (int32_t)min_i64(context, (int64_t)op->n + point->n_new - 1);
    double ops = 4.0 * program->n_heads * program->head_dim * pairs_of(point, op->n);
    double n_parts = program->shapes.has_latents ? 1.0 : 2.0; /* keys that are the values, too */
    double bytes = n_parts * program->n_kv_heads * program->head_dim * kv_bytes * context;
    add_part(out, point->n_sequences * ops, point->n_sequences * bytes,
             speeds->peak[CPU_LIMIT_FLOAT], speeds->read);
}

/* Returns how many experts are read for n_rows rows, if all are chosen equally often. */
static double experts_read(const struct compute_experts *experts, double n_rows)
{
    double n = experts->n_experts, unread = num_pow(1 - experts->n_used / n, n_rows);
    return n * (1 - unread);
}

void roofline_work_limit_of(const struct compute_program *program,
                            const struct tensor *const *tensors, const struct roofline_point *point,
                            int kv_bytes, const struct roofline_speeds *speeds,
                            struct roofline_limit *out)
{
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < program->n_ops; i++) {
        const struct compute_op *op = &program->ops[i];
        if (op->kind == COMPUTE_ATTEND)
            add_attention(program, op, point, kv_bytes, speeds, out);
        bool has_heads = op->kind == COMPUTE_HEADS; /* a matrix each */
        if (op->kind != COMPUTE_MATMUL && op->kind != COMPUTE_LOGITS &&
            op->kind != COMPUTE_EXPERTS && !has_heads)
            continue;
        const struct tensor *tensor = tensors[op->weight];
        double n_matrices = has_heads ? op->n : 1;
        double n = n_matrices * tensor->n_rows * tensor->n_columns;
        double rows = program->is_logit_rows[op->src] ? 1 : point->n_new;
        double bytes =
            (double)dtype_row_bytes(tensor->dtype, tensor->n_columns) * tensor->n_rows * n_matrices;
        if (op->kind == COMPUTE_EXPERTS) {
            bytes *= experts_read(&program->shapes.experts, rows * point->n_sequences);
            rows *= program->shapes.experts.n_used;
        }
        add_part(out, 2 * n * rows * point->n_sequences, bytes,
                 speeds->peak[roofline_work_peak_of(tensor->dtype)], speeds->read);
    }
    double read_s = speeds->read > 0 ? out->bytes / speeds->read : 0;
    out->larger_s = out->arithmetic_s > read_s ? out->arithmetic_s : read_s;
}

double roofline_work_fraction(const struct roofline_point *point,
                              const struct roofline_limit *limit, double s)
{
    double limit_s = point->kind == ROOFLINE_PREFILL ? limit->composite_s : limit->larger_s;
    return s > 0 ? limit_s / s : 0;
}

int32_t roofline_work_tokens(const struct roofline_point *point)
{
    return point->n_sequences * (point->kind == ROOFLINE_PREFILL ? point->n_new : 1);
}

double roofline_work_median(const double *values, int n)
{
    double sorted[MEDIAN_MAX];
    n = min_i32(n, MEDIAN_MAX);
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > values[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = values[i];
    }
    if (n == 0)
        return 0;
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}
