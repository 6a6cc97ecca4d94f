/* K-means over pairs of lengths: makes services from one data set, as SeaLLM does. */
#pragma once
#include "workload/workload.h"

enum { WORKLOAD_KMEANS_MAX = 64 };

/* Assigns each of n pairs (n >= k >= 1, k <= WORKLOAD_KMEANS_MAX) to one of k clusters: cluster[i]
 * in [0, k), clusters in order of their mean prompt. Each length is scaled by its own deviation. It
 * is Lloyd's algorithm from the best of 8 seeded k-means++ starts (of 64 for at most 256 pairs).
 * Returns the sum of squared distances. A cluster may be empty only if there are fewer than k
 * different pairs. */
double workload_kmeans(const struct workload_pair *pairs, uint32_t n, uint32_t k, uint64_t seed,
                       uint32_t *cluster);
