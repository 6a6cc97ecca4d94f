/* The interface to control the cluster: list, load, unload, drain, health. Services go by index,
 * because strings stay at the edges of the program. */
#pragma once
#include "core/report.h"
#include "base/status.h"

enum control_kind {
    CONTROL_LIST,
    CONTROL_LOAD, /* also wakes */
    CONTROL_UNLOAD,
    CONTROL_DRAIN,
    CONTROL_HEALTH,
    CONTROL_SLEEP, /* an unload that keeps the packed weights in host memory */
};

struct control_ask {
    uint64_t id; /* chosen by the caller, and returned in the answer */
    uint8_t kind;
    uint16_t service;
};
struct control_answer {
    uint64_t id;
    enum status status;
    struct fault fault; /* one sentence when status is not OK */
    bool is_healthy, is_draining;
    int32_t n_engines;
    const struct engine_report *engines; /* valid until the next call of next */
};

struct control {
    void *self;
    bool (*ask)(void *self, const struct control_ask *ask); /* false = too many in flight */
    bool (*next)(void *self, struct control_answer *answer);
    /* Returns the next change since the last call. Take changes before `next`, because its reports
     * are later. NULL = this side reports no changes. */
    bool (*next_change)(void *self, struct service_change *change);
};
