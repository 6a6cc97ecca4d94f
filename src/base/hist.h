/* A log-linear histogram: two significant digits from 1 to 2^62, about 30 kB.
 *
 * Values are int64 (nanoseconds, tokens, bytes); each power of two is cut into 64 equal buckets
 * (error < 1.6%). */
#pragma once
#include "base/base.h"

#define HIST_N_BUCKETS 3712 /* 64 + 57 * 64 */

struct hist { /* all zeros: empty */
    uint64_t n;
    int64_t max;
    double sum;
    uint64_t buckets[HIST_N_BUCKETS];
};
void hist_init(struct hist *hist);
void hist_add(struct hist *hist, int64_t value); /* negative values count as 0 */
int64_t hist_quantile(
    const struct hist *hist,
    double q); /* upper edge of the bucket that holds it, at most max; 0 when empty */
double hist_mean(const struct hist *hist);
