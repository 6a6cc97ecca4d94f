/* A table of measured values over two axes, with bilinear interpolation between its points.
 *
 * Above an axis' last point the last slope continues. Below its first point the first value holds,
 * since below some size a step costs the same whatever its content. One axis is the case n_y =
 * 1. */
#pragma once
#include "base/status.h"

enum { GRID_CELLS_MAX = 1 << 20 };

struct grid_point {
    double x, y, value;
};
struct grid {
    int32_t n_x, n_y;
    double *x, *y; /* ascending */
    double *at;    /* (n_x, n_y) */
};
/* Makes a table of points in any order (they are sorted in place). Points at one place are
 * averaged. Places without a measurement are filled from their neighbours along y, then x. Free it
 * by grid_free. */
enum status grid_open(struct grid *grid, struct grid_point *points, int64_t n,
                      struct fault *fault) MUST_USE;
void grid_free(struct grid *grid); /* a zeroed one is fine */
static inline bool grid_is_empty(const struct grid *grid)
{
    return grid->n_x == 0;
}
double grid_at(const struct grid *grid, double x,
               double y); /* 0 when it is empty; never negative */

/* The same over four axes: the cost of a mixed batch's attention by its prompt's part and its
 * decodes' part. */
enum { GRID4_AXES = 4 };
struct grid4_point {
    double x[GRID4_AXES], value;
};
struct grid4 {
    int32_t n[GRID4_AXES];
    double *axes[GRID4_AXES]; /* ascending */
    double *at;               /* (n[0], n[1], n[2], n[3]) */
};
/* Holes are filled along the last axis first, then along the axes before it. */
enum status grid_four_open(struct grid4 *grid, const struct grid4_point *points, int64_t n,
                           struct fault *fault) MUST_USE;
void grid_four_free(struct grid4 *grid);
double grid_four_at(const struct grid4 *grid, const double x[GRID4_AXES]); /* 0 when it is empty */
