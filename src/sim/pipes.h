/* Batches that follow one another through a chain (sim/chain.h), as the modelled executor has them.
 *
 * A part of the chain and the link behind it have one batch of a lane at a time, in the order in
 * which they began. Lanes are shares of every device: batches of two of them do not wait for each
 * other, unless the lanes are in conflict. What a share does to a part is what it does to a device
 * with so many bytes of weights. */
#pragma once
#include "schedule/policy.h"
#include "sim/chain.h"

struct sim_pipes {
    struct sim_chain_map map;
    int32_t n_lanes, n_deep; /* n_deep: batches that may be under way on each */
    struct schedule_lane lanes[LIMIT_LANES];
    int32_t n_under_way;
    int64_t from_ps, until_ps; /* when the first of them began, when one of them ended last */
    int64_t *busy_ps; /* by lane: until when the i-th part has a batch, 2 i; the link: 2 i + 1 */
};
/* The map is lent. */
struct sim_pipes *sim_pipes_open(const struct sim_chain_map *map, const struct schedule_lane *lanes,
                                 int32_t n_lanes, int32_t n_deep);
void sim_pipes_close(struct sim_pipes *pipes);
/* A step on this lane when there is no other. */
int64_t sim_pipes_step_ps(const struct sim_pipes *pipes, int32_t lane,
                          const struct perf_load *load);
/* The end of a step that comes to the first part at at_ps, behind those that have come. */
int64_t sim_pipes_pass(struct sim_pipes *pipes, int32_t lane, const struct perf_load *load,
                       int64_t at_ps);
/* A time that counts from so much later; what is long over stays within 64 bits. */
#define SIM_PIPES_LONG_OVER_PS (INT64_MIN / 4)
static inline int64_t sim_pipes_earlier_ps(int64_t ps, int64_t by_ns)
{
    return by_ns > (ps - SIM_PIPES_LONG_OVER_PS) / 1000 ? SIM_PIPES_LONG_OVER_PS
                                                        : ps - by_ns * 1000;
}
/* All times here count from so much later, which is before whatever comes next. */
void sim_pipes_move(struct sim_pipes *pipes, int64_t by_ns);
/* One begins; one ends: for how long there were any, once there is none, else 0. */
void sim_pipes_begun(struct sim_pipes *pipes, int64_t at_ps);
int64_t sim_pipes_ended(struct sim_pipes *pipes, int64_t at_ps);
