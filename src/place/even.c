/* Dedicated devices: the cluster is split evenly over the services, and none shares
 * (docs/ALGORITHMS.md 6.1; the vLLM baseline of SeaLLM and MuxServe).
 *
 * A service's groups have the devices that it needs, or its even share if that is more. The rest of
 * an even split goes, group by group, to the service with the fewest devices; among equals to the
 * one with the highest rate. */
#include "place/cut.h"
#include "place/planners.h"

static int32_t power_below(int32_t n)
{
    int32_t power = 1;
    while (power * 2 <= n && power < PLACE_GROUP_MAX)
        power *= 2;
    return power;
}

struct even {
    const struct place_problem *problem;
    struct place_plan *plan;
    struct place_cut cut;
    int32_t *order, *degrees, *n_devices; /* by service */
    bool *is_full;                        /* no more groups for it */
};

static bool give(struct even *even, int32_t service)
{
    int32_t n = even->degrees[service];
    int32_t at = n > 0 ? place_cut_take(&even->cut, n, service) : -1;
    if (at < 0)
        return false;
    place_group_add(place_plan_add_group(even->plan, even->problem, at, n), service);
    even->n_devices[service] += n;
    return true;
}

static void take_all_back(struct even *even)
{
    place_cut_put(&even->cut, 0, even->problem->n_devices);
    even->plan->n_groups = 0;
    for (int32_t i = 0; i < even->problem->n_services; i++)
        even->n_devices[i] = 0;
}

/* Gives each service a first group. Returns false when a service that could be placed is not. */
static bool give_each(struct even *even, int32_t share)
{
    bool is_fine = true;
    take_all_back(even);
    for (int32_t n = PLACE_GROUP_MAX; n > 0; n /= 2) { /* large groups first: they need alignment */
        for (int32_t k = 0; k < even->problem->n_services; k++) {
            int32_t s = even->order[k], base = even->problem->services[s].base_degree;
            int32_t degree = base > 0 ? max_i32(base, share) : 0;
            if (degree != n)
                continue;
            even->degrees[s] = degree;
            is_fine = give(even, s) && is_fine;
        }
    }
    return is_fine;
}

/* Returns the service with the fewest devices among those that can take more. */
static int32_t poorest(const struct even *even)
{
    int32_t best = -1;
    for (int32_t k = 0; k < even->problem->n_services; k++) {
        int32_t s = even->order[k];
        if (!even->is_full[s] && even->n_devices[s] > 0 &&
            (best < 0 || even->n_devices[s] < even->n_devices[best]))
            best = s;
    }
    return best;
}

static void plan(const struct place_desk *desk, struct place_plan *plan)
{
    const struct place_problem *problem = desk->problem;
    size_t n = (size_t)problem->n_services;
    struct even even = {
        .problem = problem,
        .plan = plan,
        .order = pile_take(desk->pile, n * sizeof(int32_t)),
        .degrees = pile_take(desk->pile, n * sizeof(int32_t)),
        .n_devices = pile_take(desk->pile, n * sizeof(int32_t)),
        .is_full = pile_take(desk->pile, n * sizeof(bool)),
    };
    double *rates = pile_take(desk->pile, n * sizeof(*rates));
    for (int32_t i = 0; i < problem->n_services; i++)
        rates[i] = problem->services[i].rate_per_s;
    place_planners_sort(rates, problem->n_services, even.order);
    place_cut_init(&even.cut, problem, desk->pile);
    int32_t share = power_below(max_i32(problem->n_devices / max_i32(problem->n_services, 1), 1));
    while (!give_each(&even, share) && share > 1)
        share /= 2;
    for (int32_t s = poorest(&even); s >= 0; s = poorest(&even))
        even.is_full[s] = !give(&even, s);
    place_plan_finish(plan, problem);
}

const struct place_planner place_even = {
    .name = "even",
    .source = "vLLM in SeaLLM and MuxServe",
    .summary = "dedicated devices, split evenly",
    .optimises =
        "nothing: each service has devices of its own, as many as the others, or more if it "
        "needs more. The rest goes to the services with the fewest",
    .cost = "none",
    .fails =
        "there may be fewer devices than services; a busy service gets no more than an idle one",
    .n_members_max = 1,
    .plan = plan,
};
