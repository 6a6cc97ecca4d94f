/* The matrix multiplication's driver: items of a few panels, taken by whoever is free; rows in
 * tiles.
 *
 * Who computes an item changes nothing: an output's sum over K is made by one kernel call from
 * start to end. */
#include "cpu/pass.h"

#include "compute/vmath.h"
#include <string.h>

enum {
    ITEM_BYTES_MAX = 192 << 10, /* panels of an item stay in the second-level cache over its rows */
    ITEMS_PER_MEMBER = 4,       /* at least, so that a slow member does not hold up the others */
};

bool cpu_matmul_wants_quantized(const struct cpu_pass *p, const struct compute_op *op)
{
    const struct compute_weight *weight = cpu_pass_weight(p, op->weight);
    return weight->vector == NULL && dtype_info(weight->dtype)->is_integer;
}

static float *output_row(const struct cpu_pass *p, const struct compute_op *op, int32_t row)
{
    return op->kind == COMPUTE_LOGITS ? p->pass->logits + (int64_t)row * p->program->n_vocabulary
                                      : cpu_pass_row(p, op->dst, row);
}

/* Bias, activation and residual of `n` outputs from `first` on; values is used up. */
static void finish(const struct cpu_pass *p, const struct compute_op *op, int32_t row,
                   int32_t first, int32_t n, float *values)
{
    const struct compute_weight *bias = cpu_pass_weight(p, op->bias);
    float *out = output_row(p, op, row) + first;
    if (bias != NULL)
        p->kernels->add(bias->vector + first, values, n);
    if (op->flags & COMPUTE_HAS_ACT)
        p->kernels->act(op->act, values, n);
    if (op->flags & COMPUTE_ADD_TO)
        p->kernels->add(values, out, n);
    else
        memcpy(out, values, (size_t)n * sizeof(float));
}

/* A weight of one output is kept as floats. */
static void matmul_vector(const struct cpu_pass *p, const struct compute_op *op,
                          const struct compute_weight *weight)
{
    for (int32_t row = 0; row < cpu_pass_rows(p, op->src); row++) {
        const float *x = cpu_pass_row(p, op->src, row);
        float acc = 0;
        for (int32_t k = 0; k < weight->n_columns; k++)
            acc = vmath_fma(weight->vector[k], x[k], acc);
        finish(p, op, row, 0, 1, &acc);
    }
}

static int32_t panels_per_item(const struct compute_weight *weight, int n_members)
{
    int64_t by_cache = max_i64(ITEM_BYTES_MAX / (int64_t)weight->panel_bytes, 1);
    int64_t by_members = max_i64(weight->n_panels / (ITEMS_PER_MEMBER * n_members), 1);
    return (int32_t)min_i64(min_i64(by_cache, by_members), CPU_TILE_PANELS);
}

/* Panels [first, first + n) against all rows. */
static void matmul_item(const struct cpu_pass *p, const struct compute_op *op,
                        const struct compute_weight *weight, int32_t first, int32_t n)
{
    _Alignas(64) float values[CPU_TILE_ROWS * CPU_TILE_PANELS * CPU_PANEL];
    int32_t n_rows = cpu_pass_rows(p, op->src);
    int32_t n_outputs = min_i32(n * CPU_PANEL, weight->n_rows - first * CPU_PANEL);
    struct cpu_tile tile = { .panels = weight->panels + (size_t)first * weight->panel_bytes,
                             .panel_bytes = weight->panel_bytes,
                             .n_panels = n,
                             .n_columns = weight->n_columns,
                             .x_stride = (size_t)cpu_pass_stride(p->program, op->src),
                             .out = values };
    for (int32_t row = 0; row < n_rows; row += CPU_TILE_ROWS) {
        tile.n_rows = min_i32(CPU_TILE_ROWS, n_rows - row);
        tile.x = cpu_pass_row(p, op->src, row);
        tile.blocks = cpu_pass_blocks(p, weight->n_columns, row);
        p->kernels->matmul[weight->dtype](&tile);
        for (int32_t r = 0; r < tile.n_rows; r++)
            finish(p, op, row + r, first * CPU_PANEL, n_outputs,
                   values + r * CPU_TILE_PANELS * CPU_PANEL);
    }
}

void cpu_matmul(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank)
{
    const struct compute_weight *weight = cpu_pass_weight(p, op->weight);
    if (weight->vector != NULL) {
        if (rank == 0)
            matmul_vector(p, op, weight);
        return;
    }
    int32_t per = panels_per_item(weight, team_size(p->team));
    for (;;) {
        int64_t first = (int64_t)cpu_pass_next(p, op_index) * per;
        if (first >= weight->n_panels)
            return;
        matmul_item(p, op, weight, (int32_t)first, min_i32(per, weight->n_panels - (int32_t)first));
    }
}
