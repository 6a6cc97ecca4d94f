/* How fast tokens come to a request: the longest time that some number of them took. */
#pragma once
#include "base/base.h"

enum { PROGRESS_TOKENS = 16 };

struct progress {
    int64_t at_ns[PROGRESS_TOKENS + 1]; /* when it came, and then when each token did: the last */
    int64_t n;                          /* of these times, in all; 0: it has not come */
    int64_t longest_ns;
};
static inline void progress_note(struct progress *p, int64_t now_ns)
{
    p->at_ns[p->n++ % (PROGRESS_TOKENS + 1)] = now_ns;
}
/* Looks at the time since PROGRESS_TOKENS tokens ago, or since it came when it has fewer. To be
 * called before tokens are noted, and when the request ends. */
static inline void progress_look(struct progress *p, int64_t now_ns)
{
    int64_t back = p->n > PROGRESS_TOKENS ? p->n - PROGRESS_TOKENS : 0;
    if (p->n > 0)
        p->longest_ns = max_i64(p->longest_ns, now_ns - p->at_ns[back % (PROGRESS_TOKENS + 1)]);
}
