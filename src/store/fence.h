/* A node's memory of managers, so that it never obeys an old one.
 *
 * A manager's command carries a stamp: the nonce of the cluster's life, an epoch (raised in the
 * transaction that elected the manager) and the manager's id. The node keeps the highest stamp that
 * it obeyed on disk, and writes it there before it obeys. An empty or restored store shows another
 * nonce; it is refused until an operator adopts it on the node. */
#pragma once
#include "base/status.h"
#include "store/id.h"

struct store_stamp {
    struct store_id nonce, manager;
    uint64_t epoch; /* 0: no manager was obeyed yet */
};

enum store_verdict {
    STORE_OBEY,
    STORE_OLD_EPOCH,      /* a later manager was obeyed */
    STORE_SAME_EPOCH,     /* of another manager: one of the two is a fault, so neither is obeyed
                             from now on but the one that was first */
    STORE_OTHER_LIFE,     /* another nonce */
    STORE_CANNOT_REMEMBER /* the disk refused the new stamp, so nothing may be obeyed */
};
const char *store_fence_verdict_name(enum store_verdict verdict);

struct store_fence {
    struct store_stamp kept;
    char path[512]; /* "": it is kept in memory alone, in tests and in one process */
};
/* Reads what the node kept; a file that is not there is a node that obeyed no manager yet. A file
 * that is not whole is refused: forgetting is not safe. */
enum status store_fence_open(struct store_fence *fence, const char *path,
                             struct fault *fault) MUST_USE;
/* May a command with this stamp be obeyed? A higher epoch is on disk before this returns. The first
 * nonce that a node sees is kept. For another nonce the file is read again, since an operator may
 * have adopted it there while this process runs. */
enum store_verdict store_fence_check(struct store_fence *fence, const struct store_stamp *stamp);
/* An operator says that this is the cluster's life from now on. Epochs begin anew, unless it is the
 * life that is known already. */
enum status store_fence_adopt(struct store_fence *fence, struct store_id nonce,
                              struct fault *fault) MUST_USE;
