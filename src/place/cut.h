/* Tracks which devices are still free, and cuts groups from them one by one. A group is aligned to
 * its size and taken from the smallest hole that holds it, so that large groups stay possible. */
#pragma once
#include "place/plan.h"

struct place_cut {
    const struct place_problem *problem;
    bool *is_taken; /* (n_devices) */
};
void place_cut_init(struct place_cut *cut, const struct place_problem *problem, struct pile *pile);
/* Takes n devices on which the service fits alone, and returns the first; -1 if there are no such
 * devices. Service -1: any devices. */
int32_t place_cut_take(struct place_cut *cut, int32_t n_devices, int32_t service);
void place_cut_put(struct place_cut *cut, int32_t first_device, int32_t n_devices);
