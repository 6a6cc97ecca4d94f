/* When to plan the layers anew. */
#include "place/watch.h"

#include "base/rng.h"

/* Returns a sum of well mixed ids, which is the same for every order of the devices. */
static uint64_t hash_of(const struct watch_seen *seen)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < seen->n_devices; i++)
        sum += rng_at(seen->device_ids[i], 0, 0);
    return sum;
}

void watch_planned(struct watch *watch, const struct watch_seen *seen)
{
    *watch = (struct watch){ .devices = hash_of(seen),
                             .n_devices = seen->n_devices,
                             .over_since_ns = INT64_MAX };
}

enum watch_why watch_saw(struct watch *watch, const struct watch_config *config,
                         const struct watch_seen *seen)
{
    if (seen->kv_bytes <= seen->kv_reserve_bytes)
        watch->over_since_ns = INT64_MAX;
    else
        watch->over_since_ns = min_i64(watch->over_since_ns, seen->now_ns);
    if (seen->n_devices < watch->n_devices)
        return WATCH_LEFT;
    if (seen->n_devices > watch->n_devices)
        return WATCH_JOINED;
    if (hash_of(seen) != watch->devices)
        return WATCH_LEFT;
    if (watch->over_since_ns != INT64_MAX && seen->now_ns - watch->over_since_ns >= config->over_ns)
        return WATCH_KV;
    return WATCH_NOTHING;
}
