/* Least asked group first, neediest service first. */
#include "place/spread.h"

#include "place/ground.h"
#include "place/planners.h"

struct spread {
    struct place_board *board;
    double *needs, *loads; /* (n_services), (groups) */
    int32_t *services, *groups;
};

/* Requests per second and device; of equals, more free memory is less. */
static double load_of(const struct place_board *board, const struct place_group *group)
{
    const struct place_problem *problem = board->problem;
    double rate = 0, free = (double)place_group_kv_bytes(problem, group);
    for (int32_t m = 0; m < group->n_members; m++) {
        int32_t s = group->members[m].service;
        rate += problem->services[s].rate_per_s * place_estimate_weight(problem, group, s) /
                board->weights[s];
    }
    return rate / group->n_devices - 1e-9 * free / (double)place_group_memory(problem, group);
}

/* Those without a copy first, of them whoever needs the most devices, then by their rate. */
static double need_of(const struct place_board *board, int32_t service)
{
    const struct place_service *s = &board->problem->services[service];
    if (board->weights[service] > 0)
        return place_board_service(board, service);
    return s->base_degree > 0 ? 1e12 * s->base_degree + s->rate_per_s : -1;
}

static bool add_one(struct spread *spread)
{
    struct place_board *board = spread->board;
    int32_t n_services = board->problem->n_services, n_groups = board->plan->n_groups;
    for (int32_t s = 0; s < n_services; s++)
        spread->needs[s] = need_of(board, s);
    for (int32_t g = 0; g < n_groups; g++)
        spread->loads[g] = -load_of(board, &board->plan->groups[g]);
    place_planners_sort(spread->needs, n_services, spread->services);
    place_planners_sort(spread->loads, n_groups, spread->groups);
    bool is_first = spread->needs[spread->services[0]] >= 1e12; /* somebody lies nowhere */
    for (int32_t i = 0; i < n_groups; i++) {
        int32_t g = spread->groups[i];
        for (int32_t k = 0; k < n_services; k++) {
            int32_t s = spread->services[k];
            if ((is_first && spread->needs[s] < 1e12) ||
                !place_group_takes(board->problem, &board->plan->groups[g], s,
                                   board->n_members_max))
                continue;
            place_board_add(board, g, s);
            return true;
        }
    }
    return false;
}

void place_spread(struct place_board *board, struct place_plan *plan, int32_t n_devices,
                  struct pile *pile)
{
    size_t n_services = (size_t)board->problem->n_services;
    size_t n_all = (size_t)board->problem->n_devices;
    struct spread spread = { .board = board,
                             .needs = pile_take(pile, n_services * sizeof(double)),
                             .loads = pile_take(pile, n_all * sizeof(double)),
                             .services = pile_take(pile, n_services * sizeof(int32_t)),
                             .groups = pile_take(pile, n_all * sizeof(int32_t)) };
    struct place_plan best;
    place_plan_init(&best, board->problem, pile);
    (void)place_ground_cut(plan, board->problem, n_devices, board->n_members_max, pile);
    place_board_show(board, plan);
    place_plan_copy(&best, plan);
    double cost = board->cost;
    while (add_one(&spread)) {
        if (board->cost >= cost)
            continue;
        place_plan_copy(&best, plan);
        cost = board->cost;
    }
    place_plan_copy(plan, &best);
    place_board_show(board, plan);
}
