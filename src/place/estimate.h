/* What a group of devices is worth by arithmetic alone: the screen that planners try thousands of
 * placements on before the judge simulates the few that are left.
 *
 * A group's device serves prompts in turn and decodes of its members side by side. With U the part
 * of its time that prompts take, and a cycle one decode step of every member that is decoding, a
 * request of member i decodes for R = o * cycle / (1 - U), and b = rate * R of them are decoding
 * (Little): a fixed point in b, found by iteration, or what KV and the engine's limit of requests
 * hold. Prompts wait as in an M/G/1 queue. What a service meets is reckoned at the rate that its
 * requests see, bursts and all (place_service.burst), the others at their means: that is what
 * copies on many groups are good for. A device that is asked for more than all of its time, in the
 * largest batches that it holds, is overloaded by that factor: its queue grows for the length of a
 * burst, or the window. */
#pragma once
#include "place/plan.h"

struct place_estimate {
    double load; /* asked over what it can give, in the worst burst; above 1 it is overloaded */
    double latency_s[PLACE_MEMBERS_MAX]; /* mean, end to end */
    double met[PLACE_MEMBERS_MAX];       /* fraction within slo_scale solo times */
};
/* rates: (n_members) requests per second of each member that come to this group. */
void place_estimate_group(const struct place_problem *problem, const struct place_group *group,
                          const double *rates, struct place_estimate *out);
/* A number that falls as a service gets better, comparable between services: its rate, times what
 * is late and a little of the normalized latency, and more while it is under the attainment. */
double place_estimate_cost(const struct place_problem *problem, int32_t service, double latency_s,
                           double met);
/* The part of a service's requests that a copy on this group draws, next to its other copies: as
 * fast as it serves one alone. */
double place_estimate_weight(const struct place_problem *problem, const struct place_group *group,
                             int32_t service);
/* Seconds of a group's time that a request of the service takes at least, in the largest batch. */
double place_estimate_work(const struct place_problem *problem, const struct place_group *group,
                           int32_t service);
