/* The planners of table.c, and functions that several of them use. */
#pragma once
#include "place/planner.h"

/* The table: a row for each planner, whose own file says all else of it. Help and documents list
 * them in this order. */
/* clang-format off */
#define PLACE_PLANNERS(ROW) \
    ROW(default) \
    ROW(seallm) \
    ROW(muxserve) \
    ROW(alpaserve) \
    ROW(morphling) \
    ROW(even) \
    ROW(machine) \
    ROW(greedy)
/* clang-format on */

#define ROW(name) extern const struct place_planner place_##name;
PLACE_PLANNERS(ROW)
#undef ROW

/* Returns the requests per second that a group's services complete together, each on its share of
 * the devices, by MuxServe's Equation 3. It is at most their rate. headroom: the least completed
 * part of a service's rate. */
double place_muxserve_throughput(const struct place_problem *problem,
                                 const struct place_group *group, double *headroom);

/* Sorts services by key, descending; among equals the lower number comes first. order:
 * (n_services). */
void place_planners_sort(const double *keys, int32_t n, int32_t *order);
