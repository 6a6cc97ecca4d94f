/* A plan under construction with its estimated cost. It answers what adding a service to a group
 * would gain.
 *
 * The cost of a plan is the sum over its groups of place_estimate_cost of their members. Each
 * member counts by the part of its requests that comes to the group. Services without a group add
 * their own cost. Adding or removing a copy changes only the groups that have the service. */
#pragma once
#include "place/estimate.h"

struct place_board {
    const struct place_problem *problem;
    struct place_plan *plan; /* lent */
    double *weights;         /* (n_services) sum over all its copies; 0: no group has it */
    double *costs;           /* (n_devices) of groups */
    double (*parts)[PLACE_MEMBERS_MAX]; /* (n_devices) of their members */
    double cost;                        /* of all */
    int32_t n_members_max;
    int32_t node; /* copies are added to groups of this node only; -1: to any */
};
/* Takes its arrays from the pile. The board shows a plan, which is changed only through the board
 * from now on. */
void place_board_init(struct place_board *board, const struct place_problem *problem,
                      int32_t n_members_max, struct pile *pile);
void place_board_show(struct place_board *board, struct place_plan *plan);
/* Returns by how much the cost falls when group number `group` gets the service. The group must be
 * able to take it. */
double place_board_gain(const struct place_board *board, int32_t group, int32_t service);
/* Returns the group where the service gains most, and sets *gain; -1 if no group takes it. */
int32_t place_board_best(const struct place_board *board, int32_t service, double *gain);
void place_board_add(struct place_board *board, int32_t group, int32_t service);
/* Adds copies as long as they gain. The service with the highest cost comes first. */
void place_board_fill(struct place_board *board, struct pile *pile);
/* Returns what a service costs now, over all groups that have it. */
double place_board_service(const struct place_board *board, int32_t service);
