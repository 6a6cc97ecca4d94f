/* Tries every other way to divide a group, in a race against the plan as it is. */
#include "place/divide.h"

#include <string.h>

enum { WAYS = PLACE_DIVISIONS - 1 };
static const double cost_least = 1e-4; /* that another way must gain */
struct dividing {
    const struct place_improve *how;
    struct place_plan *plan, ways[WAYS];
    struct place_score *score, scores[WAYS];
    double *cost;
    int64_t begun;  /* the judge's work before */
    int32_t n_ways; /* there now */
};

/* Makes the plan with this group divided in every other way. A group with one service has one
 * lane. */
static void make_ways(struct dividing *dividing, int32_t group)
{
    const struct place_group *own = &dividing->plan->groups[group];
    dividing->n_ways = 0;
    for (int32_t division = 0; division < PLACE_DIVISIONS; division++) {
        if (division == own->division || (division == PLACE_DIVISION_NONE && own->n_members > 1))
            continue;
        struct place_plan *way = &dividing->ways[dividing->n_ways++];
        place_plan_copy(way, dividing->plan);
        way->groups[group].division = division;
    }
}

/* Takes the best way when it is better than the plan. */
static bool take_best(struct dividing *dividing)
{
    const struct place_plan *plans[WAYS];
    double costs[WAYS];
    int32_t best = -1;
    for (int32_t i = 0; i < dividing->n_ways; i++)
        plans[i] = &dividing->ways[i];
    place_samples_challenge(dividing->how->samples, plans, dividing->n_ways, 1, dividing->scores,
                            costs);
    for (int32_t i = 0; i < dividing->n_ways; i++)
        if (costs[i] < (best < 0 ? *dividing->cost : costs[best]) - cost_least)
            best = i;
    if (best < 0)
        return false;
    const struct place_problem *problem = dividing->how->desk->problem;
    struct place_service_score *services = dividing->score->services;
    place_plan_copy(dividing->plan, &dividing->ways[best]);
    memcpy(services, dividing->scores[best].services,
           (size_t)problem->n_services * sizeof(*services));
    *dividing->score = dividing->scores[best];
    dividing->score->services = services;
    *dividing->cost = costs[best];
    place_samples_aim(dividing->how->samples, dividing->plan);
    return true;
}

/* Returns how much a group can gain: how much longer its services' requests take than alone. */
static double lateness_of(const struct dividing *dividing, int32_t group)
{
    double sum = 0;
    const struct place_group *own = &dividing->plan->groups[group];
    for (int32_t m = 0; m < own->n_members; m++) {
        int32_t s = own->members[m].service;
        sum += dividing->score->services[s].normalized / place_plan_copies(dividing->plan, s);
    }
    return sum;
}

static bool is_over(const struct dividing *dividing)
{
    const struct place_judge *judge = dividing->how->desk->judge;
    return judge->work(judge->self) - dividing->begun >= dividing->how->work_max;
}

/* Tries one group after the other, until every group was tried since the plan's last change. */
static void divide_groups(struct dividing *dividing)
{
    struct pile *pile = dividing->how->desk->pile;
    size_t n = (size_t)dividing->plan->n_groups;
    bool *is_tried = pile_take(pile, n * sizeof(*is_tried));
    memset(is_tried, 0, n * sizeof(*is_tried));
    while (!is_over(dividing)) {
        int32_t next = -1;
        double most = 0;
        for (int32_t g = 0; g < dividing->plan->n_groups; g++) {
            double late = is_tried[g] ? 0 : lateness_of(dividing, g);
            if (late > most) {
                next = g;
                most = late;
            }
        }
        if (next < 0)
            return;
        is_tried[next] = true;
        make_ways(dividing, next);
        if (take_best(dividing)) {
            memset(is_tried, 0, n * sizeof(*is_tried));
            is_tried[next] = true;
        }
    }
}

void place_divide(const struct place_improve *how, struct place_plan *plan,
                  struct place_score *score, double *cost)
{
    const struct place_desk *desk = how->desk;
    const struct place_problem *problem = desk->problem;
    struct dividing dividing = { .how = how, .plan = plan, .score = score, .cost = cost };
    if (!problem->limits.may_divide || how->work_max <= 0)
        return;
    dividing.begun = desk->judge->work(desk->judge->self);
    for (int i = 0; i < WAYS; i++) {
        place_plan_init(&dividing.ways[i], problem, desk->pile);
        dividing.scores[i].services =
            pile_take(desk->pile, (size_t)problem->n_services * sizeof(struct place_service_score));
    }
    place_samples_aim(how->samples, plan);
    divide_groups(&dividing);
}
