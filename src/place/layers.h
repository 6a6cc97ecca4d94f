/* Layers to devices: one model cut into runs of layers over a chain of unlike devices, the planners
 * helr, he, lr, bgs and even-layers.
 *
 * A step passes through the parts in order: each costs its layers' time there, each border the link
 * from one device to the next, and, where the token drawn at the end is needed at the start, the
 * link back. Layers are equal; times are integer picoseconds.
 *
 * Source: UELLM, section 4.3 and Algorithm 2, as ALGORITHMS.md section 5.3 corrects it: the printed
 * algorithm is no dynamic program. lr, he and helr are exact (place/layers_front.h says at what
 * cost); bgs and even-layers are the baselines of section 6.10. */
#pragma once
#include "base/status.h"
#include "core/limits.h"

enum { LAYERS_DEVICES_MAX = 256, LAYERS_N_MAX = 2 * LIMIT_LAYERS };

struct layers_device {
    int64_t layer_ps;     /* one layer of one step on it: >= 0 */
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
    int64_t n_states; /* that the search kept: what the answer cost; 0 for the baselines */
};
/* What helr weighs: latency * step / (least step) + devices * parts / (fewest parts). */
struct layers_weights {
    double latency, devices;
};
enum layers_aim { LAYERS_HELR, LAYERS_HE, LAYERS_LR, LAYERS_BGS, LAYERS_EVEN };
struct layers_planner {
    const char *name, *summary;
    enum layers_aim aim;
};
const struct layers_planner *layers_planners(int *n);
const struct layers_planner *layers_find(const char *name); /* NULL: there is none */

/* The plan of this planner. TOO_LARGE with the arithmetic when all devices together are too small,
 * UNSUPPORTED when too many devices are unlike for an exact answer, BAD_INPUT for a problem that
 * contradicts itself. weights: of helr; NULL is 1 : 1. */
enum status layers_solve(const struct layers_problem *problem, enum layers_aim aim,
                         const struct layers_weights *weights, struct layers_plan *plan,
                         struct fault *fault) MUST_USE;
/* STATUS_OK, or what is wrong with the problem in a sentence. */
enum status layers_check_problem(const struct layers_problem *problem,
                                 struct fault *fault) MUST_USE;
/* Is this a plan: every layer once, no device twice or over its memory, and step_ps its cost? */
enum status layers_check(const struct layers_problem *problem, const struct layers_plan *plan,
                         struct fault *fault) MUST_USE;
/* The step of a plan: its parts and links. */
int64_t layers_step_ps(const struct layers_problem *problem, const struct layers_part *parts,
                       int32_t n_parts);

/* ---- Where the figures of a device come from. ---- */

struct layers_memory { /* bytes */
    int64_t device,
        reserve;      /* of it; what is not for layers: embeddings, activations, the driver */
    int64_t layer;    /* weights of one */
    int64_t kv_token; /* K and V of one token in one layer */
    int64_t n_tokens; /* of KV that each layer reserves room for: T of the paper */
};
/* Layers that fit with the KV that each of them will need. */
int32_t layers_holding(const struct layers_memory *memory);
