/* A group: several devices of one host that compute one model together, as one device.
 *
 *   pass --begin--> group --the rank's program, workspace and heads--> every rank's lane
 *
 * Each rank has a part of every layer (group/plan.h), and they add up their sums over shared memory
 * (compute/group.h). Or each has some layers (group/chain.h), and hands its rows on. One rank
 * draws. The ranks' memory is the host's, so they share each memory object: keys and values of all
 * heads lie as for one device, each rank reading and writing its heads, and copies, block ids and
 * the pool are unchanged. A pass or copy has ended when it has on all ranks. When one rank fails,
 * all work of the group ends as LOST.
 *
 * Its tokens depend on the number of ranks that share each sum (device.n_ranks), and on nothing
 * else of the group. */
#pragma once
#include "compute/device.h"
#include "core/device.h"

/* Opens a group of 1 to COMPUTE_GROUP_RANKS_MAX devices, and takes them over, also when the call
 * fails. Each has one lane, cores of its own, and the arithmetic of the others. Their work runs
 * without polls. */
enum status group_open(struct compute_device *const *ranks, int n_ranks,
                       struct compute_device **out, struct fault *fault) MUST_USE;
/* The same, but each rank has some of the layers (group/chain.h), in proportion to its share (1 or
 * more). Tokens are those of one device. */
enum status group_open_chain(struct compute_device *const *ranks, const int32_t *shares,
                             int n_ranks, struct compute_device **out,
                             struct fault *fault) MUST_USE;
/* Opens a CPU device, or a group of them when it has ranks. */
enum status group_open_cpu(const struct device_spec *spec, struct compute_device **out,
                           struct fault *fault) MUST_USE;
/* Ends the group's work as if one of its ranks were gone. Any thread may call it. */
void group_fail(struct compute_device *group);
