/* Decides when to plan the layers anew: a device joined or left, or KV outgrew its reserve for a
 * while.
 *
 * UELLM claims to scale but gives no rule, so this is the rule of docs/ALGORITHMS.md section 5.5.
 * It is pure: the state is the caller's, and so is the clock. */
#pragma once
#include "base/base.h"

enum watch_why { WATCH_NOTHING, WATCH_JOINED, WATCH_LEFT, WATCH_KV };

struct watch_config {
    int64_t over_ns; /* KV must be over its reserve for this long: WATCH_OVER_NS unless measured
                        better */
};
#define WATCH_OVER_NS INT64_C(30000000000)

struct watch {
    uint64_t devices;      /* hash of the set that the plan was made for */
    int32_t n_devices;     /* their number */
    int64_t over_since_ns; /* since when KV is over its reserve; INT64_MAX: it is not */
};
struct watch_seen {
    int64_t now_ns;
    const uint64_t *device_ids; /* (n_devices), in any order, each once */
    int32_t n_devices;
    int64_t kv_bytes, kv_reserve_bytes; /* bytes that requests hold and want; that the plan kept */
};
/* Remembers what a plan was made for. */
void watch_planned(struct watch *watch, const struct watch_seen *seen);
/* Returns whether there is a reason to plan anew. If several, the first of left, joined, KV.
 * Devices exchanged one for another count as left. Every call repeats the reason until
 * watch_planned. */
enum watch_why watch_saw(struct watch *watch, const struct watch_config *config,
                         const struct watch_seen *seen);
