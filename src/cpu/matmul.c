/* The matrix multiplication's driver: items of a few panels, a run of them for each member. Idle
 * members take the items that are left at the end.
 *
 * Few rows need one walk over K for each panel. Their sums are stored at their final place when a
 * member has finished its items. The reason is that a core's walk through memory loses speed for
 * long after each access to other data outside its caches. For many rows K is split into chunks, so
 * that an item's part of the panels (in wide form when that is faster) and of the rows stay in a
 * core's caches while all rows pass. The sums so far are kept in the member's scratch. (Kernels for
 * many rows split K themselves.) Neither changes a bit: an output's sum has one accumulator that
 * walks K upwards, whichever member computes it and however often it pauses. */
#include "cpu/pass.h"

#include "compute/vmath.h"
#include <string.h>

enum {
    SWEEP_ROWS = 512,      /* rows with kept sums */
    CHUNK_INTEGERS = 1024, /* columns, a multiple of every unit */
    CHUNK_FLOATS = 512,
    CHUNK_BYTES_MAX = 38 << 10, /* of a wide panel, the widest */
    LAST_PIECES = 2,            /* by rows, of an item that others may wait for */
    KEPT_MAX = 64,              /* items with sums kept until they are stored at their places, */
    KEPT_BYTES_MIN = 40 << 10,  /* of this size at least, since smaller ones gain nothing */
    ITEMS_PER_MEMBER = 4,       /* at least, so that a slow member does not delay the others */
    OUT_COLUMNS = CPU_TILE_PANELS * CPU_PANEL,
    SUMS_BYTES = SWEEP_ROWS * OUT_COLUMNS * (int)sizeof(float),
};

size_t cpu_matmul_scratch(void)
{
    return SUMS_BYTES + CPU_TILE_PANELS * CHUNK_BYTES_MAX;
}

/* Returns how many rows of integers walk packed panels from end to end. */
static int32_t walking_rows(const struct cpu_kernels *kernels)
{
    return kernels->walks_whole ? CPU_TILE_ROWS : CPU_FEW_ROWS;
}

/* How panels are multiplied with rows. */
enum way { PACKED, WIDE, MANY };

static enum way way_of(const struct cpu_kernels *kernels, enum dtype dtype, int32_t n_rows)
{
    int32_t wide_rows_min = kernels->wide_rows_min[dtype];
    if (kernels->matmul_many[dtype] != NULL && n_rows >= CPU_MANY_ROWS)
        return MANY;
    if (kernels->widen[dtype] == NULL)
        return PACKED;
    if (wide_rows_min == 0)
        wide_rows_min = walking_rows(kernels) + 1;
    return n_rows >= wide_rows_min ? WIDE : PACKED;
}

enum cpu_rows_as cpu_matmul_wants(const struct cpu_pass *p, const struct compute_op *op)
{
    const struct compute_weight *weight = cpu_pass_weight(p, op->weight);
    if (weight->vector != NULL)
        return CPU_ROWS_FLOATS;
    int32_t n_rows =
        op->kind == COMPUTE_EXPERTS ? cpu_pass_order(p)->n_rows_most : cpu_pass_rows(p, op->src);
    if (dtype_info(weight->dtype)->is_integer)
        return p->kernels->group != NULL && way_of(p->kernels, weight->dtype, n_rows) != PACKED
                   ? CPU_ROWS_GROUPS
                   : CPU_ROWS_BLOCKS;
    return p->kernels->is_split[weight->dtype] ? CPU_ROWS_SPLIT : CPU_ROWS_FLOATS;
}

static float *output_row(const struct cpu_pass *p, const struct compute_op *op, int32_t row)
{
    return op->kind == COMPUTE_LOGITS ? p->logits + (int64_t)row * p->program->n_vocabulary + op->n
                                      : cpu_pass_row(p, op->dst, row);
}

static size_t output_stride(const struct cpu_pass *p, const struct compute_op *op)
{
    return op->kind == COMPUTE_LOGITS ? (size_t)p->program->n_vocabulary
                                      : (size_t)cpu_pass_stride(p->program, op->dst);
}

