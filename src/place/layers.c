/* Assigns layers to devices: the table of planners, and the checks of a plan. */
#include "place/layers.h"

#include <string.h>

static const struct layers_planner planners[] = {
    { "helr", "step and number of devices, weighed 1 : 1 (UELLM)", LAYERS_HELR },
    { "he", "the fewest devices, among those the least step", LAYERS_HE },
    { "lr", "the least step", LAYERS_LR },
    { "bgs", "devices by free memory, each filled up", LAYERS_BGS },
    { "even-layers", "as many layers on every device", LAYERS_EVEN },
};

const struct layers_planner *layers_planners(int *n)
{
    *n = (int)COUNT_OF(planners);
    return planners;
}

const struct layers_planner *layers_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(planners); i++)
        if (strcmp(planners[i].name, name) == 0)
            return &planners[i];
    return NULL;
}

int32_t layers_holding(const struct layers_memory *memory)
{
    int64_t room = memory->device - memory->reserve;
    int64_t each = memory->layer + memory->kv_token * memory->n_tokens;
    if (room <= 0 || each <= 0)
        return 0;
    return (int32_t)min_i64(room / each, LAYERS_N_MAX);
}

int64_t layers_step_ps(const struct layers_problem *problem, const struct layers_part *parts,
                       int32_t n_parts)
{
    int64_t ps = 0;
    for (int32_t i = 0; i < n_parts; i++) {
        int32_t next = i + 1 < n_parts ? parts[i + 1].device : parts[0].device;
        bool has_link = i + 1 < n_parts || (problem->returns && n_parts > 1);
        ps += parts[i].n_layers * problem->devices[parts[i].device].layer_ps;
        ps += has_link ? problem->link_ps[parts[i].device * problem->n_devices + next] : 0;
    }
    return ps;
}

/* ---- Checks of a problem and of a plan. ---- */

enum { PS_MAX_SHIFT = 50 }; /* 2^50 ps are 19 minutes: sums of all layers and links fit 64 bits */

enum status layers_check_problem(const struct layers_problem *p, struct fault *fault)
{
    int64_t room = 0;
    if (p->n_devices < 1 || p->n_devices > LAYERS_DEVICES_MAX || p->n_layers < 1 ||
        p->n_layers > LAYERS_N_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "%d layers on %d devices: 1 to %d, 1 to %d",
                         p->n_layers, p->n_devices, LAYERS_N_MAX, LAYERS_DEVICES_MAX);
    for (int32_t d = 0; d < p->n_devices; d++) {
        if (p->devices[d].layer_ps < 0 || p->devices[d].layer_ps >> PS_MAX_SHIFT != 0 ||
            p->devices[d].n_layers_max < 0)
            return fault_set(fault, STATUS_BAD_INPUT, "device %d: a layer of %lld ps, room for %d",
                             d, (long long)p->devices[d].layer_ps, p->devices[d].n_layers_max);
        room += p->devices[d].n_layers_max;
    }
    for (int32_t i = 0; i < p->n_devices * p->n_devices; i++)
        if (p->link_ps[i] < 0 || p->link_ps[i] >> PS_MAX_SHIFT != 0)
            return fault_set(fault, STATUS_BAD_INPUT, "a link of %lld ps from device %d to %d",
                             (long long)p->link_ps[i], i / p->n_devices, i % p->n_devices);
    if (room < p->n_layers)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "%d layers do not fit: %d devices have room for %lld", p->n_layers,
                         p->n_devices, (long long)room);
    return STATUS_OK;
}

enum status layers_check(const struct layers_problem *problem, const struct layers_plan *plan,
                         struct fault *fault)
{
    bool is_used[LAYERS_DEVICES_MAX] = { false };
    int64_t n_layers = 0;
    if (plan->n_parts < 1 || plan->n_parts > problem->n_devices)
        return fault_set(fault, STATUS_BAD_INPUT, "%d parts on %d devices", plan->n_parts,
                         problem->n_devices);
    for (int32_t i = 0; i < plan->n_parts; i++) {
        const struct layers_part *part = &plan->parts[i];
        if (part->device < 0 || part->device >= problem->n_devices || is_used[part->device])
            return fault_set(fault, STATUS_BAD_INPUT, "part %d: device %d is none or used before",
                             i, part->device);
        if (part->n_layers < 1 || part->n_layers > problem->devices[part->device].n_layers_max)
            return fault_set(fault, STATUS_BAD_INPUT, "device %d has %d layers, room for %d",
                             part->device, part->n_layers,
                             problem->devices[part->device].n_layers_max);
        is_used[part->device] = true;
        n_layers += part->n_layers;
    }
    if (n_layers != problem->n_layers)
        return fault_set(fault, STATUS_BAD_INPUT, "%lld of %d layers are placed",
                         (long long)n_layers, problem->n_layers);
    if (plan->step_ps != layers_step_ps(problem, plan->parts, plan->n_parts))
        return fault_set(fault, STATUS_BAD_INPUT, "a step of %lld ps is said to last %lld",
                         (long long)layers_step_ps(problem, plan->parts, plan->n_parts),
                         (long long)plan->step_ps);
    return STATUS_OK;
}
