/* A truth from the points that a profile measured: the fitted line, corrected by how far it was off
 * at the points around, so that steps in the cost of a batch's size are there as they were
 * measured.
 *
 * Prompts are corrected by their tokens, decodes by how many they are and their mean context; a
 * mixed batch is the sum of both less the smaller constant, as in struct perf. */
#pragma once
#include "predict/grid.h"
#include "predict/profile.h"
#include "predict/truth.h"

struct perf_points {
    struct perf perf;
    struct grid prefill, decode; /* measured / fitted: x = new tokens; x = decodes, y = context */
    /* what the host adds to a step, to one with prompts, for each decode and each token */
    int64_t step_ps, prompt_ps, request_ps, token_ps;
};
/* Of the group with so many cores, the largest that has no more. Free with points_free. */
enum status points_open(struct perf_points *points, const struct predict_profile *profile,
                        int32_t n_cores, struct fault *fault) MUST_USE;
void points_free(struct perf_points *points);
int64_t points_step_ps(const struct perf_points *points, const struct perf_load *load);
struct perf_truth points_truth(const struct perf_points *points); /* borrows it */
