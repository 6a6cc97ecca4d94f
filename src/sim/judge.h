/* The judge of plans (place/judge.h): simulates the window on the engines that a plan makes.
 *
 * Groups that share no service never meet, so a plan falls into parts that are simulated apart, on
 * every core, and remembered: a plan that differs from an earlier one in two groups costs the
 * simulation of those. Where services link more than JUDGE_SERVICES_MAX of them together, the part
 * is cut, and the requests of a service that lies on both sides are dealt out in turn by its
 * copies: there a router would balance better than it is judged. Shares of a plan's members make
 * lanes for a policy that uses them, else a group's division does; quotas are where a policy that
 * has them begins. */
#pragma once
#include "metrics/score.h"
#include "place/judge.h"
#include "sim/sim.h"

struct sim_judge;
struct sim_judge_options {
    const struct place_problem *problem;  /* measured */
    const struct sim_options *sim;        /* policies and limits; its engines, services and workload
                                             are the plan's */
    struct score_rule rule;               /* what is in time; X is the problem's solo time */
    const struct score_service *services; /* (n_services) for the rule; solo_s is not read */
    int n_threads;                        /* 0: one per core */
};
/* The options' pointers are lent until it is closed. One caller at a time. */
struct sim_judge *sim_judge_open(const struct sim_judge_options *options);
void sim_judge_close(struct sim_judge *judge);
struct place_judge sim_judge_face(struct sim_judge *judge);
struct sim_judge_work { /* so far */
    int64_t n_plans, n_parts, n_known, n_requests,
        n_steps; /* known: parts remembered, not simulated */
};
struct sim_judge_work sim_judge_work_of(const struct sim_judge *judge);