/* Applies bias, activation and residual to `n` outputs from `first` on. It overwrites values. */
static void finish(const struct cpu_pass *p, const struct compute_op *op, int32_t row,
                   int32_t first, int32_t n, float *values)
{
    const struct compute_weight *bias = cpu_pass_weight(p, op->bias);
    float *out = output_row(p, op, row) + first;
    if (bias != NULL)
        p->kernels->add(bias->vector + first, values, n);
    if (op->flags & COMPUTE_HAS_ACT)
        p->kernels->act(op->act, values, n);
    if (op->cap > 0)
        p->kernels->cap(op->cap, values, n);
    if (op->flags & COMPUTE_ADD_TO)
        p->kernels->add(values, out, n);
    else
        memcpy(out, values, (size_t)n * sizeof(float));
}

/* Multiplies with a weight of one output, which is kept as floats. */
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
    int32_t by_members = max_i32(weight->n_panels / (ITEMS_PER_MEMBER * n_members), 1);
    return min_i32(by_members, CPU_TILE_PANELS);
}

/* Complete sums, item behind item, which are not at their final place yet. */
struct kept {
    int32_t n, n_max;
    int32_t first_panel[KEPT_MAX];
    float *sums; /* (n, n_rows, OUT_COLUMNS) */
};

struct item { /* panels against rows [first_row, first_row + n_rows) */
    const struct cpu_pass *p;
    const struct compute_op *op;
    const struct compute_weight *weight;
    int32_t per_item; /* panels, except the last item */
    int32_t first_panel, n_panels, first_row, n_rows;
    int32_t next_panel;  /* the first of the next item, or negative: unknown */
    float *sums;         /* (n_rows, OUT_COLUMNS) */
    struct kept *kept;   /* NULL: rows are finished at once */
    unsigned char *wide; /* (CPU_TILE_PANELS, CHUNK_BYTES_MAX) */
};

/* Returns the bytes of a packed panel from its start to column k. */
static size_t panel_offset(const struct compute_weight *weight, int32_t k)
{
    return weight->panel_bytes * (size_t)k / (size_t)weight->n_columns;
}

static bool is_many(const struct item *item)
{
    return way_of(item->p->kernels, item->weight->dtype, item->n_rows) == MANY;
}

static bool is_wide(const struct item *item)
{
    return way_of(item->p->kernels, item->weight->dtype, item->n_rows) == WIDE;
}

/* Rows at a time. */
static int32_t tile_rows(const struct item *item)
{
    if (is_many(item))
        return SWEEP_ROWS;
    return item->p->kernels->is_split[item->weight->dtype] ? CPU_SPLIT_ROWS : CPU_TILE_ROWS;
}

/* Columns at a time. */
static int32_t chunk_of(const struct item *item)
{
    const struct compute_weight *weight = item->weight;
    bool is_integer = dtype_info(weight->dtype)->is_integer;
    int32_t n_few = is_integer ? walking_rows(item->p->kernels) : tile_rows(item);
    if (is_many(item) || (item->n_rows <= n_few && !is_wide(item)))
        return weight->n_columns;
    return is_integer ? CHUNK_INTEGERS : CHUNK_FLOATS;
}

/* Finishes a row with complete sums, for the item that begins at first_panel. */
static void finish_row(const struct item *item, int32_t first_panel, int32_t row, float *sums)
{
    int32_t first = first_panel * CPU_PANEL;
    int32_t n_outputs = min_i32(item->per_item * CPU_PANEL, item->weight->n_rows - first);
    finish(item->p, item->op, row, first, n_outputs, sums);
}

/* Row by row, so that outputs are written side by side. */
static void finish_kept(const struct item *item)
{
    struct kept *kept = item->kept;
    for (int32_t row = 0; row < item->n_rows; row++)
        for (int32_t i = 0; i < kept->n; i++)
            finish_row(item, kept->first_panel[i], row,
                       kept->sums + (i * item->n_rows + row) * OUT_COLUMNS);
    kept->n = 0;
}

static void keep(const struct item *item)
{
    struct kept *kept = item->kept;
    int32_t n = item->n_rows * OUT_COLUMNS;
    memcpy(kept->sums + kept->n * n, item->sums, (size_t)n * sizeof(float));
    kept->first_panel[kept->n++] = item->first_panel;
    if (kept->n == kept->n_max)
        finish_kept(item);
}

