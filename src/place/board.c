/* Sums that follow a plan as it grows. */
#include "place/board.h"

#include "place/planners.h"
#include <string.h>

enum { LOOKED_MAX = 64, CLASSES = PLACE_KINDS_MAX * PLACE_DEGREES };
static const double gain_least = 1e-9;

void place_board_init(struct place_board *board, const struct place_problem *problem,
                      int32_t n_members_max, struct pile *pile)
{
    *board = (struct place_board){
        .problem = problem,
        .weights = pile_take(pile, (size_t)problem->n_services * sizeof(double)),
        .costs = pile_take(pile, (size_t)problem->n_devices * sizeof(double)),
        .parts = pile_take(pile, (size_t)problem->n_devices * sizeof(*board->parts)),
        .n_members_max = n_members_max,
        .node = -1,
    };
}

/* Returns what members cost on a group when `service` has the weight `weight` over all copies. Sets
 * costs, one per member, unless it is NULL. */
static double cost_of(const struct place_board *board, const struct place_group *group,
                      int32_t service, double weight, double *costs)
{
    const struct place_problem *problem = board->problem;
    struct place_estimate estimate;
    double rates[PLACE_MEMBERS_MAX], parts[PLACE_MEMBERS_MAX], cost = 0;
    for (int32_t i = 0; i < group->n_members; i++) {
        int32_t s = group->members[i].service;
        double all = s == service ? weight : board->weights[s];
        parts[i] = all > 0 ? place_estimate_weight(problem, group, s) / all : 0;
        rates[i] = parts[i] * problem->services[s].rate_per_s;
    }
    if (group->n_members > 0)
        place_estimate_group(problem, group, rates, &estimate);
    for (int32_t i = 0; i < group->n_members; i++) {
        double own = parts[i] * place_estimate_cost(problem, group->members[i].service,
                                                    estimate.latency_s[i], estimate.met[i]);
        cost += own;
        if (costs != NULL)
            costs[i] = own;
    }
    return cost;
}

/* Returns the cost of a service without a group: its requests wait for the whole window. */
static double cost_nowhere(const struct place_board *board, int32_t service)
{
    double window_s = (double)board->problem->window.span_ns * 1e-9;
    return 1 + 2 * place_estimate_cost(board->problem, service, window_s * 1e3, 0);
}

void place_board_show(struct place_board *board, struct place_plan *plan)
{
    const struct place_problem *problem = board->problem;
    board->plan = plan;
    board->cost = 0;
    memset(board->weights, 0, (size_t)problem->n_services * sizeof(*board->weights));
    for (int32_t g = 0; g < plan->n_groups; g++)
        for (int32_t m = 0; m < plan->groups[g].n_members; m++)
            board->weights[plan->groups[g].members[m].service] += place_estimate_weight(
                problem, &plan->groups[g], plan->groups[g].members[m].service);
    for (int32_t g = 0; g < plan->n_groups; g++) {
        board->costs[g] = cost_of(board, &plan->groups[g], -1, 0, board->parts[g]);
        board->cost += board->costs[g];
    }
    for (int32_t s = 0; s < problem->n_services; s++)
        board->cost += board->weights[s] > 0 ? 0 : cost_nowhere(board, s);
}

/* Returns by how much the groups that have the service already become cheaper with another copy. */
static double relief(const struct place_board *board, int32_t service, double weight)
{
    double gain = board->weights[service] > 0 ? 0 : cost_nowhere(board, service);
    for (int32_t g = 0; g < board->plan->n_groups; g++)
        if (place_group_has(&board->plan->groups[g], service))
            gain += board->costs[g] - cost_of(board, &board->plan->groups[g], service,
                                              board->weights[service] + weight, NULL);
    return gain;
}

/* Returns what the service costs the group that takes it. */
static double burden(const struct place_board *board, int32_t group, int32_t service, double weight)
{
    struct place_group with = board->plan->groups[group];
    place_group_add(&with, service);
    return cost_of(board, &with, service, board->weights[service] + weight, NULL) -
           board->costs[group];
}

double place_board_gain(const struct place_board *board, int32_t group, int32_t service)
{
    double weight = place_estimate_weight(board->problem, &board->plan->groups[group], service);
    return relief(board, service, weight) - burden(board, group, service, weight);
}

static uint32_t hash_of(const struct place_group *group, int32_t kind)
{
    uint32_t hash = (uint32_t)kind * 31 + (uint32_t)group->n_devices;
    for (int32_t m = 0; m < group->n_members; m++)
        hash = hash * 0x9e3779b1u + (uint32_t)group->members[m].service + 1;
    return hash;
}

static bool is_among(uint32_t hash, const uint32_t *hashes, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (hashes[i] == hash)
            return true;
    return false;
}

