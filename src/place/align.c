/* Aligns the groups of a new plan with the old plan, so that the least has to move. */
#include "place/align.h"

#include <stdlib.h>
#include <string.h>

struct pair { /* this one lies there */
    int64_t value;
    int32_t what, where;
};

static int by_value(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    bool x_stays = x->what == x->where, y_stays = y->what == y->where;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    if (x_stays != y_stays)
        return x_stays ? -1 : 1;
    if (x->what != y->what)
        return x->what < y->what ? -1 : 1;
    return (x->where > y->where) - (x->where < y->where);
}

/* Sets to: (n), where each lies. All find a place, since each may stay where it is. */
static void match(struct pair *pairs, int32_t n_pairs, int32_t n, bool *is_taken, int32_t *to)
{
    qsort(pairs, (size_t)n_pairs, sizeof(*pairs), by_value);
    for (int32_t i = 0; i < n; i++) {
        is_taken[i] = false;
        to[i] = -1;
    }
    for (int32_t i = 0; i < n_pairs; i++) {
        if (to[pairs[i].what] >= 0 || is_taken[pairs[i].where])
            continue;
        to[pairs[i].what] = pairs[i].where;
        is_taken[pairs[i].where] = true;
    }
}

const struct place_group *place_align_group_at(const struct place_plan *plan, int32_t first_device,
                                               int32_t n_devices)
{
    for (int32_t i = 0; i < plan->n_groups; i++)
        if (plan->groups[i].first_device == first_device && plan->groups[i].n_devices == n_devices)
            return &plan->groups[i];
    return NULL;
}

/* ---- Machines. ---- */

/* Returns the devices of groups that are cut alike when node i of the plan lies on node j of the
 * kept one. */
static int64_t n_alike(const struct place_problem *problem, const struct place_plan *kept,
                       const struct place_plan *plan, int32_t i, int32_t j)
{
    int64_t n = 0;
    int32_t shift = problem->nodes[j].first_device - problem->nodes[i].first_device;
    for (int32_t g = 0; g < plan->n_groups; g++) {
        const struct place_group *group = &plan->groups[g];
        if (group->node == i &&
            place_align_group_at(kept, group->first_device + shift, group->n_devices) != NULL)
            n += group->n_devices;
    }
    return n;
}

static void align_nodes(const struct place_problem *problem, const struct place_plan *kept,
                        struct place_plan *plan, struct pile *pile)
{
    size_t n = (size_t)problem->n_nodes;
    struct pair *pairs = pile_take(pile, n * n * sizeof(*pairs));
    bool *is_taken = pile_take(pile, n);
    int32_t *to = pile_take(pile, n * sizeof(*to)), n_pairs = 0;
    for (int32_t i = 0; i < problem->n_nodes; i++)
        for (int32_t j = 0; j < problem->n_nodes; j++)
            if (problem->nodes[i].kind == problem->nodes[j].kind &&
                problem->nodes[i].n_devices == problem->nodes[j].n_devices)
                pairs[n_pairs++] = (struct pair){ n_alike(problem, kept, plan, i, j), i, j };
    match(pairs, n_pairs, problem->n_nodes, is_taken, to);
    for (int32_t g = 0; g < plan->n_groups; g++) {
        struct place_group *group = &plan->groups[g];
        int32_t node = to[group->node];
        group->first_device +=
            problem->nodes[node].first_device - problem->nodes[group->node].first_device;
        group->node = node;
    }
}

/* ---- Groups. ---- */

/* Returns the bytes of weights that stay when this group's models lie on those devices. */
static int64_t n_kept_bytes(const struct place_problem *problem, const struct place_group *here,
                            const struct place_group *group)
{
    int64_t n_bytes = 0;
    for (int32_t m = 0; here != NULL && m < group->n_members; m++)
        if (place_group_has(here, group->members[m].service))
            n_bytes += problem->services[group->members[m].service].size.weights_bytes;
    return n_bytes;
}

static void align_groups(const struct place_problem *problem, const struct place_plan *kept,
                         struct place_plan *plan, struct pile *pile)
{
    size_t n = (size_t)plan->n_groups;
    struct pair *pairs = pile_take(pile, n * n * sizeof(*pairs));
    struct place_group *old = pile_take(pile, n * sizeof(*old));
    const struct place_group **here = pile_take(pile, n * sizeof(*here));
    bool *is_taken = pile_take(pile, n);
    int32_t *to = pile_take(pile, n * sizeof(*to)), n_pairs = 0;
    for (int32_t j = 0; j < plan->n_groups; j++)
        here[j] =
            place_align_group_at(kept, plan->groups[j].first_device, plan->groups[j].n_devices);
    for (int32_t i = 0; i < plan->n_groups; i++) {
        for (int32_t j = 0; j < plan->n_groups; j++) {
            const struct place_group *a = &plan->groups[i], *b = &plan->groups[j];
            if (a->n_devices != b->n_devices ||
                place_group_kind(problem, a) != place_group_kind(problem, b))
                continue;
            pairs[n_pairs++] = (struct pair){ n_kept_bytes(problem, here[j], a), i, j };
        }
    }
    match(pairs, n_pairs, plan->n_groups, is_taken, to);
    memcpy(old, plan->groups, n * sizeof(*old));
    for (int32_t i = 0; i < plan->n_groups; i++) {
        struct place_group *group = &plan->groups[to[i]];
        group->n_members = old[i].n_members;
        memcpy(group->members, old[i].members, sizeof(group->members));
    }
}

void place_align(const struct place_problem *problem, const struct place_plan *kept,
                 struct place_plan *plan, struct pile *pile)
{
    align_nodes(problem, kept, plan, pile);
    align_groups(problem, kept, plan, pile);
    plan->n_refused = 0;
    place_plan_finish(plan, problem);
}
