/* Hill climbing from the worst service on. It tries several moves at once, so that the judge has
 * work for every core. */
#include "place/improve.h"

#include "place/board.h"
#include <string.h>

enum { MOVES = 9, ADDS = 3, PARTINGS = 2, KEPT = 2 };
static const double cost_least = 1e-4; /* that a move must gain */
struct climb {
    const struct place_improve *how;
    const struct place_problem *problem;
    struct place_board board;
    struct place_plan *plan;
    struct place_score *score;
    struct place_plan moves[MOVES];
    struct place_score scores[MOVES];
    double *cost, costs[MOVES];
    int32_t n_moves;
    int64_t begun;  /* the judge's work before */
    bool *is_stuck; /* (n_services) nothing helped it since the plan's last change */
};

static struct place_plan *next_move(struct climb *climb)
{
    if (climb->n_moves == MOVES)
        return NULL;
    struct place_plan *move = &climb->moves[climb->n_moves++];
    place_plan_copy(move, climb->plan);
    return move;
}

/* ---- Moves. ---- */

/* Adds another copy where the estimate gains most, and where it gains next most. */
static void add_copies(struct climb *climb, int32_t service)
{
    bool is_used[PLACE_DEGREES] = { false };
    for (int32_t k = 0; k < ADDS; k++) {
        int32_t best = -1;
        double most = 0;
        for (int32_t g = 0; g < climb->plan->n_groups; g++) {
            const struct place_group *group = &climb->plan->groups[g];
            if (is_used[place_degree_index(group->n_devices)] ||
                !place_group_takes(climb->problem, group, service, climb->how->n_members_max))
                continue;
            double gain = place_board_gain(&climb->board, g, service);
            if (best < 0 || gain > most) {
                best = g;
                most = gain;
            }
        }
        struct place_plan *move = best >= 0 ? next_move(climb) : NULL;
        if (move == NULL)
            return;
        is_used[place_degree_index(climb->plan->groups[best].n_devices)] = true;
        place_group_add(&move->groups[best], service);
    }
}

/* Removes a neighbour from a group of the service: to where it costs least, or for good if another
 * group has it too. */
static void part_neighbours(struct climb *climb, int32_t service)
{
    int32_t n_left = PARTINGS;
    for (int32_t g = 0; g < climb->plan->n_groups && n_left > 0; g++) {
        const struct place_group *group = &climb->plan->groups[g];
        for (int32_t m = 0; m < group->n_members && place_group_has(group, service); m++) {
            int32_t other = group->members[m].service;
            double gain;
            if (other == service)
                continue;
            int32_t to = place_board_best(&climb->board, other, &gain);
            bool has_more = place_plan_copies(climb->plan, other) > 1;
            struct place_plan *move = to >= 0 || has_more ? next_move(climb) : NULL;
            if (move == NULL)
                continue;
            place_group_remove(&move->groups[g], other);
            if (to >= 0 && !has_more)
                place_group_add(&move->groups[to], other);
            if (--n_left == 0)
                return;
        }
    }
}

/* Removes the service itself from the group where it fits least. */
static void leave(struct climb *climb, int32_t service)
{
    int32_t crowded = -1;
    for (int32_t g = 0; g < climb->plan->n_groups; g++) {
        const struct place_group *group = &climb->plan->groups[g];
        if (place_group_has(group, service) && group->n_members > 1 &&
            (crowded < 0 || climb->board.costs[g] > climb->board.costs[crowded]))
            crowded = g;
    }
    double gain;
    int32_t to = crowded >= 0 ? place_board_best(&climb->board, service, &gain) : -1;
    struct place_plan *move = to >= 0 ? next_move(climb) : NULL;
    if (move == NULL)
        return;
    place_group_remove(&move->groups[crowded], service);
    place_group_add(&move->groups[to], service);
}

static bool is_buddy(const struct place_problem *problem, const struct place_group *a,
                     const struct place_group *b)
{
    int32_t first = problem->nodes[a->node].first_device;
    int32_t low = (a->first_device - first) / (2 * a->n_devices) * (2 * a->n_devices);
    return a != b && a->node == b->node && a->n_devices == b->n_devices &&
           (b->first_device - first) / (2 * a->n_devices) * (2 * a->n_devices) == low;
}

/* Puts the members of two groups on one group of both groups' devices. */
static void merge(struct climb *climb, int32_t service)
{
    for (int32_t g = 0; g < climb->plan->n_groups; g++) {
        const struct place_group *a = &climb->plan->groups[g];
        for (int32_t h = 0; h < climb->plan->n_groups; h++) {
            const struct place_group *b = &climb->plan->groups[h];
            if (!place_group_has(a, service) || a->n_devices * 2 > PLACE_GROUP_MAX ||
                !is_buddy(climb->problem, a, b))
                continue;
            struct place_plan *move = next_move(climb);
            if (move == NULL)
                return;
            struct place_group *to = &move->groups[g];
            to->first_device = min_i32(a->first_device, b->first_device);
            to->n_devices *= 2;
            bool is_fine = true;
            for (int32_t m = 0; m < b->n_members; m++) {
                int32_t s = b->members[m].service;
                if (place_group_takes(climb->problem, to, s, climb->how->n_members_max))
                    place_group_add(to, s);
                else
                    is_fine = is_fine && place_group_has(to, s);
            }
            move->groups[h] = move->groups[--move->n_groups];
            climb->n_moves -= !is_fine;
            return;
        }
    }
}

