/* Refuses shapes by name. */
#include "compute/shapes.h"

enum status compute_shapes_check(const struct compute_shapes *shapes, const char *device,
                                 struct compute_shapes_known known, struct fault *fault)
{
    const struct {
        bool is_there;
        const char *name;
    } all[] = {
        { shapes->experts.n_experts > 0 && !known.has_experts, "routed experts" },
        { shapes->n_kv_groups > 0, "layers with unlike caches" },
        { shapes->has_sinks && !known.has_experts, "attention with sinks" },
        { shapes->has_caps && !known.has_experts, "soft caps of scores or logits" },
        { shapes->has_clamped_gates && !known.has_experts, "clamped gates" },
        { shapes->has_latents && !known.has_experts, "latent attention (MLA)" },
        { shapes->n_adapters > 0, "LoRA adapters" },
        { shapes->output == COMPUTE_OUTPUT_VECTORS && !known.has_vectors,
          "encoders (vectors of texts): use the CPU for this model" },
        { shapes->sums_over_ranks && !known.has_ranks, "sums over several ranks" },
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i].is_there)
            return fault_set(fault, STATUS_UNSUPPORTED, "the device %s does not compute %s", device,
                             all[i].name);
    return STATUS_OK;
}

bool compute_shapes_are_plain(const struct compute_pass_shapes *shapes)
{
    return shapes->adapters == NULL && shapes->n_taps == 0 && shapes->first_op == 0 &&
           shapes->last_op == 0 && shapes->in.memory == NULL && shapes->out.memory == NULL;
}
