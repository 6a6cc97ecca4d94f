/* The judge of plans (place/judge.h): simulates the window on the engines that a plan makes.
 *
 * Groups that share no service never interact, so a plan falls into parts. These are simulated
 * apart, on every core, and the results are remembered. A plan that differs from an earlier one in
 * two groups costs the simulation of those two. If services link more than JUDGE_SERVICES_MAX of
 * them together, the part is cut. The requests of a service on both sides are then dealt to its
 * copies in turn, so that a router would balance better than the judge assumes. Shares of a plan's
 * members make lanes for a policy that uses them, else a group's division does. A policy with
 * quotas starts from the plan's quotas. */
#pragma once
#include "metrics/score.h"
#include "place/judge.h"
#include "sim/sim.h"

struct sim_judge;
struct sim_judge_options {
    const struct place_problem *problem; /* measured */
    const struct sim_options *sim; /* policies and limits; its engines, services and workload come
                                      from the plan and the window */
    struct score_rule rule;        /* when a request is in time; X is the problem's solo time */
    const struct score_service *services; /* (n_services) for the rule; solo_s is not read */
    int n_threads;                        /* 0: one per core */
};
/* The options' pointers are lent until it is closed. Only one caller may use it at a time. */
struct sim_judge *sim_judge_open(const struct sim_judge_options *options);
void sim_judge_close(struct sim_judge *judge);
struct place_judge sim_judge_face(struct sim_judge *judge);
struct sim_judge_work { /* so far */
    int64_t n_plans, n_parts, n_known, n_requests,
        n_steps; /* known: parts remembered, not simulated */
};
struct sim_judge_work sim_judge_work_of(const struct sim_judge *judge);
