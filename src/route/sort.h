/* Sorts indices in place, without memory of its own: heap sort. */
#pragma once
#include "base/base.h"

typedef bool route_sort_is_before(const void *self, int32_t a, int32_t b);

static inline void route_sort_sift(int32_t *heap, int32_t at, int32_t n,
                                   route_sort_is_before *is_before, const void *self)
{
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_before(self, heap[child], heap[child + 1]))
            child++; /* the later one is on top; when taken off, it goes to the end */
        if (!is_before(self, heap[at], heap[child]))
            return;
        int32_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

/* Sorts n indices by a total order. */
static inline void route_sort(int32_t *order, int32_t n, route_sort_is_before *is_before,
                              const void *self)
{
    for (int32_t i = n / 2; i-- > 0;)
        route_sort_sift(order, i, n, is_before, self);
    while (n-- > 1) {
        int32_t last = order[0];
        order[0] = order[n];
        order[n] = last;
        route_sort_sift(order, 0, n, is_before, self);
    }
}
