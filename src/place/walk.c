/* Simulates and adds until nothing fits, at every degree, and keeps the best plan on the way. */
#include "place/walk.h"

#include "place/ground.h"
#include "place/planners.h"

/* Above every need, which is in requests. */
static const double first_copy = 1e12;

enum added { ADDED, ADDED_NONE, ADDED_LATER }; /* later: needs are of an earlier plan */
struct search {
    const struct place_desk *desk;
    const struct place_window *window;
    const struct place_walk_rule *rule;
    struct place_walk walks[PLACE_DEGREES];
    int32_t n, n_members_max;
    double *keys;               /* (max of n_services and n_devices) */
    int32_t *services, *groups; /* in order */
};

static int32_t copies_of(const struct place_plan *plan)
{
    int32_t n = 0;
    for (int32_t g = 0; g < plan->n_groups; g++)
        n += plan->groups[g].n_members;
    return n;
}

static bool is_unplaced(const struct place_walk *walk, int32_t service)
{
    return walk->problem->services[service].base_degree > 0 &&
           place_plan_copies(&walk->plan, service) == 0;
}

/* Orders first copies before second ones, since a busy service's tenth copy could take the room of
 * one with little load. Among services without a copy, those with requests go before those
 * without. */
static void order_both(const struct search *search, const struct place_walk *walk)
{
    for (int32_t s = 0; s < walk->problem->n_services; s++)
        search->keys[s] = search->rule->need(walk, s) + (is_unplaced(walk, s) ? first_copy : 0);
    place_planners_sort(search->keys, walk->problem->n_services, search->services);
    for (int32_t g = 0; g < walk->plan.n_groups; g++)
        search->keys[g] = -search->rule->load(walk, &walk->plan.groups[g]);
    place_planners_sort(search->keys, walk->plan.n_groups, search->groups);
}

static bool is_waiting(const struct place_walk *walk, int32_t service)
{
    return walk->problem->services[service].base_degree > walk->n_devices &&
           place_plan_copies(&walk->plan, service) == 0;
}

/* Returns whether the group is reserved for services that need more devices than the walk's, and
 * this service is not one. */
static bool is_kept_from(const struct search *search, const struct place_walk *walk,
                         const struct place_group *group, int32_t service)
{
    bool is_kept = false;
    if (group->n_devices <= walk->n_devices || is_waiting(walk, service))
        return false;
    for (int32_t s = 0; s < walk->problem->n_services && !is_kept; s++)
        is_kept = is_waiting(walk, s) &&
                  place_group_takes(walk->problem, group, s, search->n_members_max);
    return is_kept;
}

/* Adds the first pair that fits, with one order inside the other. */
static enum added add_one(const struct search *search, struct place_walk *walk)
{
    bool is_group_first = search->rule->is_group_first;
    int32_t n_services = walk->problem->n_services, n_groups = walk->plan.n_groups;
    order_both(search, walk);
    for (int32_t i = 0; i < (is_group_first ? n_groups : n_services); i++) {
        for (int32_t j = 0; j < (is_group_first ? n_services : n_groups); j++) {
            int32_t service = search->services[is_group_first ? j : i];
            struct place_group *group = &walk->plan.groups[search->groups[is_group_first ? i : j]];
            if (!place_group_takes(walk->problem, group, service, search->n_members_max) ||
                is_kept_from(search, walk, group, service))
                continue;
            if (!walk->is_judged && !is_unplaced(walk, service))
                return ADDED_LATER;
            place_group_add(group, service);
            return ADDED;
        }
    }
    return walk->is_judged ? ADDED_NONE : ADDED_LATER;
}

/* Adds a copy, and further ones while no simulation is needed to know which service needs them.
 * This holds while a service has no group, because plans that leave out more are worse. */
static void grow(const struct search *search, struct place_walk *walk)
{
    enum added added = add_one(search, walk);
    walk->is_over = added == ADDED_NONE;
    walk->is_judged = false;
    while (added == ADDED && search->rule->is_placing_first)
        added = add_one(search, walk);
}

