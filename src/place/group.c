/* Groups of devices: members, memory, and what fits beside them. */
#include "place/plan.h"

bool place_group_has(const struct place_group *group, int32_t service)
{
    for (int32_t i = 0; i < group->n_members; i++)
        if (group->members[i].service == service)
            return true;
    return false;
}

static void drop_quotas(struct place_group *group)
{
    for (int32_t i = 0; i < group->n_members; i++)
        group->members[i].kv_bytes = 0;
}

void place_group_add(struct place_group *group, int32_t service)
{
    CHECK(group->n_members < PLACE_MEMBERS_MAX && !place_group_has(group, service));
    group->members[group->n_members++] =
        (struct place_member){ .service = service, .share_percent = 100 };
    drop_quotas(group);
}

void place_group_remove(struct place_group *group, int32_t service)
{
    int32_t n = 0;
    for (int32_t i = 0; i < group->n_members; i++)
        if (group->members[i].service != service)
            group->members[n++] = group->members[i];
    group->n_members = n;
    drop_quotas(group);
}

int32_t place_group_kind(const struct place_problem *problem, const struct place_group *group)
{
    return problem->nodes[group->node].kind;
}

int64_t place_group_memory(const struct place_problem *problem, const struct place_group *group)
{
    return problem->kinds[place_group_kind(problem, group)].memory_bytes * group->n_devices;
}

int64_t place_group_kv_bytes(const struct place_problem *problem, const struct place_group *group)
{
    int64_t bytes = place_group_memory(problem, group);
    for (int32_t i = 0; i < group->n_members; i++)
        bytes -= place_problem_model_bytes(problem, group->members[i].service);
    return bytes;
}

bool place_group_takes(const struct place_problem *problem, const struct place_group *group,
                       int32_t service, int32_t n_members_max)
{
    int64_t memory = place_group_memory(problem, group);
    int64_t floors = place_problem_floor_bytes(problem, service);
    if (group->n_members >= min_i32(n_members_max, PLACE_MEMBERS_MAX) ||
        place_group_has(group, service))
        return false;
    for (int32_t i = 0; i < group->n_members; i++)
        floors += place_problem_floor_bytes(problem, group->members[i].service);
    floors = max_i64(floors, (int64_t)(problem->limits.kv_floor * (double)memory));
    return place_group_kv_bytes(problem, group) - place_problem_model_bytes(problem, service) >=
           floors;
}
