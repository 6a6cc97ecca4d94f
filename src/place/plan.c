/* Makes plans of groups, and writes the sentence of a service that fits nowhere. */
#include "place/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void place_plan_init(struct place_plan *plan, const struct place_problem *problem,
                     struct pile *pile)
{
    *plan = (struct place_plan){
        .groups = pile_take(pile, (size_t)problem->n_devices * sizeof(*plan->groups)),
        .refused = pile_take(pile, (size_t)problem->n_services * sizeof(*plan->refused)),
    };
}

void place_plan_copy(struct place_plan *to, const struct place_plan *from)
{
    to->n_groups = from->n_groups;
    to->n_refused = from->n_refused;
    memcpy(to->groups, from->groups, (size_t)from->n_groups * sizeof(*from->groups));
    memcpy(to->refused, from->refused, (size_t)from->n_refused * sizeof(*from->refused));
}

static bool is_equal_group(const struct place_group *a, const struct place_group *b)
{
    bool is_equal = a->first_device == b->first_device && a->n_devices == b->n_devices &&
                    a->n_members == b->n_members && a->division == b->division;
    for (int32_t i = 0; i < a->n_members && is_equal; i++)
        is_equal = a->members[i].service == b->members[i].service &&
                   a->members[i].share_percent == b->members[i].share_percent &&
                   a->members[i].kv_bytes == b->members[i].kv_bytes;
    return is_equal;
}

bool place_plan_equal(const struct place_plan *a, const struct place_plan *b)
{
    bool is_equal = a->n_groups == b->n_groups && a->n_refused == b->n_refused;
    for (int32_t i = 0; i < a->n_groups && is_equal; i++)
        is_equal = is_equal_group(&a->groups[i], &b->groups[i]);
    for (int32_t i = 0; i < a->n_refused && is_equal; i++)
        is_equal = a->refused[i].service == b->refused[i].service &&
                   strcmp(a->refused[i].why, b->refused[i].why) == 0;
    return is_equal;
}

/* ---- Groups. ---- */

struct place_group *place_plan_add_group(struct place_plan *plan,
                                         const struct place_problem *problem, int32_t first_device,
                                         int32_t n_devices)
{
    int32_t node = place_problem_node_of(problem, first_device);
    CHECK(plan->n_groups < problem->n_devices && place_degree_index(n_devices) >= 0);
    CHECK(place_problem_node_of(problem, first_device + n_devices - 1) == node);
    struct place_group *group = &plan->groups[plan->n_groups++];
    *group =
        (struct place_group){ .node = node, .first_device = first_device, .n_devices = n_devices };
    return group;
}

void place_plan_cut(struct place_plan *plan, const struct place_problem *problem, int32_t n_devices)
{
    for (int32_t i = 0; i < problem->n_nodes; i++) {
        const struct place_node *node = &problem->nodes[i];
        for (int32_t at = 0, n = n_devices; at < node->n_devices; at += n) {
            while (at + n > node->n_devices)
                n /= 2;
            (void)place_plan_add_group(plan, problem, node->first_device + at, n);
        }
    }
}

/* ---- Of the whole plan. ---- */

int32_t place_plan_copies(const struct place_plan *plan, int32_t service)
{
    int32_t n = 0;
    for (int32_t i = 0; i < plan->n_groups; i++)
        n += place_group_has(&plan->groups[i], service);
    return n;
}

int32_t place_plan_devices(const struct place_plan *plan)
{
    int32_t n = 0;
    for (int32_t i = 0; i < plan->n_groups; i++)
        n += plan->groups[i].n_members > 0 ? plan->groups[i].n_devices : 0;
    return n;
}

double place_plan_cost(const struct place_plan *plan, const struct place_problem *problem)
{
    double cost = 0;
    for (int32_t i = 0; i < plan->n_groups; i++) {
        const struct place_group *group = &plan->groups[i];
        if (group->n_members > 0)
            cost += problem->kinds[place_group_kind(problem, group)].cost_per_hour *
                    (double)group->n_devices;
    }
    return cost;
}

