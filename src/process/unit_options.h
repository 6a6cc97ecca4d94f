/* The options of a unit whose engine is a process: see unit.h. */
#pragma once
#include "process/weights.h"

struct bulk_door;

struct process_unit_options {
    const struct run_unit_options *unit; /* its device, log and trace are not used */
    struct process_device device;
    struct process_weights *weights; /* NULL: the engine packs */
    int epoll_fd;                    /* gets the descriptors that a step is wanted for */
    int64_t stall_ns;
    /* Requests come and go with their KV over this door, which is the node's and lent. NULL: their
     * KV is computed again. */
    struct bulk_door *door;
};
