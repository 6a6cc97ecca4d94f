/* Default vLLM in Aladdin's evaluation: all devices of a machine are one group
 * (docs/ALGORITHMS.md 6.15).
 *
 * Services in order of their rate go to the machine with the least load. Machines left empty take
 * another copy of the service with the most load per copy. */
#include "place/planners.h"

/* Returns the seconds of the group's time that a service needs per second, at batch 1. */
static double load_on(const struct place_problem *problem, const struct place_group *group,
                      int32_t service, int32_t n_copies)
{
    const struct place_service *s = &problem->services[service];
    const struct perf *perf =
        place_problem_perf(problem, service, place_group_kind(problem, group), group->n_devices);
    int64_t n_prompt = max_i64((int64_t)s->n_prompt, 1),
            n_output = max_i64((int64_t)s->n_output, 1);
    return s->rate_per_s * (double)perf_solo_ps(perf, n_prompt, n_output) * 1e-12 / n_copies;
}

static double load_of(const struct place_problem *problem, const struct place_plan *plan,
                      const struct place_group *group)
{
    double load = 0;
    for (int32_t i = 0; i < group->n_members; i++)
        load += load_on(problem, group, group->members[i].service,
                        place_plan_copies(plan, group->members[i].service));
    return load;
}

static void add_machines(const struct place_problem *problem, struct place_plan *plan)
{
    for (int32_t i = 0; i < problem->n_nodes; i++) { /* what a power of two leaves stays spare */
        int32_t n = PLACE_GROUP_MAX;
        while (n > problem->nodes[i].n_devices)
            n /= 2;
        (void)place_plan_add_group(plan, problem, problem->nodes[i].first_device, n);
    }
}

static struct place_group *least_loaded(const struct place_problem *problem,
                                        struct place_plan *plan, int32_t service)
{
    struct place_group *best = NULL;
    double least = 0;
    for (int32_t g = 0; g < plan->n_groups; g++) {
        struct place_group *group = &plan->groups[g];
        if (!place_group_takes(problem, group, service, PLACE_MEMBERS_MAX))
            continue;
        double load = load_of(problem, plan, group);
        if (best == NULL || load < least) {
            best = group;
            least = load;
        }
    }
    return best;
}

static void fill(const struct place_problem *problem, const struct place_plan *plan,
                 struct place_group *group)
{
    int32_t most = -1;
    double heaviest = 0;
    for (int32_t s = 0; s < problem->n_services; s++) {
        int32_t n_copies = place_plan_copies(plan, s);
        double load = n_copies > 0 ? load_on(problem, group, s, n_copies) : -1;
        if (load > heaviest && place_group_takes(problem, group, s, PLACE_MEMBERS_MAX)) {
            most = s;
            heaviest = load;
        }
    }
    if (most >= 0)
        place_group_add(group, most);
}

static void plan(const struct place_desk *desk, struct place_plan *plan)
{
    const struct place_problem *problem = desk->problem;
    int32_t *order = pile_take(desk->pile, (size_t)problem->n_services * sizeof(*order));
    double *rates = pile_take(desk->pile, (size_t)problem->n_services * sizeof(*rates));
    for (int32_t i = 0; i < problem->n_services; i++)
        rates[i] = problem->services[i].rate_per_s;
    place_planners_sort(rates, problem->n_services, order);
    add_machines(problem, plan);
    for (int32_t k = 0; k < problem->n_services; k++) {
        struct place_group *group = least_loaded(problem, plan, order[k]);
        if (group != NULL)
            place_group_add(group, order[k]);
    }
    for (int32_t g = 0; g < plan->n_groups; g++)
        if (plan->groups[g].n_members == 0)
            fill(problem, plan, &plan->groups[g]);
    place_plan_finish(plan, problem);
}

const struct place_planner place_machine = {
    .name = "machine",
    .source = "default vLLM in Aladdin",
    .summary = "one group a machine, by rate, to where least load is",
    .optimises =
        "nothing: each machine is one group. Services are placed by rate, each where the load "
        "is least. Machines that stay empty take the heaviest services again",
    .cost = "none",
    .fails = "a small model runs on all devices of its machine, although it needs fewer",
    .n_members_max = PLACE_MEMBERS_MAX,
    .plan = plan,
};