/* Splits a group into two of half the devices, each with every member that fits, or with every
 * other one. */
static void split(struct climb *climb, int32_t service, bool is_apart)
{
    for (int32_t g = 0; g < climb->plan->n_groups; g++) {
        const struct place_group *from = &climb->plan->groups[g];
        if (!place_group_has(from, service) || from->n_devices == 1 ||
            (is_apart && from->n_members == 1))
            continue;
        struct place_plan *move = next_move(climb);
        if (move == NULL)
            return;
        int32_t half = from->n_devices / 2;
        struct place_group *low = &move->groups[g];
        struct place_group *high =
            place_plan_add_group(move, climb->problem, from->first_device + half, half);
        high->division = from->division;
        bool is_fine = true;
        low->n_devices = half;
        low->n_members = 0;
        for (int32_t m = 0; m < from->n_members; m++) {
            int32_t s = from->members[m].service, n = 0;
            struct place_group *const halves[] = { m % 2 == 0 ? low : high,
                                                   m % 2 == 0 ? high : low };
            for (int i = 0; i < (is_apart ? 1 : 2); i++) {
                if (!place_group_takes(climb->problem, halves[i], s, climb->how->n_members_max))
                    continue;
                place_group_add(halves[i], s);
                n++;
            }
            is_fine = is_fine && n > 0;
        }
        climb->n_moves -= !is_fine;
        return;
    }
}

/* ---- The climb. ---- */

/* Returns the service with the most late requests; among equals, the one with the highest
 * normalized latency. */
static int32_t worst_of(const struct climb *climb)
{
    int32_t worst = -1;
    double most = 0;
    for (int32_t s = 0; s < climb->problem->n_services; s++) {
        const struct place_service_score *score = &climb->score->services[s];
        double n = (double)max_i64(score->n, 1);
        double key =
            (double)(score->n - score->n_met) + (score->n > 0 ? 0.05 * (score->normalized - n) : 0);
        if (score->n_met < (int64_t)(climb->problem->limits.attainment * n))
            key += n; /* a service under the target precedes many late requests of a large one */
        if (climb->is_stuck[s] || key <= 0 || climb->problem->services[s].base_degree == 0)
            continue;
        if (worst < 0 || key > most) {
            worst = s;
            most = key;
        }
    }
    return worst;
}

static int64_t work_of(const struct climb *climb)
{
    const struct place_judge *judge = climb->how->desk->judge;
    return judge->work(judge->self) - climb->begun;
}

/* Judges the moves, and takes the best one when it is better than the plan. */
static bool take_best(struct climb *climb)
{
    const struct place_desk *desk = climb->how->desk;
    const struct place_plan *plans[MOVES];
    int32_t best = -1;
    for (int32_t i = 0; i < climb->n_moves; i++)
        plans[i] = &climb->moves[i];
    if (climb->n_moves == 0)
        return false;
    place_samples_challenge(climb->how->samples, plans, climb->n_moves, KEPT, climb->scores,
                            climb->costs);
    place_tell(desk, climb->how->planner, min_i64(work_of(climb), climb->how->work_max - 1),
               climb->how->work_max);
    for (int32_t i = 0; i < climb->n_moves; i++)
        if (climb->costs[i] < (best < 0 ? *climb->cost : climb->costs[best]) - cost_least)
            best = i;
    if (best < 0)
        return false;
    struct place_service_score *services = climb->score->services;
    place_plan_copy(climb->plan, &climb->moves[best]);
    memcpy(services, climb->scores[best].services,
           (size_t)climb->problem->n_services * sizeof(*services));
    *climb->cost = climb->costs[best];
    *climb->score = climb->scores[best];
    climb->score->services = services;
    return true;
}

void place_improve(const struct place_improve *improve, struct place_plan *plan,
                   struct place_score *score, double *cost)
{
    const struct place_desk *desk = improve->desk;
    const struct place_problem *problem = desk->problem;
    size_t n = (size_t)problem->n_services;
    struct climb climb = {
        .how = improve, .problem = problem, .plan = plan, .score = score, .cost = cost
    };
    climb.begun = desk->judge->work(desk->judge->self);
    climb.is_stuck = pile_take(desk->pile, n * sizeof(*climb.is_stuck));
    for (int i = 0; i < MOVES; i++) {
        place_plan_init(&climb.moves[i], problem, desk->pile);
        climb.scores[i].services = pile_take(desk->pile, n * sizeof(*climb.scores[i].services));
    }
    place_board_init(&climb.board, problem, improve->n_members_max, desk->pile);
    place_board_show(&climb.board, plan);
    place_samples_aim(improve->samples, plan);
    for (int32_t s = worst_of(&climb); s >= 0 && work_of(&climb) < improve->work_max;
         s = worst_of(&climb)) {
        climb.n_moves = 0;
        add_copies(&climb, s);
        part_neighbours(&climb, s);
        leave(&climb, s);
        merge(&climb, s);
        split(&climb, s, false);
        split(&climb, s, true);
        climb.is_stuck[s] = true;
        if (!take_best(&climb))
            continue;
        memset(climb.is_stuck, 0, n * sizeof(*climb.is_stuck));
        place_board_show(&climb.board, plan);
        place_samples_aim(improve->samples, plan);
    }
    place_tell(desk, improve->planner, improve->work_max, improve->work_max);
}
