/* Runs of layers on a chain of devices: the problem, and what a plan of it is. Source: see
 * place/layers.h. */
#pragma once
#include "base/status.h"
#include "core/limits.h"

enum { LAYERS_DEVICES_MAX = 256, LAYERS_N_MAX = 2 * LIMIT_LAYERS };

struct layers_device {
    int64_t layer_ps;     /* time of one layer in one step on it: >= 0 */
    int32_t n_layers_max; /* that its memory holds (layers_holding): >= 0 */
};
struct layers_problem {
    int32_t n_devices, n_layers;
    const struct layers_device *devices; /* (n_devices) */
    const int64_t *link_ps;              /* (n_devices, n_devices): from, to; >= 0 */
    bool returns; /* every step ends with the link from the last part to the first */
};
struct layers_part {
    int32_t device, n_layers;
};
struct layers_plan {
    int32_t n_parts;
    struct layers_part parts[LAYERS_DEVICES_MAX]; /* in the order of the step */
    int64_t step_ps;
    int64_t n_states; /* states that the search kept, as its cost; 0 for the baselines */
};
/* The weights of helr's score: latency * step / (least step) + devices * parts / (fewest parts). */
struct layers_weights {
    double latency, devices;
};
enum layers_aim { LAYERS_HELR, LAYERS_HE, LAYERS_LR, LAYERS_BGS, LAYERS_EVEN };
/* BAD_INPUT: it contradicts itself; TOO_LARGE: all devices together are too small. */
enum status layers_problem_check(const struct layers_problem *problem,
                                 struct fault *fault) MUST_USE;
/* Returns the time of a plan's step: its parts and links. */
int64_t layers_problem_step_ps(const struct layers_problem *problem,
                               const struct layers_part *parts, int32_t n_parts);
