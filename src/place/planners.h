/* The planners of table.c, and what several of them use. */
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

/* Requests per second that a group's services get through together, each on its share of the
 * devices, as MuxServe's Equation 3 has it: at most what is asked. headroom: the least part of its
 * rate that one of them gets. */
double place_muxserve_throughput(const struct place_problem *problem,
                                 const struct place_group *group, double *headroom);

/* Services in order of key, descending; of equals the lower number first. order: (n_services). */
void place_planners_sort(const double *keys, int32_t n, int32_t *order);
