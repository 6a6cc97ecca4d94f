/* Planners: a problem in, a plan out. One file each, one row in table.c.
 *
 * A planner has no clock, no input and output, no globals; its memory comes from the desk's pile,
 * its dice from the desk's seed. Asked twice, it answers the same. */
#pragma once
#include "place/judge.h"

struct place_desk {
    const struct place_problem *problem;
    const struct place_judge *judge; /* may cost seconds a call; the same for all planners */
    struct pile *pile;               /* lives as long as the plan */
    uint64_t seed;
    double effort; /* 1: searches that are bounded take their usual time; 2: twice as much */
    /* Where to leave the next best plan that it knows, finished; it stays empty where a planner
     * knows one alone. NULL: nobody asks. */
    struct place_plan *second;
    /* Hears how far a long search is, of how many; may be NULL. */
    void (*progress)(void *self, const char *planner, int64_t n_done, int64_t n);
    void *progress_self;
};
struct place_planner {
    const char *name, *source, *summary;
    /* For the tables of the documents: what it optimises, what that costs, and when it fails. */
    const char *optimises, *cost, *fails;
    bool is_judging;       /* asks the judge while it plans */
    int32_t n_members_max; /* services of a group; 0: as the problem's limits say */
    /* For place_planner_plan. plan: initialized, empty. */
    void (*plan)(const struct place_desk *desk, struct place_plan *plan);
};
const struct place_planner *const *place_planner_all(int *n);
const struct place_planner *place_planner_find(const char *name); /* NULL: there is none */
/* Plans out of the desk's pile. A plan that breaks a promise of plan.h is a bug: it is logged, and
 * the program ends. */
void place_planner_plan(const struct place_planner *planner, const struct place_desk *desk,
                        struct place_plan *plan);
static inline void place_tell(const struct place_desk *desk, const char *planner, int64_t n_done,
                              int64_t n)
{
    if (desk->progress != NULL)
        desk->progress(desk->progress_self, planner, n_done, n);
}
