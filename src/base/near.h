/* The name that was probably meant by one that nobody has: "modles" is near "models". */
#pragma once
#include "base/base.h"

enum { NEAR_BYTES = 96 };
struct near {
    const char *written;
    const char *best; /* NULL: none is near */
    size_t n_edits;   /* of the best */
};
/* Hears of a name that there is. Near is what a letter added, left out, changed or swapped with its
 * neighbour makes equal, for every three letters; the name itself is right, but elsewhere. */
void near_try(struct near *near, const char *name);
/* ", did you mean models?"; empty when none is near. */
const char *near_question(const struct near *near, char out[NEAR_BYTES]);
