/* The rule by which those who share something leave each other room: none may hold more than seven
 * times what is free.
 *
 * Alone, a holder gets 7/8 of everything. The bound falls as others take; what a holder has above
 * it is not taken away, but not added to either. So k greedy ones come to 7/(7k + 1) each as what
 * they took first is given back, and some always stays free for a newcomer. (Dynamic thresholds:
 * Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998.)
 */
#pragma once
#include "base/base.h"

enum { FAIR_TIMES = 7 };
/* How many more a holder of n_own may take when n_used of n_max are taken. A newcomer may take the
 * last one. */
static inline int64_t fair_room(int64_t n_own, int64_t n_used, int64_t n_max)
{
    int64_t n_free = n_max - n_used;
    int64_t n_least = n_own == 0 && n_free > 0;
    return max_i64((FAIR_TIMES * n_free - n_own) / (FAIR_TIMES + 1), n_least);
}
/* The most that one who is alone gets. */
static inline int64_t fair_most(int64_t n_max)
{
    return fair_room(0, 0, n_max);
}
