/* The log-linear histogram: 64 exact buckets, then 64 for each power of two. */
#include "base/hist.h"

#define HIST_BITS 6 /* buckets per power of two: 2^6 */

void hist_init(struct hist *hist)
{
    *hist = (struct hist){ .n = 0 };
}

static uint32_t index_of(int64_t value)
{
    uint64_t v = (uint64_t)value;
    if (v < 1u << HIST_BITS)
        return (uint32_t)v;
    uint32_t shift = (uint32_t)(63 - __builtin_clzll(v)) - HIST_BITS;
    return (shift << HIST_BITS) + (uint32_t)(v >> shift);
}

/* The largest value that falls into the bucket. */
static int64_t upper_edge(uint32_t index)
{
    if (index < 2u << HIST_BITS)
        return index;
    uint32_t shift = (index >> HIST_BITS) - 1;
    uint64_t start = (uint64_t)((index & ((1u << HIST_BITS) - 1)) + (1u << HIST_BITS)) << shift;
    return (int64_t)(start + ((uint64_t)1 << shift) - 1);
}

void hist_add(struct hist *hist, int64_t value)
{
    value = max_i64(value, 0);
    hist->n++;
    hist->sum += (double)value;
    hist->max = max_i64(hist->max, value);
    hist->buckets[index_of(value)]++;
}

int64_t hist_quantile(const struct hist *hist, double q)
{
    if (hist->n == 0)
        return 0;
    double exact = q * (double)hist->n;
    uint64_t rank = !(exact > 1) ? 1 : exact >= (double)hist->n ? hist->n : (uint64_t)exact;
    if (rank < hist->n && (double)rank < exact)
        rank++;
    uint64_t n = 0;
    for (uint32_t i = 0; i < HIST_N_BUCKETS; i++) {
        n += hist->buckets[i];
        if (n >= rank)
            return min_i64(upper_edge(i), hist->max);
    }
    return hist->max;
}

double hist_mean(const struct hist *hist)
{
    return hist->n == 0 ? 0 : hist->sum / (double)hist->n;
}
