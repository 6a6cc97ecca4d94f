/* Checks whether a plan is legal, and whether its score describes it. Groups, memory, members and
 * refusals must be as plan.h promises. The required attainment is verified by an independent
 * count. */
#pragma once
#include "base/status.h"
#include "place/judge.h"

/* Returns STATUS_OK, or a fault with the sentence of what is wrong. n_members_max: of a group; 0 =
 * PLACE_MEMBERS_MAX. */
enum status place_check(const struct place_problem *problem, const struct place_plan *plan,
                        int32_t n_members_max, struct fault *fault) MUST_USE;
/* Checks a score with services, for a window of n_requests. Requests in time must be no more than
 * there are, and zero for a service without a group. The services counted as reaching the
 * attainment must be those that do. If all of them do, Equation 5 of SeaLLM must hold. */
enum status place_check_score(const struct place_problem *problem, const struct place_plan *plan,
                              int32_t n_requests, const struct place_score *score,
                              struct fault *fault) MUST_USE;
