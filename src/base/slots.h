/* Slots with generations: a fixed table of records. A record's handle goes stale when its slot is
 * given back.
 *
 * A handle is generation << 20 | index (up to 2^20 slots); 0 is never a handle. */
#pragma once
#include "base/base.h"

struct slots {
    uint32_t *generation; /* per index; odd while taken */
    uint32_t *free;       /* a stack of free indices */
    uint32_t n_free, n_max;
};
void slots_init(struct slots *slots, uint32_t n_max);
void slots_free(struct slots *slots);
uint32_t slots_take(struct slots *slots);             /* a handle; 0 when none is left */
void slots_put(struct slots *slots, uint32_t handle); /* CHECKs that the handle is live */
bool slots_is_live(const struct slots *slots, uint32_t handle);
static inline uint32_t slots_index(uint32_t handle)
{
    return handle & 0xFFFFFu;
}
