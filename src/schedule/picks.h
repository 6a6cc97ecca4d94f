/* Chooses the service to try first: a heap of what services offer, with the first on top. If the
 * first can't be served the next is tried, so a heap is cheaper than a full sort. */
#pragma once
#include "schedule/policy.h"
#include <string.h>

struct schedule_pick { /* the least comes first: by priority, then key, then tie */
    int64_t key;
    uint64_t tie;
    uint32_t slot;
    uint16_t service;
    int16_t priority;
    unsigned parts;
};
/* Returns a number as a key, with the same order and equality. NaN is not allowed. */
static inline int64_t schedule_pick_key(double x)
{
    int64_t bits;
    double plain = x + 0.0; /* -0 is 0 */
    memcpy(&bits, &plain, sizeof(bits));
    return bits < 0 ? bits ^ INT64_MAX : bits;
}
static inline bool schedule_pick_is_before(const struct schedule_pick *a,
                                           const struct schedule_pick *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}
static inline void schedule_picks_sink(struct schedule_pick *picks, int n, int i)
{
    struct schedule_pick pick = picks[i];
    for (int child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && schedule_pick_is_before(&picks[child + 1], &picks[child]))
            child++;
        if (!schedule_pick_is_before(&picks[child], &pick))
            break;
        picks[i] = picks[child];
        i = child;
    }
    picks[i] = pick;
}
static inline void schedule_picks_order(struct schedule_pick *picks, int n)
{
    for (int i = n / 2 - 1; i >= 0; i--)
        schedule_picks_sink(picks, n, i);
}
/* The first goes: n - 1 are left. */
static inline void schedule_picks_drop(struct schedule_pick *picks, int n)
{
    picks[0] = picks[n - 1];
    schedule_picks_sink(picks, n - 1, 0);
}
