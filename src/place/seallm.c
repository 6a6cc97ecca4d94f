/* SeaLLM's placement search (Algorithm 1, corrected: docs/ALGORITHMS.md 1.2).
 *
 * For every degree the nodes are cut into groups of it, and adjacent groups are merged for models
 * that need more. Then it adds one copy at a time, after a simulation. A service's need is its late
 * requests, plus alpha times the normalized latency of those that were answered. The group with the
 * least load per device takes the neediest service that fits it. It keeps the best plan on the way,
 * not the full one (D-2), by D-3: services placed, services that reach the attainment, and then as
 * in judge.h. A group has at most two services. */
#include "place/planners.h"
#include "place/walk.h"

enum { MEMBERS_MAX = 2 };
static const double alpha = 1e-4, slow_max = 0.99;

static double need(const struct place_walk *walk, int32_t service)
{
    const struct place_service_score *score = &walk->score.services[service];
    double solo_s = walk->problem->services[service].solo_s;
    double slow = solo_s > 0 ? alpha * score->latency_s / solo_s : 0; /* of answered requests */
    return (double)(score->n - score->n_met) + (slow < slow_max ? slow : slow_max);
}

/* Returns a group's load; among equals, a group with more free memory is less loaded. */
static double load(const struct place_walk *walk, const struct place_group *group)
{
    const struct place_problem *problem = walk->problem;
    double rate = 0, free = (double)place_group_kv_bytes(problem, group);
    for (int32_t m = 0; m < group->n_members; m++)
        rate += problem->services[group->members[m].service].rate_per_s /
                place_plan_copies(&walk->plan, group->members[m].service);
    return rate / group->n_devices - 1e-9 * free / (double)place_group_memory(problem, group);
}

static int compare(const struct place_score *a, int32_t n_a, const struct place_score *b,
                   int32_t n_b)
{
    (void)n_a;
    (void)n_b;
    if (a->n_placed != b->n_placed)
        return a->n_placed > b->n_placed ? 1 : -1;
    if (a->n_met != b->n_met)
        return a->n_met > b->n_met ? 1 : -1;
    struct place_score x = *a, y = *b;
    x.reached = y.reached;
    return place_judge_compare(&x, &y);
}

static void plan(const struct place_desk *desk, struct place_plan *plan)
{
    static const struct place_walk_rule rule = { "seallm", MEMBERS_MAX, true, true,
                                                 true,     need,        load, compare };
    place_walk(desk, &desk->problem->window, &rule, plan);
}

const struct place_planner place_seallm = {
    .name = "seallm",
    .source = "SeaLLM, Algorithm 1 with D-1 to D-3",
    .summary = "equal degrees, a copy at a time to the service that needs it most, by simulation",
    .optimises =
        "the same order, by simulation alone. For every degree, with groups merged for large "
        "models, the group with the least demand takes the service with the greatest need, one "
        "copy at a time; the best plan on the way wins. A group has at most two services. "
        "Merged groups are kept for the services that need them until these are placed (the "
        "paper leaves this open, and first fit would fill them with small models)",
    .cost = "one simulation for each copy and degree",
    .fails = "all groups have one degree; a service that needs another degree needs a merged group",
    .is_judging = true,
    .n_members_max = MEMBERS_MAX,
    .plan = plan,
};
