/* Finds the earliest wake: a complete binary tree of winners over an array of times. */
#include "sim/wakes.h"

#include "base/mem.h"
#include "base/time.h"

void sim_wakes_init(struct sim_wakes *wakes, uint32_t n)
{
    *wakes = (struct sim_wakes){ .n = n, .n_leaves = 1 };
    while (wakes->n_leaves < n)
        wakes->n_leaves *= 2;
    wakes->wake_ns = mem_take(wakes->n_leaves * sizeof(*wakes->wake_ns));
    wakes->winner = mem_take(2 * wakes->n_leaves * sizeof(*wakes->winner));
    for (uint32_t i = 0; i < wakes->n_leaves; i++) {
        wakes->wake_ns[i] = TIME_NEVER;
        wakes->winner[wakes->n_leaves + i] = i;
    }
    for (uint32_t i = wakes->n_leaves - 1; i > 0; i--)
        wakes->winner[i] = wakes->winner[2 * i];
}

void sim_wakes_free(struct sim_wakes *wakes)
{
    mem_give(wakes->wake_ns);
    mem_give(wakes->winner);
}

void sim_wakes_set(struct sim_wakes *wakes, uint32_t index, int64_t wake_ns)
{
    CHECK(index < wakes->n);
    if (wakes->wake_ns[index] == wake_ns)
        return;
    wakes->wake_ns[index] = wake_ns;
    for (uint32_t at = (wakes->n_leaves + index) / 2; at > 0; at /= 2) {
        uint32_t left = wakes->winner[2 * at], right = wakes->winner[2 * at + 1];
        uint32_t winner = wakes->wake_ns[left] <= wakes->wake_ns[right] ? left : right;
        if (winner == wakes->winner[at] && winner != index)
            return; /* the winner here is the same, and so is its time */
        wakes->winner[at] = winner;
    }
}
