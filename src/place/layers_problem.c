/* Checks a problem, and computes the cost of a plan. See layers_problem.h. */
#include "place/layers_problem.h"

int64_t layers_problem_step_ps(const struct layers_problem *problem,
                               const struct layers_part *parts, int32_t n_parts)
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

enum { PS_MAX_SHIFT = 50 }; /* 2^50 ps are 19 minutes: sums of all layers and links fit 64 bits */

enum status layers_problem_check(const struct layers_problem *p, struct fault *fault)
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
