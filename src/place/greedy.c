/* The greedy baseline of MuxServe's Figure 8 (docs/ALGORITHMS.md 2.4). All groups have the fewest
 * devices that hold every service. Services go in order of their rate, each to the group with the
 * most free memory. */
#include "place/planners.h"

static void plan(const struct place_desk *desk, struct place_plan *plan)
{
    const struct place_problem *problem = desk->problem;
    int32_t *order = pile_take(desk->pile, (size_t)problem->n_services * sizeof(*order));
    int32_t degree = 1;
    double *rates = pile_take(desk->pile, (size_t)problem->n_services * sizeof(*rates));
    for (int32_t i = 0; i < problem->n_services; i++)
        rates[i] = problem->services[i].rate_per_s;
    place_planners_sort(rates, problem->n_services, order);
    for (int32_t i = 0; i < problem->n_services; i++)
        degree = max_i32(degree, problem->services[i].base_degree);
    place_plan_cut(plan, problem, degree);
    for (int32_t k = 0; k < problem->n_services; k++) {
        struct place_group *best = NULL;
        for (int32_t g = 0; g < plan->n_groups; g++) {
            struct place_group *group = &plan->groups[g];
            if (place_group_takes(problem, group, order[k], PLACE_MEMBERS_MAX) &&
                (best == NULL ||
                 place_group_kv_bytes(problem, group) > place_group_kv_bytes(problem, best)))
                best = group;
        }
        if (best != NULL)
            place_group_add(best, order[k]);
    }
    place_plan_finish(plan, problem);
}

const struct place_planner place_greedy = {
    .name = "greedy",
    .source = "MuxServe, Figure 8",
    .summary = "by rate, to where most memory is free",
    .optimises =
        "free memory. Groups are equal, of the fewest devices that hold the largest model. "
        "Services are placed by rate, each where most memory is free, with one copy each",
    .cost = "none",
    .fails = "it looks at memory and not at time; one large model makes all groups large",
    .n_members_max = PLACE_MEMBERS_MAX,
    .plan = plan,
};
