/* The planners of table.c, and what several of them use. */
#pragma once
#include "place/planner.h"

extern const struct place_planner place_alpaserve, place_default, place_even, place_greedy,
    place_machine, place_morphling, place_muxserve, place_seallm;

/* Requests per second that a group's services get through together, each on its share of the
 * devices, as MuxServe's Equation 3 has it: at most what is asked. headroom: the least part of its
 * rate that one of them gets. */
double place_muxserve_throughput(const struct place_problem *problem,
                                 const struct place_group *group, double *headroom);

/* Services in order of key, descending; of equals the lower number first. order: (n_services). */
void place_planners_sort(const double *keys, int32_t n, int32_t *order);
