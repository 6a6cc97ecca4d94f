/* Takes the group with the least load first, and the neediest service first. */
#include "place/spread.h"

#include "place/estimate.h"
#include "place/ground.h"

/* Above every rate: among services without a group, the one that needs the most devices comes
 * first, then the one with the highest rate. */
static const double nowhere = 1e15, per_device = 1e12;

struct spread {
    struct place_board *board;
    double *needs, *loads; /* (n_services), (n_devices) of groups */
    bool *is_closed;       /* (n_devices) the group takes no other service */
};

/* Returns requests per second and device; among equals, a group with more free memory has less. */
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

/* Returns the neediest service that the group takes; -1 if none. With is_first, only services
 * without a group count. */
static int32_t neediest(const struct spread *spread, int32_t group, bool is_first)
{
    const struct place_board *board = spread->board;
    int32_t best = -1;
    for (int32_t s = 0; s < board->problem->n_services; s++)
        if ((!is_first || spread->needs[s] >= nowhere) &&
            (best < 0 || spread->needs[s] > spread->needs[best]) &&
            place_group_takes(board->problem, &board->plan->groups[group], s, board->n_members_max))
            best = s;
    return best;
}

/* Returns how much a service that has a copy needs another. If groups are shared, all services get
 * copies in the end, so the one with the highest rate goes first. If none are shared, devices are
 * distributed by work. */
static double need_of(const struct place_board *board, int32_t group, int32_t service)
{
    double rate = board->problem->services[service].rate_per_s;
    if (board->n_members_max > 1)
        return rate;
    return rate * place_estimate_work(board->problem, &board->plan->groups[group], service) /
           place_plan_copies(board->plan, service);
}

static void add(struct spread *spread, int32_t group, int32_t service)
{
    struct place_board *board = spread->board;
    place_board_add(board, group, service);
    spread->needs[service] = need_of(board, group, service);
    for (int32_t g = 0; g < board->plan->n_groups; g++)
        if (place_group_has(&board->plan->groups[g], service))
            spread->loads[g] = load_of(board, &board->plan->groups[g]);
}

/* Adds one copy. Returns false when no group takes any service. */
static bool add_one(struct spread *spread, bool is_first)
{
    const struct place_plan *plan = spread->board->plan;
    for (;;) {
        int32_t least = -1;
        for (int32_t g = 0; g < plan->n_groups; g++)
            if (!spread->is_closed[g] && (least < 0 || spread->loads[g] < spread->loads[least]))
                least = g;
        if (least < 0)
            return false;
        int32_t service = neediest(spread, least, is_first);
        spread->is_closed[least] = service < 0;
        if (service < 0)
            continue;
        add(spread, least, service);
        return true;
    }
}

static void open_all(struct spread *spread)
{
    const struct place_board *board = spread->board;
    for (int32_t g = 0; g < board->plan->n_groups; g++) {
        spread->is_closed[g] = false;
        spread->loads[g] = load_of(board, &board->plan->groups[g]);
    }
}

void place_spread(struct place_board *board, struct place_plan *plan, struct place_plan *cheapest,
                  double *cost, int32_t n_devices, struct pile *pile)
{
    const struct place_problem *problem = board->problem;
    size_t n_services = (size_t)problem->n_services, n = (size_t)problem->n_devices;
    struct spread spread = { .board = board,
                             .needs = pile_take(pile, n_services * sizeof(double)),
                             .loads = pile_take(pile, n * sizeof(double)),
                             .is_closed = pile_take(pile, n * sizeof(bool)) };
    (void)place_ground_cut(plan, problem, n_devices, board->n_members_max, pile);
    place_board_show(board, plan);
    for (int32_t s = 0; s < problem->n_services; s++)
        spread.needs[s] = problem->services[s].base_degree > 0
                              ? nowhere + per_device * problem->services[s].base_degree +
                                    problem->services[s].rate_per_s
                              : 0;
    open_all(&spread);
    while (add_one(&spread, true)) {}
    open_all(&spread);
    place_plan_copy(cheapest, plan);
    *cost = board->cost;
    while (add_one(&spread, false)) {
        if (board->cost >= *cost)
            continue;
        place_plan_copy(cheapest, plan);
        *cost = board->cost;
    }
}
