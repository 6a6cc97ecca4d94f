/* Layers to devices: one model cut into runs of layers over a chain of unlike devices, the planners
 * helr, he, lr, bgs and even-layers.
 *
 * A step passes through the parts in order: each costs its layers' time there, each border the link
 * from one device to the next, and, where the token drawn at the end is needed at the start, the
 * link back. Layers are equal; times are integer picoseconds.
 *
 * Source: UELLM, section 4.3 and Algorithm 2, as docs/ALGORITHMS.md section 5.3 corrects it: the
 * printed algorithm is no dynamic program. lr, he and helr are exact (place/layers_front.h says at
 * what cost); bgs and even-layers are the baselines of section 6.10. */
#pragma once
#include "place/layers_problem.h"

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
/* Is this a plan: every layer once, no device twice or over its memory, and step_ps its cost? */
enum status layers_check(const struct layers_problem *problem, const struct layers_plan *plan,
                         struct fault *fault) MUST_USE;

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
