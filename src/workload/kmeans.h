/* K-means over pairs of lengths: services out of one data set, as SeaLLM makes them. */
#pragma once
#include "workload/workload.h"

enum { WORKLOAD_KMEANS_MAX = 64 };

/* Assigns each of n pairs (n >= k >= 1, k <= WORKLOAD_KMEANS_MAX) to one of k clusters: cluster[i]
 * in [0, k), clusters in order of their mean prompt. Both lengths count in their own deviations.
 * Lloyd's algorithm from the best of 8 seeded k-means++ beginnings (of 64 where there are at most
 * 256 pairs). Returns the sum of squared distances; a cluster may be empty only where there are
 * fewer than k different pairs. */
double workload_kmeans(const struct workload_pair *pairs, uint32_t n, uint32_t k, uint64_t seed,
                       uint32_t *cluster);
