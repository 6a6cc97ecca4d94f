/* Judges what a plan is worth. This is the contract between planners and the simulator
 * (sim/judge.h, which cmd hands in), and the order in which plans are better than one another.
 *
 * Scores are compared in this order (after docs/ALGORITHMS.md 7.2). First, more services placed.
 * Second, how far services come towards the required attainment, in whole hundredths. Third,
 * attainment over all requests, in steps of a thousandth. Fourth, normalized latency, in steps of a
 * hundredth. Last, fewer devices.
 *
 * SeaLLM's constraint, that every service reaches the attainment (Equation 5), decides before
 * anything else as in D-3, because only such a plan comes all of the way. Without such a plan, D-3
 * counts the services that reach it. It would give up all of one service for the last requests of
 * another, so that 36% of the requests in time could beat 88%. Here each service counts for as far
 * as it comes. Half of the weight is by services, so that a small one is not given up for a large
 * one. The other half is by requests, so that a large one is not given up for several small
 * ones. */
#pragma once
#include "place/plan.h"

struct place_service_score {
    int64_t n, n_done, n_met; /* requests: in the window, answered, in time */
    double normalized; /* sum of latency / L over all requests, counted to the run's end if not
                   answered */
    double latency_s;  /* sum over those answered */
};
struct place_score {
    int32_t n_placed, n_met, n_devices; /* services placed, services in time; devices used */
    double reached;                     /* place_judge_reached */
    double attainment;                  /* requests in time over all */
    double normalized;                  /* mean of latency / L: NL */
    double latency_s, p99_s;            /* of all requests */
    double cost_per_hour;
    struct place_service_score *services; /* (n_services) lent by the caller, or NULL */
};
struct place_judge {
    void *self;
    /* Scores n plans for one window, which may differ from the problem's. A request of a service
     * that is not placed is not in time and counts as answered at the window's end. A caller that
     * passes a plan which fails place_check has a bug. The same plans and window have the same
     * scores. */
    void (*score)(void *self, const struct place_plan *const *plans, int n,
                  const struct place_window *window, struct place_score *scores);
    /* Returns how much work was done so far, in its own unit (steps of engines). The same questions
     * cost the same work, so that a search may be bounded by it and still give the same answer
     * twice. */
    int64_t (*work)(const void *self);
    /* Announces that these plans may be scored in each of these windows. It returns nothing, but
     * it does all that they need in this call, on every core. This counts as work only when a score
     * is requested. May be NULL. */
    void (*expect)(void *self, const struct place_plan *const *plans, int n,
                   const struct place_window *const *windows, int n_windows);
    /* Begins a search. Its scores count as work again, even if answers are remembered, so
     * that the bound does not depend on earlier scores. May be NULL. */
    void (*begin)(void *self);
};
/* Returns how far services come towards an attainment, from 0 to 1. Each service counts for its
 * attainment over the required one, at most 1. The result is the mean of two means, over services
 * and over requests. It is 1 only when all services reach the attainment. */
double place_judge_reached(const struct place_service_score *services, int32_t n,
                           double attainment);
/* Returns above 0 when a is better than b; 0 when neither is better. */
int place_judge_compare(const struct place_score *a, const struct place_score *b);
/* Writes which point of the order above decided for the better one: "attainment 93.1% against
 * 90.2%". */
void place_judge_difference(const struct place_score *better, const struct place_score *worse,
                            char *text, size_t n_bytes);
