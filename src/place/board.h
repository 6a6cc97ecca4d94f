/* A plan in the making with its estimate: what would it gain to put this service there?
 *
 * The cost of a plan is the sum over its groups of what place_estimate_cost says of their members,
 * each by the part of its requests that comes there, and of services that lie nowhere; adding or
 * removing one changes the groups that have the service, and nothing else. */
#pragma once
#include "place/estimate.h"

struct place_board {
    const struct place_problem *problem;
    struct place_plan *plan;            /* lent */
    double *weights;                    /* (n_services) of all its copies; 0: it lies nowhere */
    double *costs;                      /* (n_devices) of groups */
    double (*parts)[PLACE_MEMBERS_MAX]; /* (n_devices) of their members */
    double cost;                        /* of all */
    int32_t n_members_max;
    int32_t node; /* copies are added to groups of this node alone; -1: anywhere */
};
/* Takes its arrays from the pile; shows a plan, which is changed through the board from now on. */
void place_board_init(struct place_board *board, const struct place_problem *problem,
                      int32_t n_members_max, struct pile *pile);
void place_board_show(struct place_board *board, struct place_plan *plan);
/* By how much the cost falls; group: index. The group takes the service. */
double place_board_gain(const struct place_board *board, int32_t group, int32_t service);
/* The group where the service gains most, and how much; -1: none takes it. */
int32_t place_board_best(const struct place_board *board, int32_t service, double *gain);
void place_board_add(struct place_board *board, int32_t group, int32_t service);
/* Adds copies where they gain, the service with the highest cost first, until nothing gains. */
void place_board_fill(struct place_board *board, struct pile *pile);
/* What a service costs now, wherever it lies. */
double place_board_service(const struct place_board *board, int32_t service);
