/* Betters a plan step by step, each step judged by simulation: the service that is late most gets
 * another copy, quieter neighbours, or larger or smaller groups, whatever helps most. */
#pragma once
#include "place/samples.h"

struct place_improve {
    const struct place_desk *desk;
    const char *planner;           /* that asks, for its progress */
    int32_t n_members_max;         /* of a group */
    int64_t work_max;              /* of the judge, that is spent here */
    struct place_samples *samples; /* what moves are judged on */
};
/* plan may hold empty groups; score, with services, and cost are its in the samples. All are
 * changed. */
void place_improve(const struct place_improve *improve, struct place_plan *plan,
                   struct place_score *score, double *cost);
