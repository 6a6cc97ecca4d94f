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
    if (group->division < 0 || group->division >= PLACE_DIVISIONS ||
        (group->division != PLACE_DIVISION_USUAL && !problem->limits.may_divide))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "the group at device %d is divided in a way (%d) that %s",
                         group->first_device, group->division,
                         problem->limits.may_divide ? "there is not" : "engines here have not");
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

enum status place_check_score(const struct place_problem *problem, const struct place_plan *plan,
                              int32_t n_requests, const struct place_score *score,
                              struct fault *fault)
{
    double percent = 100 * problem->limits.attainment;
    int64_t n = 0, n_in_time = 0;
    int32_t n_placed = 0, n_met = 0;
    for (int32_t s = 0; s < problem->n_services; s++) {
        const struct place_service_score *own = &score->services[s];
        bool is_placed = place_plan_copies(plan, s) > 0;
        if (own->n_met < 0 || own->n_met > own->n || (!is_placed && own->n_met > 0))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "service %.60s, %s: %lld of %lld requests in time",
                             problem->services[s].name, is_placed ? "placed" : "not placed",
                             (long long)own->n_met, (long long)own->n);
        n += own->n;
        n_in_time += own->n_met;
        n_placed += is_placed;
        n_met += (double)own->n_met >= problem->limits.attainment * (double)own->n;
    }
    if (n != n_requests)
        return fault_set(fault, STATUS_BAD_INPUT, "services have %lld of %d requests", (long long)n,
                         n_requests);
    if (score->n_placed != n_placed || score->n_met != n_met)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%d services are placed and %d reach %.0f%%, the score has %d and %d",
                         n_placed, n_met, percent, score->n_placed, score->n_met);
    if ((score->reached >= 1) != (n_met == problem->n_services))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%d of %d services reach %.0f%%, the score has %.4f of the way", n_met,
                         problem->n_services, percent, score->reached);
    double off = n > 0 ? score->attainment - (double)n_in_time / (double)n : 0;
    if (off < -1e-9 || off > 1e-9)
        return fault_set(fault, STATUS_BAD_INPUT, "%lld of %lld requests in time, not %.4f%%",
                         (long long)n_in_time, (long long)n, 100 * score->attainment);
    return STATUS_OK;
}