/* Sets what the first rows of columns [k, k + n) prefetch: the next columns. */
static void look_ahead(const struct item *item, int32_t k, int32_t n, struct cpu_tile *tile)
{
    const struct compute_weight *weight = item->weight;
    bool is_last = k + n == weight->n_columns;
    int32_t panel = is_last ? item->next_panel : item->first_panel;
    if (panel < 0)
        return;
    size_t at = is_last ? 0 : panel_offset(weight, k + n);
    tile->ahead = weight->panels + (size_t)panel * weight->panel_bytes + at;
    tile->ahead_stride = weight->panel_bytes;
    tile->ahead_bytes = panel_offset(weight, n);
}

/* Returns whether complete sums only need storing at their place, and kernels do that. */
static bool is_direct(const struct item *item)
{
    const struct compute_op *op = item->op;
    bool is_able = is_many(item) || is_wide(item) ||
                   (item->p->kernels->walks_whole && item->n_rows > CPU_FEW_ROWS);
    return is_able && dtype_info(item->weight->dtype)->is_integer && op->bias < 0 && op->cap == 0 &&
           !(op->flags & (COMPUTE_HAS_ACT | COMPUTE_ADD_TO)) &&
           (item->first_panel + item->n_panels) * CPU_PANEL <= item->weight->n_rows;
}

/* Columns [k, k + n) of the item's panels against its rows, added to its sums. */
static void multiply_chunk(const struct item *item, int32_t k, int32_t n)
{
    const struct compute_weight *weight = item->weight;
    const struct cpu_kernels *kernels = item->p->kernels;
    void (*multiply)(const struct cpu_tile *) =
        (is_many(item) ? kernels->matmul_many : kernels->matmul)[weight->dtype];
    const unsigned char *panels =
        weight->panels + (size_t)item->first_panel * weight->panel_bytes + panel_offset(weight, k);
    struct cpu_tile tile = { .panels = panels,
                             .panel_bytes = weight->panel_bytes,
                             .n_panels = item->n_panels,
                             .n_columns = n,
                             .is_continued = k > 0,
                             .x_stride = (size_t)cpu_pass_stride(item->p->program, item->op->src),
                             .block_stride = (size_t)cpu_pass_block_stride(weight->n_columns),
                             .target_stride = output_stride(item->p, item->op) };
    look_ahead(item, k, n, &tile);
    bool is_last = k + n == weight->n_columns;
    if (is_wide(item)) {
        CHECK(cpu_wide_bytes(weight->dtype, n) <= CHUNK_BYTES_MAX);
        for (int32_t i = 0; i < item->n_panels; i++)
            kernels->widen[weight->dtype](panels + (size_t)i * weight->panel_bytes, n,
                                          item->wide + i * CHUNK_BYTES_MAX);
        tile.panels = item->wide;
        tile.panel_bytes = CHUNK_BYTES_MAX;
        multiply = kernels->matmul_wide[weight->dtype];
    }
    for (int32_t row = 0; row < item->n_rows; row += tile_rows(item)) {
        tile.n_rows = min_i32(tile_rows(item), item->n_rows - row);
        tile.x = cpu_pass_row(item->p, item->op->src, item->first_row + row) + k;
        tile.blocks = cpu_pass_blocks(item->p, weight->n_columns, item->first_row + row) + k / 32;
        if (kernels->is_split[weight->dtype]) {
            tile.groups = cpu_pass_splits(item->p, weight->n_columns, item->first_row + row) +
                          (size_t)(k / 32) * kernels->split_bytes;
            tile.group_stride = (size_t)div_up_i64(weight->n_columns, 32) * kernels->split_bytes;
        } else if (kernels->group != NULL && (is_many(item) || is_wide(item))) {
            tile.groups = cpu_pass_groups(item->p, weight->n_columns, item->first_row + row) +
                          (size_t)(k / 32) * kernels->group_bytes;
            tile.group_stride = (size_t)(weight->n_columns / 32) * kernels->group_bytes;
        }
        tile.out = item->sums + row * OUT_COLUMNS;
        tile.is_direct = is_last && is_direct(item);
        if (is_last && item->kept == NULL)
            tile.target = output_row(item->p, item->op, item->first_row + row) +
                          item->first_panel * CPU_PANEL;
        multiply(&tile);
        tile.ahead = NULL;
        for (int32_t i = row;
             is_last && !tile.is_direct && item->kept == NULL && i < row + tile.n_rows; i++)
            finish_row(item, item->first_panel, item->first_row + i, item->sums + i * OUT_COLUMNS);
    }
}

