/* Predicts the time of a model on a group of ranks (tensor parallelism) from two measurements: the
 * model on one rank's cores, and sums over the ranks by size.
 *
 * Each rank has an equal part of all matrices, heads and keys, so it needs that part of one rank's
 * time, slowed by the ranks beside it. Each layer adds two sums over its rows. */
#pragma once
#include "base/status.h"
#include "core/coefficients.h"

enum { PREDICT_GROUP_POINTS = 16, PREDICT_GROUP_DEGREES = 3 };
struct predict_group_sums { /* of n_ranks: the median time of a sum, by its size */
    int32_t n_ranks, n_points;
    int64_t bytes[PREDICT_GROUP_POINTS]; /* ascending */
    int64_t ps[PREDICT_GROUP_POINTS];
};
struct predict_group {
    int32_t n_layers, width; /* of the model, whose sums have `width` floats for each row */
    int32_t n_sums;          /* degrees that were measured; 0: none */
    struct predict_group_sums sums[PREDICT_GROUP_DEGREES];
};
/* Returns the sums of a group of n_ranks; NULL: they were not measured. */
const struct predict_group_sums *predict_group_find(const struct predict_group *group,
                                                    int32_t n_ranks);
/* Returns the time of a sum of n_bytes: on the line between two points, or through the nearest two.
 */
int64_t predict_group_sum_ps(const struct predict_group_sums *sums, int64_t n_bytes);
/* Sets the model on a group of n_ranks. rank: the model on one rank's cores. beside: the slowdown
 * of a prompt and of a decode while other ranks compute the same. Returns false when sums of
 * n_ranks were not measured. */
bool predict_group_perf(const struct predict_group *group, const struct perf *rank,
                        const double beside[2], int32_t n_ranks, struct perf *out) MUST_USE;
