/* Planners turn a problem into a plan. Each has one file and one row in table.c.
 *
 * A planner has no clock, no input and output, and no globals. Its memory comes from the desk's
 * pile, and its random numbers from the desk's seed. The same question gets the same answer. */
#pragma once
#include "place/judge.h"

struct place_desk {
    const struct place_problem *problem;
    const struct place_judge *judge; /* a call may cost seconds; all planners use the same one */
    struct pile *pile;               /* lives as long as the plan */
    uint64_t seed;
    double effort; /* 1: bounded searches take their usual time; 2: twice as much */
    /* The planner leaves here the next best plan that it knows, finished. It stays empty if the
     * planner knows only one. NULL: the caller does not want it. */
    struct place_plan *second;
    /* Called with the progress of a long search, n_done of n; may be NULL. */
    void (*progress)(void *self, const char *planner, int64_t n_done, int64_t n);
    void *progress_self;
};
struct place_planner {
    const char *name, *source, *summary;
    bool is_judging;       /* it uses the judge while it plans */
    int32_t n_members_max; /* services of a group; 0: the problem's limit */
    /* For place_planner_plan. plan: initialized, empty. */
    void (*plan)(const struct place_desk *desk, struct place_plan *plan);
};
const struct place_planner *const *place_planner_all(int *n);
const struct place_planner *place_planner_find(const char *name); /* NULL: unknown name */
const char *place_planner_names(void);                            /* "default, seallm, ..." */
/* Makes the plan, with memory from the desk's pile. A plan that breaks a promise of plan.h is a
 * bug, so it is logged and the program ends. */
void place_planner_plan(const struct place_planner *planner, const struct place_desk *desk,
                        struct place_plan *plan);
static inline void place_tell(const struct place_desk *desk, const char *planner, int64_t n_done,
                              int64_t n)
{
    if (desk->progress != NULL)
        desk->progress(desk->progress_self, planner, n_done, n);
}
