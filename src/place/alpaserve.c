/* AlpaServe's placement, its fast greedy search (docs/ALGORITHMS.md 6.3).
 *
 * It tries every group size 2^k: equal groups, and the remainder of a node in smaller powers of
 * two. It adds one copy at a time, after a simulation. Models are in the order of their requests
 * that are not in time. Groups are in ascending order of the requests that they serve. The first
 * pair that fits is taken, until nothing fits. The worth is the goodput, less a little of the mean
 * latency, plus a little for copies. The simulation has our engines and policies, whereas AlpaServe
 * has first come, first served on pipelines. Our groups are split by tensors alone. */
#include "place/planners.h"
#include "place/walk.h"

static double need(const struct place_walk *walk, int32_t service)
{
    const struct place_service_score *score = &walk->score.services[service];
    return (double)(score->n - score->n_met);
}

/* Returns the requests in time of the group: for each member, the part of one copy. */
static double load(const struct place_walk *walk, const struct place_group *group)
{
    double n = 0;
    for (int32_t m = 0; m < group->n_members; m++) {
        int32_t s = group->members[m].service;
        n += (double)walk->score.services[s].n_met / place_plan_copies(&walk->plan, s);
    }
    return n;
}

static double worth(const struct place_score *score, int32_t n_copies)
{
    return score->attainment - score->latency_s / 1e4 + n_copies / 1e6;
}

static int compare(const struct place_score *a, int32_t n_a, const struct place_score *b,
                   int32_t n_b)
{
    double x = worth(a, n_a), y = worth(b, n_b);
    return (x > y) - (x < y);
}

static void plan(const struct place_desk *desk, struct place_plan *plan)
{
    static const struct place_walk_rule rule = { "alpaserve", 0,    false, false,
                                                 false,       need, load,  compare };
    place_walk(desk, &desk->problem->window, &rule, plan);
}

const struct place_planner place_alpaserve = {
    .name = "alpaserve",
    .source = "AlpaServe's fast greedy search",
    .summary = "equal groups, a copy at a time to the service that misses most, by goodput",
    .optimises =
        "goodput, less a little latency, by simulation. For every size of equal groups, the "
        "service that misses most goes to the group that serves least",
    .cost = "one simulation for each copy and size",
    .fails = "a service of few requests may stay unplaced while others miss more; all groups have "
             "the same size",
    .is_judging = true,
    .plan = plan,
};
