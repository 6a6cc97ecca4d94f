/* A table over two axes. */
#include "predict/grid.h"

#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

static int order(const void *a, const void *b)
{
    const struct grid_point *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

static int order_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int32_t without_repeats(double *values, int64_t n)
{
    int32_t n_out = 0;
    qsort(values, (size_t)n, sizeof(*values), order_values);
    for (int64_t i = 0; i < n; i++)
        if (n_out == 0 || values[i] != values[n_out - 1])
            values[n_out++] = values[i];
    return n_out;
}

static int32_t index_of(const double *axis, int32_t n, double value)
{
    const double *found = bsearch(&value, axis, (size_t)n, sizeof(*axis), order_values);
    return (int32_t)(found - axis);
}

/* Fills the unknown ones of a line of n values, `stride` apart, from the known ones. Returns false
 * when none is known. */
static bool fill_line(double *at, bool *is_known, const double *axis, int32_t n, int32_t stride)
{
    int32_t before = -1;
    for (int32_t i = 0; i < n; i++) {
        if (!is_known[i * stride])
            continue;
        for (int32_t k = before + 1; k < i; k++) {
            double part = before < 0 ? 1 : (axis[k] - axis[before]) / (axis[i] - axis[before]);
            double from = before < 0 ? 0 : at[before * stride] * (1 - part);
            at[k * stride] = from + at[i * stride] * part;
        }
        before = i;
    }
    for (int32_t k = before + 1; k < n && before >= 0; k++)
        at[k * stride] = at[before * stride];
    for (int32_t i = 0; i < n && before >= 0; i++)
        is_known[i * stride] = true;
    return before >= 0;
}

static void fill(struct grid *g, const struct grid_point *points, int64_t n)
{
    size_t n_cells = (size_t)g->n_x * (size_t)g->n_y;
    bool *is_known = mem_take(n_cells * sizeof(*is_known));
    for (int64_t i = 0, next; i < n; i = next) {
        double sum = 0;
        for (next = i; next < n && order(&points[i], &points[next]) == 0; next++)
            sum += points[next].value;
        int32_t cell =
            index_of(g->x, g->n_x, points[i].x) * g->n_y + index_of(g->y, g->n_y, points[i].y);
        g->at[cell] = sum / (double)(next - i);
        is_known[cell] = true;
    }
    for (int32_t i = 0; i < g->n_x; i++)
        (void)fill_line(g->at + i * g->n_y, is_known + i * g->n_y, g->y, g->n_y, 1);
    for (int32_t j = 0; j < g->n_y; j++)
        (void)fill_line(g->at + j, is_known + j, g->x, g->n_x, g->n_y);
    mem_give(is_known);
}

enum status grid_open(struct grid *g, struct grid_point *points, int64_t n, struct fault *fault)
{
    *g = (struct grid){ 0 };
    if (n <= 0)
        return fault_set(fault, STATUS_BAD_INPUT, "the table has no points");
    g->x = mem_take((size_t)n * sizeof(*g->x));
    g->y = mem_take((size_t)n * sizeof(*g->y));
    qsort(points, (size_t)n, sizeof(*points), order);
    for (int64_t i = 0; i < n; i++) {
        g->x[i] = points[i].x;
        g->y[i] = points[i].y;
    }
    g->n_x = without_repeats(g->x, n);
    g->n_y = without_repeats(g->y, n);
    if ((int64_t)g->n_x * g->n_y > GRID_CELLS_MAX) {
        enum status status =
            fault_set(fault, STATUS_TOO_LARGE, "the table has %d x %d places", g->n_x, g->n_y);
        grid_free(g);
        return status;
    }
    g->at = mem_take((size_t)g->n_x * (size_t)g->n_y * sizeof(*g->at));
    fill(g, points, n);
    return STATUS_OK;
}

void grid_free(struct grid *g)
{
    mem_give(g->x);
    mem_give(g->y);
    mem_give(g->at);
    *g = (struct grid){ 0 };
}

/* Finds the two points around x, and its relative distance from the first to the second: more than
 * 1 beyond the last point. */
struct place {
    int32_t low, high;
    double part;
};

static struct place place_of(const double *axis, int32_t n, double value)
{
    if (n == 1 || value <= axis[0])
        return (struct place){ 0, 0, 0 };
    int32_t low = 0, high = n - 1;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (axis[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return (struct place){ low, high, (value - axis[low]) / (axis[high] - axis[low]) };
}

double grid_at(const struct grid *g, double x, double y)
{
    if (grid_is_empty(g))
        return 0;
    struct place i = place_of(g->x, g->n_x, x), j = place_of(g->y, g->n_y, y);
    const double *low = g->at + i.low * g->n_y, *high = g->at + i.high * g->n_y;
    double a = low[j.low] + (low[j.high] - low[j.low]) * j.part;
    double b = high[j.low] + (high[j.high] - high[j.low]) * j.part;
    double value = a + (b - a) * i.part;
    return value > 0 ? value : 0;
}

/* ---- Four axes. ---- */

static int64_t stride_of(const struct grid4 *g, int axis)
{
    int64_t stride = 1;
    for (int k = axis + 1; k < GRID4_AXES; k++)
        stride *= g->n[k];
    return stride;
}

static void fill4(struct grid4 *g, const struct grid4_point *points, int64_t n, int64_t n_cells)
{
    bool *is_known = mem_take((size_t)n_cells * sizeof(*is_known));
    for (int64_t i = 0; i < n; i++) {
        int64_t cell = 0;
        for (int k = 0; k < GRID4_AXES; k++)
            cell += stride_of(g, k) * index_of(g->axes[k], g->n[k], points[i].x[k]);
        g->at[cell] = points[i].value;
        is_known[cell] = true;
    }
    for (int k = GRID4_AXES - 1; k >= 0; k--) {
        int64_t stride = stride_of(g, k);
        for (int64_t cell = 0; cell < n_cells; cell++)
            if (cell / stride % g->n[k] == 0)
                (void)fill_line(g->at + cell, is_known + cell, g->axes[k], g->n[k],
                                (int32_t)stride);
    }
    mem_give(is_known);
}

enum status grid_four_open(struct grid4 *g, const struct grid4_point *points, int64_t n,
                           struct fault *fault)
{
    int64_t n_cells = 1;
    *g = (struct grid4){ 0 };
    if (n <= 0)
        return fault_set(fault, STATUS_BAD_INPUT, "the table has no points");
    for (int k = 0; k < GRID4_AXES; k++) {
        g->axes[k] = mem_take((size_t)n * sizeof(*g->axes[k]));
        for (int64_t i = 0; i < n; i++)
            g->axes[k][i] = points[i].x[k];
        g->n[k] = without_repeats(g->axes[k], n);
        n_cells = min_i64(n_cells * g->n[k], INT64_C(1) << 32);
    }
    if (n_cells > GRID_CELLS_MAX) {
        grid_four_free(g);
        return fault_set(fault, STATUS_TOO_LARGE, "the table has over %d places", GRID_CELLS_MAX);
    }
    g->at = mem_take((size_t)n_cells * sizeof(*g->at));
    fill4(g, points, n, n_cells);
    return STATUS_OK;
}

void grid_four_free(struct grid4 *g)
{
    for (int k = 0; k < GRID4_AXES; k++)
        mem_give(g->axes[k]);
    mem_give(g->at);
    *g = (struct grid4){ 0 };
}

double grid_four_at(const struct grid4 *g, const double x[GRID4_AXES])
{
    double corners[1 << GRID4_AXES];
    struct place places[GRID4_AXES];
    if (g->at == NULL)
        return 0;
    for (int k = 0; k < GRID4_AXES; k++)
        places[k] = place_of(g->axes[k], g->n[k], x[k]);
    for (int corner = 0; corner < 1 << GRID4_AXES; corner++) {
        int64_t cell = 0;
        for (int k = 0; k < GRID4_AXES; k++) {
            bool is_high = corner >> (GRID4_AXES - 1 - k) & 1;
            cell += stride_of(g, k) * (is_high ? places[k].high : places[k].low);
        }
        corners[corner] = g->at[cell];
    }
    for (int k = GRID4_AXES - 1, n = 1 << k; k >= 0; k--, n /= 2)
        for (int i = 0; i < n; i++)
            corners[i] = corners[2 * i] + (corners[2 * i + 1] - corners[2 * i]) * places[k].part;
    return corners[0] > 0 ? corners[0] : 0;
}
