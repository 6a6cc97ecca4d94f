/* Estimates what a group of devices is worth by arithmetic alone. Planners screen thousands of
 * placements with it before the judge simulates the few that remain.
 *
 * A group's device serves prompts in turn and decodes of its members side by side. Let U be the
 * part of its time that prompts take, and a cycle one decode step of every member that is decoding.
 * A request of member i then decodes for R = o * cycle / (1 - U), and b = rate * R of its requests
 * are decoding (Little). This is a fixed point in b, found by iteration. The batch b is bounded by
 * what KV and the engine's limit of requests hold. Prompts wait as in an M/G/1 queue. The latency
 * of a service is estimated at the rate that its own requests see, bursts included
 * (place_service.burst), with the others at their mean rates. This is why copies on many groups
 * help. A device is overloaded if the load exceeds all of its time even in the largest batches that
 * it holds. Its queue then grows, by that factor, for the length of a burst, or the window. */
#pragma once
#include "place/plan.h"

struct place_estimate {
    double load; /* load over capacity in the worst burst; above 1 it is overloaded */
    double latency_s[PLACE_MEMBERS_MAX]; /* mean, end to end */
    double met[PLACE_MEMBERS_MAX];       /* fraction within slo_scale solo times */
};
/* rates: (n_members) requests per second of each member at this group. */
void place_estimate_group(const struct place_problem *problem, const struct place_group *group,
                          const double *rates, struct place_estimate *out);
/* Returns a number that falls as a service gets better, comparable between services. It is the
 * rate, times the part that is late and a little of the normalized latency. It is raised while the
 * service is under the attainment. */
double place_estimate_cost(const struct place_problem *problem, int32_t service, double latency_s,
                           double met);
/* Returns the weight of a copy on this group among the service's copies. It is proportional to how
 * fast the group serves one request alone, and sets the part of the requests that comes to it. */
double place_estimate_weight(const struct place_problem *problem, const struct place_group *group,
                             int32_t service);
/* Returns the least seconds of a group's time that a request of the service takes, in the largest
 * batch. */
double place_estimate_work(const struct place_problem *problem, const struct place_group *group,
                           int32_t service);
