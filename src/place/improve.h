/* Improves a plan step by step, and judges each step by simulation. The service that is late most
 * gets another copy, quieter neighbours, or larger or smaller groups, whichever helps most. */
#pragma once
#include "place/samples.h"

struct place_improve {
    const struct place_desk *desk;
    const char *planner;           /* the caller's name, for its progress */
    int32_t n_members_max;         /* of a group */
    int64_t work_max;              /* of the judge, that is spent here */
    struct place_samples *samples; /* what moves are judged on */
};
/* The plan may hold empty groups. The score, with services, and the cost are the plan's in the
 * samples. All three are changed. */
void place_improve(const struct place_improve *improve, struct place_plan *plan,
                   struct place_score *score, double *cost);
