/* Opens what a user calls a device. */
#include "group/group.h"

#include "base/mem.h"
#include "cpu/cpu.h"

enum status group_open_cpu(const struct device_spec *spec, struct compute_device **out,
                           struct fault *fault)
{
    struct compute_device *ranks[DEVICE_RANKS_MAX];
    if (spec->n_ranks == 0) {
        *out = cpu_open(spec, cpu_isa_best());
        return STATUS_OK;
    }
    if (spec->rank_layers[0] > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "a group can't run layers on each device one after the other: leave out "
                         "the numbers of layers, and each device has a part of every layer");
    struct device_spec *rank = mem_take(sizeof *rank);
    for (int32_t i = 0; i < spec->n_ranks; i++) {
        device_rank(spec, i, rank);
        ranks[i] = cpu_open(rank, cpu_isa_best());
    }
    mem_give(rank);
    return group_open(ranks, spec->n_ranks, out, fault);
}
