/* The tournament over engines. */
#include "route/pick.h"

static int32_t leaves_of(int32_t n)
{
    int32_t n_leaves = 1;
    while (n_leaves < n)
        n_leaves *= 2;
    return n_leaves;
}

size_t route_pick_bytes(int32_t n_engines)
{
    size_t n = (size_t)leaves_of(n_engines);
    return n * sizeof(int64_t) + 2 * n * sizeof(uint64_t) + 2 * n * sizeof(uint32_t);
}

void route_pick_init(struct route_pick *pick, int32_t n_engines, void *memory)
{
    int32_t n = leaves_of(n_engines);
    pick->n = n_engines;
    pick->n_leaves = n;
    pick->loads = memory;
    pick->masks = (void *)(pick->loads + n);
    pick->winners = (void *)(pick->masks + 2 * n);
    for (int32_t i = 0; i < n; i++) {
        pick->loads[i] = 0;
        pick->masks[n + i] = 0;
        pick->winners[n + i] = (uint32_t)i;
    }
    for (int32_t i = n - 1; i > 0; i--) {
        pick->masks[i] = 0;
        pick->winners[i] = pick->winners[2 * i];
    }
}

void route_pick_set(struct route_pick *pick, int32_t engine, uint64_t mask, int64_t load)
{
    int32_t at = pick->n_leaves + engine;
    CHECK(engine >= 0 && engine < pick->n);
    pick->loads[engine] = load;
    pick->masks[at] = mask;
    for (at /= 2; at > 0; at /= 2) {
        uint64_t left_mask = pick->masks[2 * at], right_mask = pick->masks[2 * at + 1];
        uint32_t left = pick->winners[2 * at], right = pick->winners[2 * at + 1];
        bool is_left =
            right_mask == 0 || (left_mask != 0 && pick->loads[left] <= pick->loads[right]);
        uint32_t winner = is_left ? left : right;
        if (pick->masks[at] == (left_mask | right_mask) && pick->winners[at] == winner &&
            winner != (uint32_t)engine)
            return; /* nothing that is seen from above has changed */
        pick->masks[at] = left_mask | right_mask;
        pick->winners[at] = winner;
    }
}

/* Puts an engine into the n best so far. Returns how many there are then. */
static int32_t insert(const struct route_pick *pick, int32_t engine, int32_t n, int32_t n_max,
                      int32_t *engines)
{
    int32_t at = n < n_max ? n : n_max - 1;
    for (; at > 0 && pick->loads[engines[at - 1]] > pick->loads[engine]; at--)
        engines[at] = engines[at - 1];
    engines[at] = engine;
    return min_i32(n + 1, n_max);
}

/* Left before right, and only what is strictly less than the last of a full list replaces it: so
 * ties go to the lower number. A subtree whose winner itself serves and that alone is looked for is
 * settled by it. */
int32_t route_pick_some(const struct route_pick *pick, int service, int32_t n_max, int32_t *engines)
{
    int32_t stack[64], n_stack = 0, n = 0;
    uint64_t bit = UINT64_C(1) << service;
    stack[n_stack++] = 1;
    while (n_stack > 0) {
        int32_t at = stack[--n_stack];
        int32_t winner = (int32_t)pick->winners[at];
        if (!(pick->masks[at] & bit))
            continue;
        if (n == n_max && pick->loads[winner] >= pick->loads[engines[n - 1]])
            continue;
        bool is_settled = n_max == 1 && (pick->masks[pick->n_leaves + winner] & bit);
        if (at >= pick->n_leaves || is_settled) {
            n = insert(pick, winner, n, n_max, engines);
            continue;
        }
        stack[n_stack++] = 2 * at + 1;
        stack[n_stack++] = 2 * at;
    }
    return n;
}

int32_t route_pick_first(const struct route_pick *pick, int service)
{
    int32_t engine;
    return route_pick_some(pick, service, 1, &engine) > 0 ? engine : -1;
}
