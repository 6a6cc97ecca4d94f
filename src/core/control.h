/* The door to the house itself: what is there, load, unload, drain, health. Strings stay at the
 * edges: services go by index. */
#pragma once
#include "core/report.h"
#include "base/status.h"

enum control_kind { CONTROL_LIST, CONTROL_LOAD, CONTROL_UNLOAD, CONTROL_DRAIN, CONTROL_HEALTH };

struct control_ask {
    uint64_t id; /* chosen by the asker, comes back in the answer */
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
/* A model's status changed on an engine. Unlike reports, which say how things are now and then,
 * every change is told, in order, however short the time that it lasted. */
struct control_change {
    uint16_t engine, service;
    uint8_t status; /* enum service_status; BROKEN = a load failed: it is UNLOADED now */
    int64_t weights_bytes, activation_bytes;
    struct fault fault; /* of BROKEN: why */
};
static inline void control_change_apply(const struct control_change *change,
                                        struct service_report *report)
{
    report->status = change->status;
    report->progress_percent = change->status == SERVICE_LOADED ? 100 : 0;
    report->weights_bytes = change->weights_bytes;
    report->activation_bytes = change->activation_bytes;
}

struct control {
    void *self;
    bool (*ask)(void *self, const struct control_ask *ask); /* false = too many asks in flight */
    bool (*next)(void *self, struct control_answer *answer);
    /* Changes since the last call; taken before `next`, whose reports are later. NULL = none told.
     */
    bool (*next_change)(void *self, struct control_change *change);
};
