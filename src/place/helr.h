/* Chooses a plan of the front: the fewest devices (he), the least step (lr), or both weighed
 * (helr). Only the planners of place/layers.h use it. */
#pragma once
#include "place/layers.h"

enum status helr_solve(const struct layers_problem *problem, enum layers_aim aim,
                       const struct layers_weights *weights, struct layers_plan *plan,
                       struct fault *fault) MUST_USE;