static void open_walks(struct search *search)
{
    const struct place_desk *desk = search->desk;
    const struct place_problem *problem = desk->problem;
    size_t n = (size_t)problem->n_services, n_devices = (size_t)problem->n_devices;
    search->keys = pile_take(desk->pile, (n + n_devices) * sizeof(*search->keys));
    search->services = pile_take(desk->pile, n * sizeof(*search->services));
    search->groups = pile_take(desk->pile, n_devices * sizeof(*search->groups));
    for (int32_t p = 1; p <= place_ground_degree_max(problem); p *= 2) {
        struct place_walk *walk = &search->walks[search->n++];
        walk->problem = problem;
        walk->n_devices = p;
        place_plan_init(&walk->plan, problem, desk->pile);
        place_plan_init(&walk->best, problem, desk->pile);
        walk->score.services = pile_take(desk->pile, n * sizeof(*walk->score.services));
        if (search->rule->has_merges)
            (void)place_ground_cut(&walk->plan, problem, p, search->n_members_max, desk->pile);
        else
            place_plan_cut(&walk->plan, problem, p);
    }
}

/* Scores the plans of all degrees that still grow, at once, so that every core has work. */
static void judge_all(struct search *search)
{
    const struct place_desk *desk = search->desk;
    const struct place_plan *plans[PLACE_DEGREES];
    struct place_score scores[PLACE_DEGREES];
    struct place_walk *of[PLACE_DEGREES];
    int n = 0;
    for (int32_t i = 0; i < search->n; i++) {
        if (search->walks[i].is_over)
            continue;
        of[n] = &search->walks[i];
        plans[n] = &of[n]->plan;
        scores[n] = of[n]->score;
        n++;
    }
    desk->judge->score(desk->judge->self, plans, n, search->window, scores);
    for (int i = 0; i < n; i++) {
        struct place_walk *walk = of[i];
        walk->score = scores[i];
        walk->is_judged = true;
        if (walk->best.n_groups > 0 &&
            search->rule->compare(&walk->score, copies_of(&walk->plan), &walk->best_score,
                                  copies_of(&walk->best)) <= 0)
            continue;
        place_plan_copy(&walk->best, &walk->plan);
        walk->best_score = walk->score;
        walk->best_score.services = NULL;
    }
}

static bool is_better(const struct search *search, const struct place_walk *a,
                      const struct place_walk *b)
{
    return b == NULL || search->rule->compare(&a->best_score, copies_of(&a->best), &b->best_score,
                                              copies_of(&b->best)) > 0;
}

/* Chooses the best of the degrees, and the next best. */
static void choose(const struct search *search, struct place_plan *plan)
{
    const struct place_desk *desk = search->desk;
    const struct place_walk *best = NULL, *second = NULL;
    for (int32_t i = 0; i < search->n; i++) {
        const struct place_walk *walk = &search->walks[i];
        if (is_better(search, walk, best)) {
            second = best;
            best = walk;
        } else if (is_better(search, walk, second)) {
            second = walk;
        }
    }
    if (desk->second != NULL && second != NULL) {
        place_plan_copy(desk->second, &second->best);
        place_plan_finish(desk->second, desk->problem);
    }
    place_plan_copy(plan, &best->best);
    place_plan_finish(plan, desk->problem);
}

void place_walk(const struct place_desk *desk, const struct place_window *window,
                const struct place_walk_rule *rule, struct place_plan *plan)
{
    int32_t n_members = rule->n_members_max, n_growing;
    int64_t n_done = 0, n_all = 1;
    if (n_members == 0)
        n_members = desk->problem->limits.n_members_max;
    struct search search = {
        .desk = desk, .window = window, .rule = rule, .n_members_max = n_members
    };
    open_walks(&search);
    for (int32_t i = 0; i < search.n; i++)
        n_all = max_i64(n_all, (int64_t)n_members * search.walks[i].plan.n_groups + 1);
    do {
        judge_all(&search);
        n_growing = 0;
        for (int32_t i = 0; i < search.n; i++) {
            struct place_walk *walk = &search.walks[i];
            if (!walk->is_over)
                grow(&search, walk);
            n_growing += !walk->is_over;
        }
        place_tell(desk, rule->name, min_i64(++n_done, n_all - 1), n_all);
    } while (n_growing > 0);
    place_tell(desk, rule->name, n_all, n_all);
    choose(&search, plan);
}
