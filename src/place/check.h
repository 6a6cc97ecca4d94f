/* Is a plan legal, and is it what its score says? Groups, memory, members and refusals, by what
 * plan.h promises; the attainment asked for, by a count of its own. */
#pragma once
#include "base/status.h"
#include "place/judge.h"

/* STATUS_OK, or what is wrong in a sentence. n_members_max: of a group; 0 = PLACE_MEMBERS_MAX. */
enum status place_check(const struct place_problem *problem, const struct place_plan *plan,
                        int32_t n_members_max, struct fault *fault) MUST_USE;
/* The same for a score with services, of a window of n_requests: requests in time are no more than
 * there are, none of a service that is nowhere; the services said to reach the attainment are
 * those that do; all of them is the same as Equation 5 of SeaLLM. */
enum status place_check_score(const struct place_problem *problem, const struct place_plan *plan,
                              int32_t n_requests, const struct place_score *score,
                              struct fault *fault) MUST_USE;
