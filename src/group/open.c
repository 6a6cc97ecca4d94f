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
    struct device_spec *rank = mem_take(sizeof *rank);
    for (int32_t i = 0; i < spec->n_ranks; i++) {
        device_rank(spec, i, rank);
        ranks[i] = cpu_open(rank, cpu_isa_best());
    }
    mem_give(rank);
    return spec->rank_layers[0] > 0
               ? group_open_chain(ranks, spec->rank_layers, spec->n_ranks, out, fault)
               : group_open(ranks, spec->n_ranks, out, fault);
}
