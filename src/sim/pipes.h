/* Batches that follow one another through a chain (sim/chain.h), for the modelled executor.
 *
 * A part of the chain and the link behind it process one batch of a lane at a time, in the order in
 * which batches began. Lanes are shares of every device, so batches of two lanes do not wait for
 * each other, unless the lanes are in conflict. A share slows a part as it slows a device with the
 * same bytes of weights. */
#pragma once
#include "schedule/policy.h"
#include "sim/chain.h"

struct sim_pipes {
    struct sim_chain_map map;
    int32_t n_lanes, n_deep; /* n_deep: batches that may be in flight on each */
    struct schedule_lane lanes[LIMIT_LANES];
    int32_t n_under_way;
    int64_t from_ps, until_ps; /* when the first of them began, when one last ended */
    int64_t *busy_ps; /* by lane: until when the i-th part is busy, at 2 i; the link, at 2 i + 1 */
};
/* Opens the pipes. The map is lent. */
struct sim_pipes *sim_pipes_open(const struct sim_chain_map *map, const struct schedule_lane *lanes,
                                 int32_t n_lanes, int32_t n_deep);
void sim_pipes_close(struct sim_pipes *pipes);
/* Returns the time of a step on this lane when there is no other. */
int64_t sim_pipes_step_ps(const struct sim_pipes *pipes, int32_t lane,
                          const struct perf_load *load);
/* Returns the end of a step that reaches the first part at at_ps, behind earlier ones. */
int64_t sim_pipes_pass(struct sim_pipes *pipes, int32_t lane, const struct perf_load *load,
                       int64_t at_ps);
/* Converts a time to a later base. Times long ago stay within 64 bits. */
#define SIM_PIPES_LONG_OVER_PS (INT64_MIN / 4)
static inline int64_t sim_pipes_earlier_ps(int64_t ps, int64_t by_ns)
{
    return by_ns > (ps - SIM_PIPES_LONG_OVER_PS) / 1000 ? SIM_PIPES_LONG_OVER_PS
                                                        : ps - by_ns * 1000;
}
/* Moves the base of all times here forward by by_ns, which is before all later times. */
void sim_pipes_move(struct sim_pipes *pipes, int64_t by_ns);
/* Note a begin and an end. The end returns how long there were any, once there is none; else 0. */
void sim_pipes_begun(struct sim_pipes *pipes, int64_t at_ps);
int64_t sim_pipes_ended(struct sim_pipes *pipes, int64_t at_ps);
