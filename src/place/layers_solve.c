/* Assigns layers to devices by any of the planners: the two baselines here, the others in
 * place/helr.h. */
#include "place/helr.h"
#include "place/layers.h"

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
    enum status status = layers_check_problem(problem, fault);
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
    plan->step_ps = layers_step_ps(problem, plan->parts, plan->n_parts);
    VERIFY(layers_check(problem, plan, NULL) == STATUS_OK);
    return STATUS_OK;
}
