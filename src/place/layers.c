/* Assigns layers to devices: the table of planners, the two baselines, and the check of a plan. */
#include "place/layers.h"

#include "place/helr.h"
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
    if (plan->step_ps != layers_problem_step_ps(problem, plan->parts, plan->n_parts))
        return fault_set(fault, STATUS_BAD_INPUT, "a step takes %lld ps, the plan has %lld",
                         (long long)layers_problem_step_ps(problem, plan->parts, plan->n_parts),
                         (long long)plan->step_ps);
    return STATUS_OK;
}

/* ---- The baselines. ---- */

/* Returns the unused device with the most room; the lower one among equals. */
static int32_t roomiest(const struct layers_problem *problem, const bool *is_used)
{
    int32_t best = -1;
    for (int32_t d = 0; d < problem->n_devices; d++)
        if (!is_used[d] &&
            (best < 0 || problem->devices[d].n_layers_max > problem->devices[best].n_layers_max))
            best = d;
    return best;
}

static void solve_bgs(const struct layers_problem *problem, struct layers_plan *plan)
{
    bool is_used[LAYERS_DEVICES_MAX] = { false };
    for (int32_t n_left = problem->n_layers; n_left > 0;) {
        int32_t d = roomiest(problem, is_used);
        int32_t n = min_i32(n_left, problem->devices[d].n_layers_max);
        plan->parts[plan->n_parts++] = (struct layers_part){ d, n };
        is_used[d] = true;
        n_left -= n;
    }
}

/* Does what Hugging Face's map does: ceil(layers / devices) each, in the order of devices. Layers
 * without room on their device go to the first one that has room. */
static void solve_even(const struct layers_problem *problem, struct layers_plan *plan)
{
    int32_t n_of[LAYERS_DEVICES_MAX] = { 0 }, n_left = problem->n_layers, n_devices = 0;
    for (int32_t d = 0; d < problem->n_devices; d++)
        n_devices += problem->devices[d].n_layers_max > 0;
    int32_t n_each = (problem->n_layers + n_devices - 1) / n_devices;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t d = 0; d < problem->n_devices; d++) {
            int32_t n_max = problem->devices[d].n_layers_max;
            int32_t n = min_i32(n_left, (pass == 0 ? min_i32(n_each, n_max) : n_max) - n_of[d]);
            n_of[d] += n;
            n_left -= n;
        }
    }
    for (int32_t d = 0; d < problem->n_devices; d++)
        if (n_of[d] > 0)
            plan->parts[plan->n_parts++] = (struct layers_part){ d, n_of[d] };
}

enum status layers_solve(const struct layers_problem *problem, enum layers_aim aim,
                         const struct layers_weights *weights, struct layers_plan *plan,
                         struct fault *fault)
{
    enum status status = layers_problem_check(problem, fault);
    *plan = (struct layers_plan){ .n_parts = 0 };
    if (status != STATUS_OK)
        return status;
    if (aim == LAYERS_BGS)
        solve_bgs(problem, plan);
    else if (aim == LAYERS_EVEN)
        solve_even(problem, plan);
    else
        status = helr_solve(problem, aim, weights, plan, fault);
    if (status != STATUS_OK)
        return status;
    plan->step_ps = layers_problem_step_ps(problem, plan->parts, plan->n_parts);
    VERIFY(layers_check(problem, plan, NULL) == STATUS_OK);
    return STATUS_OK;
}
