/* The tournament over engines. */
#include "route/pick.h"

#include <string.h>

static int32_t leaves_of(int32_t n)
{
    int32_t n_leaves = 1;
    while (n_leaves < n)
        n_leaves *= 2;
    return n_leaves;
}

size_t route_pick_bytes(int32_t n_engines, int32_t n_services)
{
    size_t n = (size_t)leaves_of(n_engines), n_words = (size_t)set_n_words(n_services);
    return n * sizeof(int64_t) + 2 * n * n_words * sizeof(uint64_t) + 2 * n * sizeof(uint32_t);
}

void route_pick_init(struct route_pick *pick, int32_t n_engines, int32_t n_services, void *memory)
{
    int32_t n = leaves_of(n_engines);
    pick->n = n_engines;
    pick->n_leaves = n;
    pick->n_services = n_services;
    pick->n_words = set_n_words(n_services);
    pick->loads = memory;
    pick->sets = (void *)(pick->loads + n);
    pick->winners = (void *)(pick->sets + (ptrdiff_t)2 * n * pick->n_words);
    memset(pick->sets, 0, (size_t)(2 * n * pick->n_words) * sizeof(*pick->sets));
    for (int32_t i = 0; i < n; i++) {
        pick->loads[i] = 0;
        pick->winners[n + i] = (uint32_t)i;
    }
    for (int32_t i = n - 1; i > 0; i--)
        pick->winners[i] = pick->winners[2 * i];
}

/* Makes a node's set the union of its two children's; has: whether the left and the right have any.
 * Returns true when it changed. */
static bool join(struct route_pick *pick, int32_t at, bool has[2])
{
    int32_t n = pick->n_words;
    uint64_t *set = &pick->sets[at * n], *both = &pick->sets[2 * at * n];
    uint64_t left = 0, right = 0, change = 0;
    for (int32_t w = 0; w < n; w++) {
        uint64_t word = both[w] | both[n + w];
        left |= both[w];
        right |= both[n + w];
        change |= set[w] ^ word;
        set[w] = word;
    }
    has[0] = left != 0;
    has[1] = right != 0;
    return change != 0;
}

void route_pick_set(struct route_pick *pick, int32_t engine, const struct set *services,
                    int64_t load)
{
    int32_t at = pick->n_leaves + engine;
    CHECK(engine >= 0 && engine < pick->n);
    pick->loads[engine] = load;
    memcpy(&pick->sets[at * pick->n_words], services->words,
           (size_t)pick->n_words * sizeof(*pick->sets));
    for (at /= 2; at > 0; at /= 2) {
        uint32_t left = pick->winners[2 * at], right = pick->winners[2 * at + 1];
        bool has[2], is_changed = join(pick, at, has);
        bool is_left = !has[1] || (has[0] && pick->loads[left] <= pick->loads[right]);
        uint32_t winner = is_left ? left : right;
        if (!is_changed && pick->winners[at] == winner && winner != (uint32_t)engine)
            return; /* nothing that is seen from above has changed */
        pick->winners[at] = winner;
    }
}

/* Inserts an engine into the n best so far. Returns how many there are then. */
static int32_t insert(const struct route_pick *pick, int32_t engine, int32_t n, int32_t n_max,
                      int32_t *engines)
{
    int32_t at = n < n_max ? n : n_max - 1;
    for (; at > 0 && pick->loads[engines[at - 1]] > pick->loads[engine]; at--)
        engines[at] = engines[at - 1];
    engines[at] = engine;
    return min_i32(n + 1, n_max);
}

/* The left goes before the right, and only a strictly lower load replaces the last of a full list,
 * so that ties go to the lower number. If a subtree's winner serves the service, and only one
 * engine is wanted, the winner settles the subtree. */
int32_t route_pick_some(const struct route_pick *pick, int service, int32_t n_max, int32_t *engines)
{
    int32_t stack[64], n_stack = 0, n = 0;
    stack[n_stack++] = 1;
    while (n_stack > 0) {
        int32_t at = stack[--n_stack];
        int32_t winner = (int32_t)pick->winners[at];
        if (!route_pick_has(pick, at, service))
            continue;
        if (n == n_max && pick->loads[winner] >= pick->loads[engines[n - 1]])
            continue;
        bool is_settled = n_max == 1 && route_pick_takes(pick, winner, service);
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
