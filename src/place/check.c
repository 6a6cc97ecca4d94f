/* The promises of plan.h, one by one. */
#include "place/check.h"

static enum status check_group(const struct place_problem *problem, const struct place_group *group,
                               int32_t n_members_max, struct fault *fault)
{
    int32_t last = group->first_device + group->n_devices - 1;
    if (place_degree_index(group->n_devices) < 0 || group->first_device < 0 ||
        last >= problem->n_devices || group->node < 0 || group->node >= problem->n_nodes)
        return fault_set(fault, STATUS_BAD_INPUT, "devices %d to %d are no group",
                         group->first_device, last);
    const struct place_node *node = &problem->nodes[group->node];
    if (group->first_device < node->first_device || last >= node->first_device + node->n_devices ||
        (group->first_device - node->first_device) % group->n_devices != 0)
        return fault_set(fault, STATUS_BAD_INPUT, "devices %d to %d are not aligned in node %d",
                         group->first_device, last, group->node);
    if (group->n_members < 1 || group->n_members > n_members_max)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "the group at device %d has %d services, not 1 "
                         "to %d",
                         group->first_device, group->n_members, n_members_max);
    struct place_group built = *group;
    built.n_members = 0;
    for (int32_t i = 0; i < group->n_members; i++) {
        const struct place_member *m = &group->members[i];
        if (m->service < 0 || m->service >= problem->n_services ||
            place_group_has(&built, m->service) || m->share_percent < 1 || m->share_percent > 100 ||
            m->kv_bytes < 0)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "the group at device %d: its member %d is "
                             "wrong",
                             group->first_device, i);
        if (!place_group_takes(problem, &built, m->service, n_members_max))
            return fault_set(fault, STATUS_TOO_LARGE,
                             "the group at device %d has no room for %.60s with its KV floor",
                             group->first_device, problem->services[m->service].name);
        place_group_add(&built, m->service);
    }
    return STATUS_OK;
}

static enum status check_quotas(const struct place_problem *problem,
                                const struct place_group *group, struct fault *fault)
{
    int64_t quotas = 0, pool = place_group_kv_bytes(problem, group);
    for (int32_t i = 0; i < group->n_members; i++)
        quotas += group->members[i].kv_bytes;
    if (quotas > pool)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "the group at device %d promises %.1f GiB of KV and has %.1f",
                         group->first_device, (double)quotas * 0x1p-30, (double)pool * 0x1p-30);
    return STATUS_OK;
}

enum status place_check(const struct place_problem *problem, const struct place_plan *plan,
                        int32_t n_members_max, struct fault *fault)
{
    int32_t most = n_members_max > 0 ? n_members_max : PLACE_MEMBERS_MAX;
    int32_t free_from = 0;
    for (int32_t i = 0; i < plan->n_groups; i++) {
        const struct place_group *group = &plan->groups[i];
        enum status status = check_group(problem, group, most, fault);
        if (status == STATUS_OK)
            status = check_quotas(problem, group, fault);
        if (status != STATUS_OK)
            return status;
        if (group->first_device < free_from)
            return fault_set(fault, STATUS_BAD_INPUT, "device %d is in two groups",
                             group->first_device);
        free_from = group->first_device + group->n_devices;
    }
    for (int32_t s = 0, r = 0; s < problem->n_services; s++) {
        bool is_refused = r < plan->n_refused && plan->refused[r].service == s;
        if (is_refused == (place_plan_copies(plan, s) > 0))
            return fault_set(fault, STATUS_BAD_INPUT, "service %.60s is %s",
                             problem->services[s].name,
                             is_refused ? "placed and refused" : "neither placed nor refused");
        if (is_refused && plan->refused[r].why[0] == '\0')
            return fault_set(fault, STATUS_BAD_INPUT, "service %.60s is refused without a reason",
                             problem->services[s].name);
        r += is_refused;
    }
    return STATUS_OK;
}
