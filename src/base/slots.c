/* Slots with generations: handles that go stale when their slot is given back. */
#include "base/slots.h"
#include "base/mem.h"

#define SLOTS_INDEX_BITS      20
#define SLOTS_GENERATION_MASK 0xFFFu /* what of the generation fits into a handle */

void slots_init(struct slots *slots, uint32_t n_max)
{
    CHECK(n_max <= 1u << SLOTS_INDEX_BITS);
    *slots = (struct slots){ .n_max = n_max, .n_free = n_max };
    slots->generation = mem_take(n_max * sizeof(*slots->generation));
    slots->free = mem_take(n_max * sizeof(*slots->free));
    for (uint32_t i = 0; i < n_max; i++)
        slots->free[i] = n_max - 1 - i; /* low indices leave first */
}

void slots_free(struct slots *slots)
{
    mem_give(slots->generation);
    mem_give(slots->free);
    *slots = (struct slots){ 0 };
}

uint32_t slots_take(struct slots *slots)
{
    if (slots->n_free == 0)
        return 0;
    uint32_t index = slots->free[--slots->n_free];
    uint32_t generation = ++slots->generation[index]; /* odd from now on */
    return (generation & SLOTS_GENERATION_MASK) << SLOTS_INDEX_BITS | index;
}

bool slots_is_live(const struct slots *slots, uint32_t handle)
{
    uint32_t index = slots_index(handle);
    if (index >= slots->n_max)
        return false;
    uint32_t generation = slots->generation[index];
    return generation % 2 == 1 &&
           (generation & SLOTS_GENERATION_MASK) == handle >> SLOTS_INDEX_BITS;
}

void slots_put(struct slots *slots, uint32_t handle)
{
    CHECK(slots_is_live(slots, handle));
    slots->generation[slots_index(handle)]++;
    slots->free[slots->n_free++] = slots_index(handle);
}
