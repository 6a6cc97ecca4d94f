/* Betters a plan by how its groups are divided into lanes (division.h), judged by simulation. */
#pragma once
#include "place/improve.h"

/* One group after the other, those first whose services take longest. score, with services, and
 * cost are the plan's in the samples. All are changed. Nothing where plans choose no division. */
void place_divide(const struct place_improve *how, struct place_plan *plan,
                  struct place_score *score, double *cost);
