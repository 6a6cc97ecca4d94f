/* When a request starves, reckoned from what happened to it alone: docs/POLICIES.md. */
#pragma once
#include "core/request.h"

struct residence {
    int64_t served_ns; /* it starves theta later */
    int32_t until;     /* tokens with which its residence ends; 0: it has none */
};
static inline void residence_begin(struct residence *own, const struct request *r)
{
    *own = (struct residence){ .served_ns = r->served_ns };
}
/* A batch that began at begun_ns gave it n_new tokens; starve_tokens: of a residence. */
static inline void residence_serve(struct residence *own, const struct request *r, int32_t n_new,
                                   int64_t begun_ns, int64_t theta_ns, int32_t starve_tokens)
{
    if (own->until == 0 && own->served_ns + theta_ns < begun_ns)
        own->until = r->n_tokens - n_new + starve_tokens;
    if (own->until <= r->n_tokens)
        *own = (struct residence){ .served_ns = r->served_ns };
    else if (r->n_tokens - r->n_computed == 1)
        own->served_ns = r->served_ns - theta_ns + theta_ns / starve_tokens;
}
