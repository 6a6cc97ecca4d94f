/* The planners by name. */
#include "place/planners.h"

#include "base/log.h"
#include "place/check.h"
#include <string.h>

static const struct place_planner *const planners[] = {
    &place_default,   &place_seallm, &place_muxserve, &place_alpaserve,
    &place_morphling, &place_even,   &place_machine,  &place_greedy,
};

const struct place_planner *place_planner_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(planners); i++)
        if (strcmp(planners[i]->name, name) == 0)
            return planners[i];
    return NULL;
}

const struct place_planner *const *place_planner_all(int *n)
{
    *n = (int)COUNT_OF(planners);
    return planners;
}

const char *place_planner_names(void)
{
    return "default, seallm, muxserve, alpaserve, morphling, even, machine, greedy";
}

/* Returns the services that a group may have under this planner. */
static int32_t members_max(const struct place_planner *planner, const struct place_problem *problem)
{
    int32_t n = planner->n_members_max > 0 ? planner->n_members_max : problem->limits.n_members_max;
    return min_i32(n, PLACE_MEMBERS_MAX);
}

void place_planner_plan(const struct place_planner *planner, const struct place_desk *desk,
                        struct place_plan *plan)
{
    const struct place_problem *problem = desk->problem;
    int32_t n_members_max = members_max(planner, problem);
    struct fault fault;
    place_plan_init(plan, problem, desk->pile);
    planner->plan(desk, plan);
    if (place_check(problem, plan, n_members_max, &fault) == STATUS_OK)
        return;
    log_line(LOG_ERROR, "place", "the plan of %s is wrong: %s", planner->name, fault.text);
    CHECK(false);
}

void place_planners_sort(const double *keys, int32_t n, int32_t *order)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t at = i;
        for (; at > 0 && keys[order[at - 1]] < keys[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}
