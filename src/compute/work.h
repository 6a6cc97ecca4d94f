/* A device's memory objects, and its work in flight (copies; passes are in compute/pass.h).
 *
 * A memory object is one range of addresses that never moves:
 *
 *   memory_open --> RESERVED <--memory_drop-- BACKED --memory_close--> gone
 *                      |--------memory_back----->^
 *
 * Every page is either reserved or backed. An object that is not opened as reserved begins backed.
 *
 * Work is begun on a lane and polled until it has ended:
 *
 *            begin               the device ran it
 *   (idle) --------> BEGUN -------------------------> DONE
 *                      |--- the device could not ---> FAILED   this work alone
 *                      |--- the device is gone -----> LOST     as is all work begun from now on
 *
 * Work of one lane runs in the order in which it was begun, each after the one before, so a pass
 * can use the data of a copy before it. Work of different lanes has no order. */
#pragma once
#include "base/base.h"
#include "core/copy.h"
#include <stdatomic.h>

struct compute_group_rank;

/* each device puts it at the start of its own record */
struct compute_memory {
    unsigned char *base; /* in the device's address space; a host pointer only when is_host */
    int64_t n_bytes;
    bool is_host;
};
struct compute_memory_options {
    int64_t n_bytes;
    bool is_host;     /* host memory for copies: a host tier, a transfer buffer */
    bool is_reserved; /* only addresses, which memory_back puts memory behind */
    bool has_fd;      /* the bytes are those of fd from its start, which others may map too. */
    bool is_readonly; /* The descriptor may be sealed against writing. */
    int fd;           /* the caller's: it may be closed once the object is open */
};

enum compute_state { COMPUTE_IDLE, COMPUTE_BEGUN, COMPUTE_DONE, COMPUTE_FAILED, COMPUTE_LOST };
enum compute_work_kind { COMPUTE_WORK_PASS, COMPUTE_WORK_COPY };

/* The start of a pass or a copy. The caller owns the record and everything that it points to. It
 * changes none of this from begin until a poll has reported the end of the work. */
struct compute_work {
    uint8_t kind; /* enum compute_work_kind */
    /* Called by any thread, maybe before begin returns: polling this work is worthwhile. It is
     * never called after the work has ended. NULL: none. */
    void (*notify)(void *arg);
    void *notify_arg;
    int64_t ns_least; /* the lane is kept at least this long, for steady times; 0 = off */
    /* Set by the device. */
    _Atomic int state;        /* enum compute_state */
    int64_t begin_ns, end_ns; /* when the lane began and ended it, once it has ended */
    struct compute_work *next;
};

/* A copy of a list of blocks from one object to another. Offsets are within both objects, and the
 * written parts do not overlap. */
struct compute_copy {
    struct compute_work work;
    struct compute_memory *from, *to;
    int32_t n_parts;
    const struct copy_part *parts;
    /* The ranks of a group meet before and after it; NULL: there is one rank. */
    struct compute_group_rank *group;
};
