/* Suggests the name that was probably meant by an unknown one: "modles" is near "models". */
#pragma once
#include "base/base.h"

enum { NEAR_BYTES = 96 };
struct near {
    const char *written;
    const char *best; /* NULL: none is near */
    size_t n_edits;   /* of the best */
};
/* Tries one existing name. It is near if it becomes equal by at most one edit for every three
 * letters of what was written. An edit is a letter added, left out, changed or swapped with the
 * next. The same name is no suggestion, since it is right, but belongs elsewhere. */
void near_try(struct near *near, const char *name);
/* Returns ", did you mean models?"; an empty text when no name is near. */
const char *near_question(const struct near *near, char out[NEAR_BYTES]);
