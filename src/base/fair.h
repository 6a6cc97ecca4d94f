/* The fair rule for a shared resource: a holder may have at most seven times what is free.
 *
 * A single holder gets 7/8 of the resource. The bound falls as others take. A holder keeps what it
 * has above the bound, but it gets no more. So k greedy holders converge to 7/(7k + 1) each as they
 * give back what they took first, and a newcomer always finds something free. (Dynamic thresholds:
 * Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998.) */
#pragma once
#include "base/base.h"

enum { FAIR_TIMES = 7 };
/* Returns how many more a holder of n_own may take when n_used of n_max are taken. A newcomer
 * (n_own = 0) may take the last one. */
static inline int64_t fair_room(int64_t n_own, int64_t n_used, int64_t n_max)
{
    int64_t n_free = n_max - n_used;
    int64_t n_least = n_own == 0 && n_free > 0;
    return max_i64((FAIR_TIMES * n_free - n_own) / (FAIR_TIMES + 1), n_least);
}
/* Returns the most that a single holder gets. */
static inline int64_t fair_most(int64_t n_max)
{
    return fair_room(0, 0, n_max);
}
