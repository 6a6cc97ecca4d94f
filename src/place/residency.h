/* Residency: which models are in memory. Models are evicted by bytes, the longest idle first. A
 * busy or pinned model is never evicted.
 *
 * It is pure: the manager calls it, and the answer is plain data. */
#pragma once
#include "core/limits.h"

struct residency_model { /* one model on one engine */
    uint16_t service;
    int64_t n_bytes;       /* weights and activation peak */
    int64_t idle_since_ns; /* last time that it had a request; TIME_NEVER while it has one (busy) */
    int64_t keep_alive_ns; /* negative = pinned */
};
struct residency_eviction {
    int32_t n_victims;
    uint16_t victims[LIMIT_SERVICES];
    bool never;         /* even an empty engine has no room */
    bool must_wait;     /* it would fit once busy models end */
    int64_t free_bytes; /* after the victims are gone */
};
/* Makes room for need_bytes out of free_bytes on an engine of total_bytes. */
void residency_evict(const struct residency_model *residents, int32_t n, int64_t need_bytes,
                     int64_t free_bytes, int64_t total_bytes, struct residency_eviction *out);
/* Lists models whose idle time has passed their keep-alive. Returns how many; *next_ns is when to
 * call again. */
int32_t residency_expired(const struct residency_model *residents, int32_t n, int64_t now_ns,
                          uint16_t *services, int64_t *next_ns);
