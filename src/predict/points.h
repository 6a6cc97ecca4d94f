/* A truth from the points that a profile measured.
 *
 * It is the fitted line, corrected by its relative error at the points around, so that it keeps the
 * measured steps in the cost by batch size. Prompts are corrected by their tokens, decodes by their
 * number and their mean context. A mixed batch is the sum of both less the smaller constant, as in
 * struct perf. */
#pragma once
#include "predict/grid.h"
#include "predict/profile.h"
#include "predict/truth.h"

struct perf_points {
    struct perf perf;
    struct grid prefill, decode; /* measured / fitted: x = new tokens; x = decodes, y = context */
    /* the host's overhead of a step, of one with prompts, of each decode and of each token */
    int64_t step_ps, prompt_ps, request_ps, token_ps;
};
/* Opens the truth of the group with n_cores cores, or else of the largest smaller group. Free it by
 * points_free. */
enum status points_open(struct perf_points *points, const struct predict_profile *profile,
                        int32_t n_cores, struct fault *fault) MUST_USE;
void points_free(struct perf_points *points);
int64_t points_step_ps(const struct perf_points *points, const struct perf_load *load);
struct perf_truth points_truth(const struct perf_points *points); /* borrows points */
