/* LoRA adapters: rows with an adapter are multiplied by its two small matrices of floats.
 *
 * Places order these rows by adapter. ADAPT_DOWN reads rows where they are, and writes its register
 * by place, so that ADAPT_UP multiplies the rows of a group together. No sum depends on the group,
 * since each output's accumulator walks k upwards for its row alone. */
#include "cpu/adapt.h"

#include "cpu/pass.h"
#include <string.h>

enum {
    ITEMS_PER_MEMBER = 4,
    OUT_COLUMNS = CPU_TILE_PANELS * CPU_PANEL,
    GATHERED_COLUMNS = 1024,
    GATHERED_STRIDE = GATHERED_COLUMNS + 16,
    SCRATCH_FLOATS = CPU_TILE_ROWS * (OUT_COLUMNS + GATHERED_STRIDE),
};
_Static_assert((int)COMPUTE_ADAPTER_ALIGN == (int)CPU_PANEL, "a rank is whole panels");

static struct cpu_adapt_order order_at(const struct cpu_pass *p)
{
    struct cpu_adapt_order order = p->adapt;
    unsigned char *at = p->workspace + p->layout.adapt;
    order.groups = (struct cpu_adapt_group *)(void *)at;
    order.rows = (int32_t *)(void *)(order.groups + p->pass->n_rows);
    return order;
}

int64_t cpu_adapt_bytes(const struct compute_program *program, int32_t n_rows)
{
    if (program->shapes.n_adapters == 0)
        return 0;
    return n_rows * (int64_t)(sizeof(struct cpu_adapt_group) + sizeof(int32_t));
}

void cpu_adapt_sort(struct cpu_pass *p)
{
    const uint16_t *adapters = p->pass->shapes.adapters;
    struct cpu_adapt_order order = order_at(p);
    int32_t at = 0, starts[LIMIT_ADAPTERS] = { 0 }, n_adapters = p->program->shapes.n_adapters;
    if (adapters == NULL)
        return;
    CHECK(n_adapters <= LIMIT_ADAPTERS);
    for (int32_t row = 0; row < p->pass->n_rows; row++) {
        CHECK(adapters[row] <= n_adapters);
        if (adapters[row] > 0)
            starts[adapters[row] - 1]++;
    }
    for (int32_t i = 0; i < n_adapters; i++) {
        int32_t end = at + starts[i];
        starts[i] = at;
        for (; at < end;
             at = order.groups[order.n_groups - 1].first + order.groups[order.n_groups - 1].n)
            order.groups[order.n_groups++] =
                (struct cpu_adapt_group){ i, at, min_i32(end - at, CPU_TILE_ROWS) };
    }
    for (int32_t row = 0; row < p->pass->n_rows; row++)
        if (adapters[row] > 0)
            order.rows[starts[adapters[row] - 1]++] = row;
    p->adapt.n_groups = order.n_groups;
}

/* Returns the matrix of an adapter that the operation multiplies with; NULL: it has none. */
static const struct compute_weight *matrix_of(const struct cpu_pass *p, const struct compute_op *op,
                                              int32_t adapter)
{
    const struct compute_adapter *a = &p->program->shapes.adapters[adapter];
    struct compute_weight *const *matrices = op->kind == COMPUTE_ADAPT_UP ? a->up : a->down;
    return matrices != NULL ? matrices[op->n] : NULL;
}

bool cpu_adapt_is_used(const struct cpu_pass *p, const struct compute_op *op)
{
    struct cpu_adapt_order order = order_at(p);
    for (int32_t i = 0; i < order.n_groups; i++)
        if (matrix_of(p, op, order.groups[i].adapter) != NULL)
            return true;
    return false;
}

static bool are_adjacent(const int32_t *rows, int32_t n)
{
    return rows[n - 1] - rows[0] == n - 1; /* they ascend */
}

/* Multiplies the tile's panels with rows that lie apart: columns of them are put side by side, so
 * that the panels are read once. */
