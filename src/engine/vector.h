/* The vector of a text, while it is computed: a sum over rows of its hidden state.
 *
 * It lies in the request's body (bodies.h). The executor adds to it, and the engine counts the
 * positions at the commit. It outlives a preemption, so a row that is computed again is not added
 * again. Positions are added upwards, so its bits do not depend on chunks. */
#pragma once
#include "base/base.h"

enum { ENGINE_VECTOR_SAID_MAX = 1024 }; /* floats of one event */

struct engine_vector {
    int32_t n;       /* floats */
    int32_t n_known; /* positions [0, n_known) are done */
    int32_t n_said;  /* floats that were sent */
    int32_t unused;
    float sum[];
};
/* Returns the bytes for n floats; 0 for none. */
static inline int64_t engine_vector_bytes(int32_t n)
{
    return n > 0 ? (int64_t)sizeof(struct engine_vector) + n * (int64_t)sizeof(float) : 0;
}
