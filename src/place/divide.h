/* Improves a plan by how its groups are divided into lanes (division.h), judged by simulation. */
#pragma once
#include "place/improve.h"

/* Tries one group after the other, first those whose services take longest. The score, with
 * services, and the cost are the plan's in the samples. All three are changed. Does nothing if
 * plans choose no division. */
void place_divide(const struct place_improve *how, struct place_plan *plan,
                  struct place_score *score, double *cost);
