/* Assigns layers to devices: one model is cut into runs of layers over a chain of unlike devices.
 * The planners are helr, he, lr, bgs and even-layers.
 *
 * A step passes through the parts in order. Each part costs its layers' time on its device, and
 * each border costs the link from one device to the next. If the token drawn at the end is needed
 * at the start, the link back is added.
 *
 * Layers are equal; times are integer picoseconds.
 *
 * Source: UELLM, section 4.3 and Algorithm 2, as docs/ALGORITHMS.md section 5.3 corrects it, since
 * the printed algorithm is no dynamic program. The planners lr, he and helr are exact
 * (place/layers_front.h gives the cost). The planners bgs and even-layers are the baselines of
 * section 6.10. */
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
struct layers_planner {
    const char *name, *summary;
    enum layers_aim aim;
};
const struct layers_planner *layers_planners(int *n);
const struct layers_planner *layers_find(const char *name); /* NULL: no planner has this name */

/* Makes the plan of this planner. Returns TOO_LARGE with the arithmetic when all devices together
 * are too small. Returns UNSUPPORTED when too many devices are unlike for an exact answer, and
 * BAD_INPUT for a problem that contradicts itself. weights: of helr; NULL is 1 : 1. */
enum status layers_solve(const struct layers_problem *problem, enum layers_aim aim,
                         const struct layers_weights *weights, struct layers_plan *plan,
                         struct fault *fault) MUST_USE;
/* STATUS_OK, or what is wrong with the problem in a sentence. */
enum status layers_check_problem(const struct layers_problem *problem,
                                 struct fault *fault) MUST_USE;
/* Checks a plan: it must hold every layer once, use no device twice or beyond its memory, and have
 * the right step_ps. */
enum status layers_check(const struct layers_problem *problem, const struct layers_plan *plan,
                         struct fault *fault) MUST_USE;
/* Returns the time of a plan's step: its parts and links. */
int64_t layers_step_ps(const struct layers_problem *problem, const struct layers_part *parts,
                       int32_t n_parts);

/* ---- Figures of a device. ---- */

struct layers_memory { /* bytes */
    int64_t device,
        reserve; /* part of it for other things than layers: embeddings, activations, the driver */
    int64_t layer;    /* weights of one */
    int64_t kv_token; /* K and V of one token in one layer */
    int64_t n_tokens; /* tokens of KV that each layer reserves room for: T of the paper */
};
/* Returns how many layers fit, each with the KV that it will need. */
int32_t layers_holding(const struct layers_memory *memory);