struct bytes { /* as text: "12.3 GiB", "4.5 MiB" */
    char text[16];
};
static struct bytes said(int64_t n)
{
    struct bytes bytes;
    bool is_small = n < INT64_C(1) << 30;
    double x = (double)n * (is_small ? 0x1p-20 : 0x1p-30);
    snprintf(bytes.text, sizeof(bytes.text), "%.1f %s", x < 1e6 ? x : 1e6,
             is_small ? "MiB" : "GiB");
    return bytes;
}

/* Writes why a service has no group: no node is large enough, or others have the room. */
static void refuse(struct place_plan *plan, const struct place_problem *problem, int32_t service)
{
    const struct place_service *s = &problem->services[service];
    struct place_refusal *refusal = &plan->refused[plan->n_refused++];
    int64_t need = place_problem_model_bytes(problem, service), most = 0;
    int64_t floor_bytes = place_problem_floor_bytes(problem, service);
    *refusal = (struct place_refusal){ .service = service };
    for (int32_t i = 0; i < problem->n_nodes; i++) {
        int32_t n = PLACE_GROUP_MAX;
        while (n > problem->nodes[i].n_devices)
            n /= 2;
        most = max_i64(most, problem->kinds[problem->nodes[i].kind].memory_bytes * n);
    }
    if (s->base_degree == 0) {
        floor_bytes = max_i64(floor_bytes, (int64_t)(problem->limits.kv_floor * (double)most));
        snprintf(refusal->why, sizeof(refusal->why),
                 "%s of weights, %s of activations and at least %s of KV are more than the largest "
                 "group's %s",
                 said(s->size.weights_bytes).text, said(s->size.activation_bytes).text,
                 said(floor_bytes).text, said(most).text);
        return;
    }
    for (int32_t i = 0; i < plan->n_groups; i++) {
        const struct place_group *group = &plan->groups[i];
        int64_t room = place_group_kv_bytes(problem, group);
        most = i == 0 ? room : max_i64(most, room);
        if (place_group_takes(problem, group, service, PLACE_MEMBERS_MAX)) {
            snprintf(
                refusal->why, sizeof(refusal->why),
                "needs %s and KV: %d device%s of node %d have room, but with %d services already "
                "as many as this planner puts together",
                said(need).text, group->n_devices, group->n_devices == 1 ? "" : "s", group->node,
                group->n_members);
            return;
        }
    }
    snprintf(refusal->why, sizeof(refusal->why),
             "needs %s and KV on %d device%s: no group has room, as %.0f%% of its memory stay for "
             "KV (the emptiest has %s beside its models)",
             said(need).text, s->base_degree, s->base_degree > 1 ? "s" : "",
             100 * problem->limits.kv_floor, said(plan->n_groups > 0 ? most : 0).text);
}

static int by_device(const void *a, const void *b)
{
    const struct place_group *x = a, *y = b;
    return (x->first_device > y->first_device) - (x->first_device < y->first_device);
}

static int by_service(const void *a, const void *b)
{
    const struct place_member *x = a, *y = b;
    return (x->service > y->service) - (x->service < y->service);
}

void place_plan_finish(struct place_plan *plan, const struct place_problem *problem)
{
    int32_t n = 0;
    plan->n_refused = 0;
    for (int32_t i = 0; i < problem->n_services; i++)
        if (place_plan_copies(plan, i) == 0)
            refuse(plan, problem, i);
    for (int32_t i = 0; i < plan->n_groups; i++)
        if (plan->groups[i].n_members > 0)
            plan->groups[n++] = plan->groups[i];
    plan->n_groups = n;
    qsort(plan->groups, (size_t)n, sizeof(*plan->groups), by_device);
    for (int32_t i = 0; i < n; i++)
        qsort(plan->groups[i].members, (size_t)plan->groups[i].n_members,
              sizeof(*plan->groups[i].members), by_service);
}