/* Treats groups of one kind, size and members as one: only the first of them is evaluated. If more
 * than LOOKED_MAX are different, that many are, and each service begins at another one. */
int32_t place_board_best(const struct place_board *board, int32_t service, double *gain)
{
    double reliefs[CLASSES];
    bool is_known[CLASSES] = { false };
    uint32_t looked[LOOKED_MAX];
    int32_t best = -1, n_looked = 0, n_groups = board->plan->n_groups;
    int32_t from = n_groups > LOOKED_MAX
                       ? (int32_t)((int64_t)service * n_groups / board->problem->n_services)
                       : 0;
    *gain = 0;
    for (int32_t i = 0; i < n_groups && n_looked < LOOKED_MAX; i++) {
        int32_t g = (from + i) % n_groups;
        const struct place_group *group = &board->plan->groups[g];
        int32_t kind = place_group_kind(board->problem, group);
        if ((board->node >= 0 && group->node != board->node) ||
            !place_group_takes(board->problem, group, service, board->n_members_max))
            continue;
        uint32_t hash = hash_of(group, kind);
        if (is_among(hash, looked, n_looked))
            continue;
        looked[n_looked++] = hash;
        double weight = place_estimate_weight(board->problem, group, service);
        int32_t class = kind * PLACE_DEGREES + place_degree_index(group->n_devices);
        if (!is_known[class])
            reliefs[class] = relief(board, service, weight);
        is_known[class] = true;
        double own = reliefs[class] - burden(board, g, service, weight);
        if (best < 0 || own > *gain) {
            best = g;
            *gain = own;
        }
    }
    return best;
}

void place_board_add(struct place_board *board, int32_t group, int32_t service)
{
    struct place_group *to = &board->plan->groups[group];
    if (board->weights[service] <= 0)
        board->cost -= cost_nowhere(board, service);
    place_group_add(to, service);
    board->weights[service] += place_estimate_weight(board->problem, to, service);
    for (int32_t g = 0; g < board->plan->n_groups; g++) {
        if (!place_group_has(&board->plan->groups[g], service))
            continue;
        board->cost -= board->costs[g];
        board->costs[g] = cost_of(board, &board->plan->groups[g], -1, 0, board->parts[g]);
        board->cost += board->costs[g];
    }
}

double place_board_service(const struct place_board *board, int32_t service)
{
    double cost = board->weights[service] > 0 ? 0 : cost_nowhere(board, service);
    for (int32_t g = 0; g < board->plan->n_groups; g++)
        for (int32_t i = 0; i < board->plan->groups[g].n_members; i++)
            if (board->plan->groups[g].members[i].service == service)
                cost += board->parts[g][i];
    return cost;
}

/* Places first copies: the service that needs the most devices comes first, then the one that needs
 * the most time. */
static void place_each(struct place_board *board, struct pile *pile)
{
    const struct place_problem *problem = board->problem;
    int32_t n = problem->n_services;
    double *keys = pile_take(pile, (size_t)n * sizeof(*keys));
    int32_t *order = pile_take(pile, (size_t)n * sizeof(*order));
    for (int32_t s = 0; s < n; s++)
        keys[s] = 1e9 * problem->services[s].base_degree +
                  problem->services[s].rate_per_s * problem->services[s].solo_s;
    place_planners_sort(keys, n, order);
    for (int32_t k = 0; k < n; k++) {
        double gain;
        int32_t group =
            board->weights[order[k]] > 0 ? -1 : place_board_best(board, order[k], &gain);
        if (group >= 0)
            place_board_add(board, group, order[k]);
    }
}

void place_board_fill(struct place_board *board, struct pile *pile)
{
    int32_t n = board->problem->n_services;
    bool *is_over = pile_take(pile, (size_t)n * sizeof(*is_over));
    double *costs = pile_take(pile, (size_t)n * sizeof(*costs));
    int32_t node = board->node;
    board->node = -1;
    place_each(board, pile);
    board->node = node;
    for (int32_t s = 0; s < n; s++)
        costs[s] = place_board_service(board, s);
    for (;;) {
        int32_t worst = -1;
        double gain;
        for (int32_t s = 0; s < n; s++)
            if (!is_over[s] && (worst < 0 || costs[s] > costs[worst]))
                worst = s;
        if (worst < 0)
            return;
        int32_t group = place_board_best(board, worst, &gain);
        if (group < 0 || gain < gain_least) {
            is_over[worst] = true;
            continue;
        }
        place_board_add(board, group, worst);
        for (int32_t m = 0; m < board->plan->groups[group].n_members; m++) {
            int32_t s = board->plan->groups[group].members[m].service;
            costs[s] = place_board_service(board, s);
        }
    }
}
