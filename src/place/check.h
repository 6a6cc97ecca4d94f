/* Is a plan legal? Groups, memory, members and refusals, by what plan.h promises. */
#pragma once
#include "base/status.h"
#include "place/plan.h"

/* STATUS_OK, or what is wrong in a sentence. n_members_max: of a group; 0 = PLACE_MEMBERS_MAX. */
enum status place_check(const struct place_problem *problem, const struct place_plan *plan,
                        int32_t n_members_max, struct fault *fault) MUST_USE;
