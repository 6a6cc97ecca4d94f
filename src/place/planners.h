/* The planners of table.c, and functions that several of them use. */
#pragma once
#include "place/planner.h"

extern const struct place_planner place_alpaserve, place_default, place_even, place_greedy,
    place_machine, place_morphling, place_muxserve, place_seallm;

/* Returns the requests per second that a group's services complete together, each on its share of
 * the devices, by MuxServe's Equation 3. It is at most their rate. headroom: the least completed
 * part of a service's rate. */
double place_muxserve_throughput(const struct place_problem *problem,
                                 const struct place_group *group, double *headroom);

/* Sorts services by key, descending; among equals the lower number comes first. order:
 * (n_services). */
void place_planners_sort(const double *keys, int32_t n, int32_t *order);
