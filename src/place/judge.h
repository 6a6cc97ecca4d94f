/* What a plan is worth: the contract between planners and who can tell (the simulator, sim/judge.h,
 * handed in by cmd), and the order in which plans are better than one another.
 *
 * Scores are compared one after the other (after docs/ALGORITHMS.md 7.2): more services placed; how
 * far services come towards the attainment asked for, in whole hundredths; attainment over all
 * requests, in steps of a thousandth; normalized latency, in steps of a hundredth; fewer devices.
 *
 * SeaLLM's constraint, that every service reaches the attainment (Equation 5), decides before
 * anything else as in D-3: only such a plan has come all of the way. Where no plan does, D-3 counts
 * the services that do, and so gives up all of a service for the last requests of another: 36% of
 * the requests in time could beat 88%. Here each service counts for as far as it comes, half by
 * services, so that a small one is not given up for a large one, and half by requests, so that a
 * large one is not given up for several small ones. */
#pragma once
#include "place/plan.h"

struct place_service_score {
    int64_t n, n_done, n_met; /* requests: of the window, answered, in time */
    double normalized;        /* sum of latency / L over all of them, to the run's end where not
                                 answered */
    double latency_s;         /* sum over those answered */
};
struct place_score {
    int32_t n_placed, n_met, n_devices; /* services placed, services in time; devices used */
    double reached;                     /* place_judge_reached */
    double attainment;                  /* requests in time over all */
    double normalized;                  /* mean of latency / L: NL */
    double latency_s, p99_s;            /* of all requests */
    double cost_per_hour;
    struct place_service_score *services; /* (n_services) lent by who asks, or NULL */
};
struct place_judge {
    void *self;
    /* Scores n plans for one window, which need not be the problem's. A request of a service that
     * is not placed is not in time and counts as answered at the window's end. Plans that fail
     * place_check are a bug of who asks. The same plans and window have the same scores. */
    void (*score)(void *self, const struct place_plan *const *plans, int n,
                  const struct place_window *window, struct place_score *scores);
    /* How much it has done so far, in a unit of its own (steps of engines): the same for the same
     * questions, so that a search may be bounded by it and still answer the same twice. */
    int64_t (*work)(const void *self);
    /* These plans may be asked for in each of these windows: says nothing, but all that it takes is
     * done at once, on every core. It is work when it is asked for. May be NULL. */
    void (*expect)(void *self, const struct place_plan *const *plans, int n,
                   const struct place_window *const *windows, int n_windows);
    /* A search begins: what it asks counts as work again, though the answer may be remembered, so
     * that it is bounded alike whatever was asked before. May be NULL. */
    void (*begin)(void *self);
};
/* How far services come towards an attainment, from 0 to 1: the part of it that one reaches, at
 * most 1, as the mean of its means over services and over requests; 1 only when all reach it. */
double place_judge_reached(const struct place_service_score *services, int32_t n,
                           double attainment);
/* Above 0: a is better than b; 0: neither is. */
int place_judge_compare(const struct place_score *a, const struct place_score *b);
/* What in the order above made the better one better: "attainment 93.1% against 90.2%". */
void place_judge_difference(const struct place_score *better, const struct place_score *worse,
                            char *text, size_t n_bytes);
