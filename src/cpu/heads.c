/* Heads times matrices of their own. An item is a head with some rows, whose part is converted for
 * the matrix in the member's scratch.
 *
 * A sum walks K upwards in one accumulator, as in matmul.c, so that a row's bits depend neither on
 * the other rows nor on the member. */
#include "cpu/pass.h"

#include <string.h>

enum {
    OUT_COLUMNS = CPU_TILE_PANELS * CPU_PANEL,
    SUMS_BYTES = CPU_TILE_ROWS * OUT_COLUMNS * (int)sizeof(float),
};

struct heads { /* one operation */
    const struct cpu_pass *p;
    const struct compute_op *op;
    int32_t n_from, n_to; /* floats of a head of src, of dst */
    float *sums;
    unsigned char *converted;
    size_t n_converted;
};

/* Returns the bytes of some rows in the form that the weight's kernels take; 0: floats as they
 * are. */
static size_t converted_bytes(const struct cpu_kernels *kernels,
                              const struct compute_weight *weight, int32_t n_rows)
{
    size_t n_blocks = (size_t)div_up_i64(weight->n_columns, 32);
    if (dtype_info(weight->dtype)->is_integer)
        return (size_t)n_rows * n_blocks * sizeof(struct cpu_block);
    if (!kernels->is_split[weight->dtype])
        return 0;
    return (size_t)div_up_i64(n_rows, CPU_GROUP_ROWS) * n_blocks * kernels->split_bytes;
}

/* Returns how many rows an item has: as many as the scratch holds. */
static int32_t rows_of_item(const struct heads *h, const struct compute_weight *weight)
{
    const struct cpu_kernels *kernels = h->p->kernels;
    int32_t n = kernels->is_split[weight->dtype] ? CPU_SPLIT_ROWS : CPU_TILE_ROWS;
    while (n > CPU_GROUP_ROWS && converted_bytes(kernels, weight, n) > h->n_converted)
        n -= CPU_GROUP_ROWS;
    CHECK(converted_bytes(kernels, weight, n) <= h->n_converted);
    return n;
}

/* Converts the rows of a tile, which are at tile->x. */
static void convert(const struct heads *h, const struct compute_weight *weight,
                    struct cpu_tile *tile)
{
    const struct cpu_kernels *kernels = h->p->kernels;
    int32_t n = weight->n_columns, n_blocks = (int32_t)div_up_i64(n, 32);
    bool is_integer = dtype_info(weight->dtype)->is_integer;
    if (!is_integer && !kernels->is_split[weight->dtype])
        return;
    struct cpu_block *blocks = (struct cpu_block *)(void *)h->converted;
    size_t group_bytes = (size_t)n_blocks * kernels->split_bytes;
    for (int32_t r = 0; r < tile->n_rows; r++) {
        const float *x = tile->x + (size_t)r * tile->x_stride;
        if (is_integer)
            kernels->quantize(x, n, blocks + r * n_blocks);
        else
            kernels->split(x, n, r % CPU_GROUP_ROWS,
                           h->converted + (size_t)(r / CPU_GROUP_ROWS) * group_bytes);
    }
    tile->blocks = blocks;
    tile->block_stride = (size_t)n_blocks;
    tile->groups = h->converted;
    tile->group_stride = group_bytes;
}

/* Multiplies rows [first, first + n) of one head. */
static void multiply(const struct heads *h, int32_t head, int32_t first, int32_t n)
{
    const struct compute_op *op = h->op;
    const struct compute_weight *weight = cpu_pass_weight(h->p, op->weight + head);
    bool keeps = op->flags & COMPUTE_KEEPS_REST;
    int32_t n_rest = h->n_from - weight->n_columns, at = keeps ? n_rest : 0;
    const float *from = cpu_pass_row(h->p, op->src, first) + (int64_t)head * h->n_from;
    float *to = cpu_pass_row(h->p, op->dst, first) + (int64_t)head * h->n_to;
    size_t x_stride = (size_t)cpu_pass_stride(h->p->program, op->src);
    size_t out_stride = (size_t)cpu_pass_stride(h->p->program, op->dst);
    struct cpu_tile tile = { .panel_bytes = weight->panel_bytes,
                             .n_rows = n,
                             .n_columns = weight->n_columns,
                             .x = keeps ? from : from + n_rest,
                             .x_stride = x_stride,
                             .out = h->sums,
                             .target = to,
                             .target_stride = out_stride };
    CHECK(n_rest >= 0 && weight->n_rows + at == h->n_to);
    convert(h, weight, &tile);
    for (int32_t panel = 0; panel < weight->n_panels; panel += CPU_TILE_PANELS) {
        int32_t column = panel * CPU_PANEL;
        int32_t n_outputs = min_i32(OUT_COLUMNS, weight->n_rows - column);
        tile.panels = weight->panels + (size_t)panel * weight->panel_bytes;
        tile.n_panels = min_i32(CPU_TILE_PANELS, weight->n_panels - panel);
        h->p->kernels->matmul[weight->dtype](&tile);
        for (int32_t r = 0; r < n; r++)
            memcpy(to + (size_t)r * out_stride + at + column, h->sums + r * OUT_COLUMNS,
                   (size_t)n_outputs * sizeof(float));
    }
    for (int32_t r = 0; r < n && keeps; r++)
        memcpy(to + (size_t)r * out_stride, from + (size_t)r * x_stride + weight->n_columns,
               (size_t)n_rest * sizeof(float));
}

void cpu_heads(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank)
{
    unsigned char *scratch =
        p->workspace + p->layout.matmul + (size_t)rank * p->layout.matmul_bytes;
    struct heads h = { .p = p,
                       .op = op,
                       .n_from = p->program->widths[op->src] / op->n,
                       .n_to = p->program->widths[op->dst] / op->n,
                       .sums = (float *)(void *)scratch,
                       .converted = scratch + SUMS_BYTES,
                       .n_converted = p->layout.matmul_bytes - SUMS_BYTES };
    int32_t n_rows = cpu_pass_rows(p, op->src);
    int32_t per = rows_of_item(&h, cpu_pass_weight(p, op->weight));
    int32_t n_parts = (int32_t)div_up_i64(n_rows, per);
    struct cpu_taker taker = { .n_items = op->n * n_parts,
                               .part = rank,
                               .n_parts = team_size(p->team) };
    for (int32_t i = cpu_pass_take(p, op_index, &taker); i >= 0;
         i = cpu_pass_take(p, op_index, &taker)) {
        int32_t first = i % n_parts * per;
        multiply(&h, i / n_parts, first, min_i32(per, n_rows - first));
    }
}
