/* Cuts large groups first, then equal ones from what is left. */
#include "place/ground.h"

#include "place/cut.h"
#include "place/planners.h"

int32_t place_ground_degree_max(const struct place_problem *problem)
{
    int32_t most = 1;
    for (int32_t i = 0; i < problem->n_nodes; i++)
        while (most * 2 <= PLACE_GROUP_MAX && most * 2 <= problem->nodes[i].n_devices)
            most *= 2;
    return most;
}

struct partitions {
    struct place_partition *out;
    int32_t n;
    struct place_partition so_far;
};

static void add_partitions(struct partitions *all, int32_t degree, int32_t left)
{
    if (degree < 0) {
        if (left == 0 && all->n < PLACE_PARTITIONS_MAX)
            all->out[all->n++] = all->so_far;
        return;
    }
    for (int32_t n = left >> degree; n >= 0 && all->n < PLACE_PARTITIONS_MAX; n--) {
        all->so_far.counts[degree] = n;
        add_partitions(all, degree - 1, left - (n << degree));
    }
    all->so_far.counts[degree] = 0;
}

int32_t place_ground_partitions(int32_t n_devices, struct place_partition *out)
{
    struct partitions all = { .out = out };
    add_partitions(&all, PLACE_DEGREES - 1, n_devices);
    return all.n;
}

void place_ground_cut_node(struct place_plan *plan, const struct place_problem *problem,
                           const struct place_node *node, const struct place_partition *partition)
{
    int32_t at = node->first_device, end = at + node->n_devices;
    for (int32_t d = PLACE_DEGREES - 1; d >= 0; d--)
        for (int32_t i = 0; i < partition->counts[d] && at < end; i++, at += 1 << d)
            (void)place_plan_add_group(plan, problem, at, 1 << d);
}

/* Returns whether a group of n_devices holds it on some node of the cluster. */
static bool is_held_by(const struct place_problem *problem, int32_t service, int32_t n_devices)
{
    for (int32_t i = 0; i < problem->n_nodes; i++)
        if (problem->nodes[i].n_devices >= n_devices &&
            place_problem_holds(problem, service, problem->nodes[i].kind, n_devices))
            return true;
    return false;
}

static bool seat(struct place_plan *plan, const struct place_problem *problem,
                 struct place_cut *cut, int32_t service, int32_t n_members_max)
{
    for (int32_t g = 0; g < plan->n_groups; g++) {
        if (place_group_takes(problem, &plan->groups[g], service, n_members_max)) {
            place_group_add(&plan->groups[g], service);
            return true;
        }
    }
    int32_t degree = problem->services[service].base_degree;
    int32_t at = place_cut_take(cut, degree, service);
    if (at >= 0)
        place_group_add(place_plan_add_group(plan, problem, at, degree), service);
    return at >= 0;
}

bool place_ground_cut(struct place_plan *plan, const struct place_problem *problem,
                      int32_t n_devices, int32_t n_members_max, struct pile *pile)
{
    int32_t n = problem->n_services;
    double *degrees = pile_take(pile, (size_t)n * sizeof(*degrees));
    int32_t *order = pile_take(pile, (size_t)n * sizeof(*order));
    struct place_cut cut;
    bool is_fine = true;
    place_cut_init(&cut, problem, pile);
    for (int32_t s = 0; s < n; s++)
        degrees[s] = problem->services[s].base_degree;
    place_planners_sort(degrees, n, order);
    for (int32_t k = 0; k < n; k++)
        if (problem->services[order[k]].base_degree > 0 &&
            !is_held_by(problem, order[k], n_devices))
            is_fine = seat(plan, problem, &cut, order[k], n_members_max) && is_fine;
    for (int32_t g = 0; g < plan->n_groups; g++)
        plan->groups[g].n_members = 0;
    for (int32_t size = n_devices; size > 0; size /= 2)
        for (int32_t at = place_cut_take(&cut, size, -1); at >= 0;
             at = place_cut_take(&cut, size, -1))
            (void)place_plan_add_group(plan, problem, at, size);
    return is_fine;
}
