/* Which devices are still free, and groups cut from them one by one: aligned to their size, out of
 * the smallest hole that holds them, so that large groups stay possible. */
#pragma once
#include "place/plan.h"

struct place_cut {
    const struct place_problem *problem;
    bool *is_taken; /* (n_devices) */
};
void place_cut_init(struct place_cut *cut, const struct place_problem *problem, struct pile *pile);
/* Takes n devices on which the service fits alone; -1: there are none. service -1: any devices. */
int32_t place_cut_take(struct place_cut *cut, int32_t n_devices, int32_t service);
void place_cut_put(struct place_cut *cut, int32_t first_device, int32_t n_devices);