static void multiply_apart(const struct cpu_pass *p, const struct compute_op *op,
                           const struct cpu_tile *whole, const int32_t *rows, float *gathered)
{
    struct cpu_tile tile = *whole;
    tile.x = gathered;
    tile.x_stride = GATHERED_STRIDE;
    for (int32_t k = 0; k < whole->n_columns; k += GATHERED_COLUMNS) {
        tile.n_columns = min_i32(GATHERED_COLUMNS, whole->n_columns - k);
        tile.panels = whole->panels + (size_t)k * CPU_PANEL * sizeof(float);
        tile.is_continued = k > 0;
        for (int32_t i = 0; i < tile.n_rows; i++)
            memcpy(gathered + i * GATHERED_STRIDE, cpu_pass_row(p, op->src, rows[i]) + k,
                   (size_t)tile.n_columns * sizeof(*gathered));
        p->kernels->matmul[DTYPE_F32](&tile);
    }
}

/* Multiplies panels [from, to) of a matrix with a group's rows, and stores or adds the sums. */
static void run_panels(const struct cpu_pass *p, const struct compute_op *op,
                       const struct cpu_adapt_group *group, struct cpu_share panels, float *sums)
{
    const struct compute_weight *weight = matrix_of(p, op, group->adapter);
    const int32_t *rows = order_at(p).rows + group->first;
    bool is_up = op->kind == COMPUTE_ADAPT_UP, is_apart = !is_up && !are_adjacent(rows, group->n);
    struct cpu_tile tile = { .panel_bytes = weight->panel_bytes,
                             .n_rows = group->n,
                             .n_columns = weight->n_columns,
                             .x = cpu_pass_row(p, op->src, is_up ? group->first : rows[0]),
                             .x_stride = (size_t)cpu_pass_stride(p->program, op->src),
                             .out = sums };
    for (int32_t panel = panels.from; panel < panels.to; panel += tile.n_panels) {
        int32_t first = panel * CPU_PANEL;
        tile.panels = weight->panels + (size_t)panel * weight->panel_bytes;
        tile.n_panels = min_i32(CPU_TILE_PANELS, panels.to - panel);
        int32_t n = min_i32(tile.n_panels * CPU_PANEL, weight->n_rows - first);
        if (is_apart)
            multiply_apart(p, op, &tile, rows, sums + CPU_TILE_ROWS * OUT_COLUMNS);
        else
            p->kernels->matmul[DTYPE_F32](&tile);
        for (int32_t i = 0; i < group->n; i++) {
            const float *from = sums + i * OUT_COLUMNS;
            if (is_up)
                p->kernels->add(from, cpu_pass_row(p, op->dst, rows[i]) + first, n);
            else
                memcpy(cpu_pass_row(p, op->dst, group->first + i) + first, from,
                       (size_t)n * sizeof(*from));
        }
    }
}

void cpu_adapt(const struct cpu_pass *p, const struct compute_op *op, int op_index, int rank)
{
    struct cpu_adapt_order order = order_at(p);
    float *sums =
        (float *)(void *)(p->workspace + p->layout.matmul + (size_t)rank * p->layout.matmul_bytes);
    int n_members = team_size(p->team);
    CHECK(p->layout.matmul_bytes >= SCRATCH_FLOATS * sizeof(float));
    int32_t n_pieces = (int32_t)div_up_i64(ITEMS_PER_MEMBER * n_members, order.n_groups);
    struct cpu_taker taker = { .n_items = order.n_groups * n_pieces,
                               .part = rank,
                               .n_parts = n_members };
    for (int32_t i = cpu_pass_take(p, op_index, &taker); i >= 0;
         i = cpu_pass_take(p, op_index, &taker)) {
        const struct cpu_adapt_group *group = &order.groups[i / n_pieces];
        const struct compute_weight *weight = matrix_of(p, op, group->adapter);
        if (weight != NULL)
            run_panels(p, op, group, cpu_pass_share(weight->n_panels, i % n_pieces, n_pieces),
                       sums);
    }
}

void cpu_adapt_act(const struct cpu_pass *p, const struct compute_op *op, struct cpu_share share)
{
    for (int32_t row = share.from; row < share.to; row++)
        p->kernels->act(op->act, cpu_pass_row(p, op->dst, row), p->program->widths[op->dst]);
}
