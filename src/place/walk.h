/* Searches by adding one copy of a service at a time, with simulation, for every degree of groups
 * at once. SeaLLM's and AlpaServe's placements share this. They differ in which service needs a
 * copy, which group takes it, and which plan on the way is best. */
#pragma once
#include "place/planner.h"

struct place_walk { /* of one degree */
    const struct place_problem *problem;
    int32_t n_devices; /* of its groups, but for merged ones */
    struct place_plan plan, best;
    struct place_score score, best_score; /* score: with services; best_score: without */
    bool is_over, is_judged;              /* judged: the score describes the plan as it is now */
};
struct place_walk_rule {
    const char *name;      /* of the planner */
    int32_t n_members_max; /* members of a group; 0: the problem's limit */
    bool has_merges; /* larger groups for models that need them (ground.h), reserved for these until
                        all of them are placed; or plain cuts */
    /* A plan with more services placed is better, whatever its worth, and load does not depend on
     * scores. So first copies need no simulation. */
    bool is_placing_first;
    bool is_group_first; /* the first group that takes any service, or the first service taken */
    double (*need)(const struct place_walk *walk, int32_t service); /* highest first */
    double (*load)(const struct place_walk *walk,
                   const struct place_group *group); /* least first */
    /* Returns above 0 when a, the score of a plan with n_a copies in all, is better than b. */
    int (*compare)(const struct place_score *a, int32_t n_a, const struct place_score *b,
                   int32_t n_b);
};
/* Judged by the window. */
void place_walk(const struct place_desk *desk, const struct place_window *window,
                const struct place_walk_rule *rule, struct place_plan *plan);
