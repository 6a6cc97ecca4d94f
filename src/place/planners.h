/* The planners of table.c, and what several of them use. */
#pragma once
#include "place/planner.h"

extern const struct place_planner place_alpaserve, place_default, place_even, place_greedy,
    place_machine, place_morphling, place_muxserve, place_seallm;

/* SeaLLM's search, judged by this window. */
void place_seallm_search(const struct place_desk *desk, const struct place_window *window,
                         struct place_plan *plan);

/* Services in order of key, descending; of equals the lower number first. order: (n_services). */
void place_planners_sort(const double *keys, int32_t n, int32_t *order);
