/* Collectives of the ranks of one group, over one segment of shared memory. Ranks are threads of
 * one process or processes of one host, in any mix.
 *
 *   head | per rank: two slots | per rank: a ring to the next rank
 *
 * The segment holds no pointers, so that each process maps it where it likes. A rank writes its
 * values into one of its two slots, announces them, waits until all ranks have announced theirs,
 * and reads all slots. It may write the other slot at once, because a rank that announces the next
 * values has read the previous ones. Long values go through the slots in pieces.
 *
 * Sums are added in rank order on every rank, so their bits depend on nothing but the values.
 *
 * Failure: when a rank's process ends, when a rank calls compute_group_fail, or when two ranks call
 * with different sizes, the group has failed for ever. Each call on any rank then returns false,
 * within COMPUTE_GROUP_NOTICE_NS of the failure. A process that ends before it has taken part in a
 * call is noticed by its parent alone, which calls compute_group_fail. So is one that hangs.
 *
 * A waiting rank spins for a while and then sleeps in the kernel, so ranks may share cores. */
#pragma once
#include "base/status.h"
#include <stdatomic.h>

enum {
    COMPUTE_GROUP_RANKS_MAX = 8,
    COMPUTE_GROUP_SLOT_BYTES = 64 << 10, /* the longest piece */
    COMPUTE_GROUP_RING_PIECES = 64       /* pieces that a rank can send before one is received */
};
#define COMPUTE_GROUP_NOTICE_NS INT64_C(100000000) /* if the waiting rank gets a core by then */

struct compute_group_shared;
struct compute_group { /* one mapping of a segment; private, except for fd */
    struct compute_group_shared *shared;
    size_t n_bytes;
    int fd; /* of the segment, for a process that joins */
};
struct compute_group_rank { /* private; one thread uses it at a time */
    struct compute_group *group;
    int32_t index;
    uint32_t n_announced, n_sent, n_received;
    int watched[COMPUTE_GROUP_RANKS_MAX]; /* pidfds of the peers' processes; 0: not yet, -1: none */
};

/* Makes a segment for n_ranks (1 to COMPUTE_GROUP_RANKS_MAX). */
enum status compute_group_open(struct compute_group *group, int32_t n_ranks,
                               struct fault *fault) MUST_USE;
/* Maps the segment of another process. The group takes fd over, also when the call fails. */
enum status compute_group_join(struct compute_group *group, int fd, struct fault *fault) MUST_USE;
void compute_group_close(
    struct compute_group *group); /* by now no rank of this process is in use */
int32_t compute_group_size(const struct compute_group *group);

/* Makes this process rank `index` of the group. Each rank is begun once in the life of a group. */
void compute_group_rank_init(struct compute_group_rank *rank, struct compute_group *group,
                             int32_t index);
void compute_group_rank_free(struct compute_group_rank *rank);

/* All ranks call with the same n. Sets out on every rank to the sum of all x: (n). out may be x.
 * With n = 0 it only waits for all ranks. */
bool compute_group_sum(struct compute_group_rank *rank, const float *x, float *out,
                       int64_t n) MUST_USE;
/* All ranks call with the same n_bytes: (ranks). x: (n_bytes[own index]). Sets out to the parts of
 * all ranks, one behind the other. A rank that does not need them passes NULL. x may be this rank's
 * part of out. */
bool compute_group_gather(struct compute_group_rank *rank, const void *x, const int64_t *n_bytes,
                          void *out) MUST_USE;
/* Sends bytes to the next rank (the last one sends to rank 0), or receives as many from the
 * previous rank. Both use the same sequence of sizes. A send waits only while the ring is full. */
bool compute_group_send(struct compute_group_rank *rank, const void *x, int64_t n_bytes) MUST_USE;
bool compute_group_receive(struct compute_group_rank *rank, void *out, int64_t n_bytes) MUST_USE;
/* Ends the group for all ranks. Any thread of any process that has mapped the segment may call. */
void compute_group_fail(struct compute_group *group);
bool compute_group_has_failed(const struct compute_group *group);