static void multiply_item(const struct item *item)
{
    const struct compute_weight *weight = item->weight;
    int32_t chunk = chunk_of(item);
    for (int32_t k = 0; k < weight->n_columns; k += chunk)
        multiply_chunk(item, k, min_i32(chunk, weight->n_columns - k));
    if (item->kept != NULL)
        keep(item);
}

static struct item item_of(const struct cpu_pass *p, const struct compute_op *op, int rank)
{
    unsigned char *scratch =
        p->workspace + p->layout.matmul + (size_t)rank * p->layout.matmul_bytes;
    const struct compute_weight *weight = cpu_pass_weight(p, op->weight);
    return (struct item){ .p = p,
                          .op = op,
                          .weight = weight,
                          .per_item = panels_per_item(weight, team_size(p->team)),
                          .next_panel = -1,
                          .sums = (float *)(void *)scratch,
                          .wide = scratch + SUMS_BYTES };
}

/* Multiplies rows [first, end). */
static void multiply_rows(struct item *item, int32_t first, int32_t end)
{
    for (item->first_row = first; item->first_row < end; item->first_row += SWEEP_ROWS) {
        item->n_rows = min_i32(SWEEP_ROWS, end - item->first_row);
        multiply_item(item);
    }
}

void cpu_matmul_experts(const struct cpu_pass *p, const struct compute_op *op, int op_index,
                        int rank)
{
    const struct cpu_experts_order *order = cpu_pass_order(p);
    struct compute_op own = *op;
    struct item item = item_of(p, &own, rank);
    int32_t n_items = (int32_t)div_up_i64(item.weight->n_panels, item.per_item); /* an expert */
    struct cpu_taker taker = { .n_items = order->n * n_items,
                               .part = rank,
                               .n_parts = team_size(p->team) };
    for (int32_t i = cpu_pass_take(p, op_index, &taker); i >= 0;
         i = cpu_pass_take(p, op_index, &taker)) {
        const struct cpu_expert *expert = &order->experts[i / n_items];
        own.bias = op->bias + (op->bias >= 0 ? expert->id : 0);
        item.weight = cpu_pass_weight(p, op->weight + expert->id);
        item.first_panel = i % n_items * item.per_item;
        item.n_panels = min_i32(item.per_item, item.weight->n_panels - item.first_panel);
        multiply_rows(&item, expert->first_row, expert->first_row + expert->n_rows);
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
    struct item item = item_of(p, op, rank);
    int32_t n_rows = cpu_pass_rows(p, op->src), per = item.per_item;
    struct kept kept = { .n = 0 };
    bool is_few = n_rows <= CPU_FEW_ROWS && way_of(p->kernels, weight->dtype, n_rows) == PACKED;
    if (n_rows > 1 && is_few && (size_t)per * weight->panel_bytes >= KEPT_BYTES_MIN) {
        kept.n_max = min_i32(SWEEP_ROWS / n_rows - 1, KEPT_MAX);
        kept.sums = item.sums + n_rows * OUT_COLUMNS; /* behind those of the current item */
        item.kept = &kept;
    }
    /* Rows of one tile take the next item early, so that they prefetch the right one. A member with
     * more rows assumes that the item behind its own comes next. */
    bool is_early = !is_few && n_rows <= CPU_TILE_ROWS;
    struct cpu_taker taker = { .n_items = (int32_t)div_up_i64(weight->n_panels, per),
                               .part = rank,
                               .n_pieces = n_rows > LAST_PIECES * CPU_TILE_ROWS ? LAST_PIECES : 1,
                               .n_parts = team_size(p->team) };
    int32_t next = cpu_pass_take(p, op_index, &taker);
    while (next >= 0) {
        item.first_panel = next * per;
        int32_t soon = next + 1 < taker.end ? next + 1 : -1;
        struct cpu_share rows =
            cpu_pass_share((int32_t)div_up_i64(n_rows, CPU_TILE_ROWS), taker.piece, taker.n_of);
        int32_t end_row = min_i32(rows.to * CPU_TILE_ROWS, n_rows);
        if (is_early)
            soon = next = cpu_pass_take(p, op_index, &taker);
        item.next_panel = soon >= 0 && !is_few ? soon * per : -1;
        item.n_panels = min_i32(per, weight->n_panels - item.first_panel);
        multiply_rows(&item, rows.from * CPU_TILE_ROWS, end_row);
        if (!is_early)
            next = cpu_pass_take(p, op_index, &taker);
    }
    if (kept.n > 0)
        finish_kept(&item);
}
