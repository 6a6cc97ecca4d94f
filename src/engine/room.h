/* Models enter and leave an engine. Only the files of this room include it. */
#pragma once
#include "engine/state.h"

struct engine_away { /* answers of a service between two slices; joining models wait for them */
    int32_t n, n_tokens_max; /* the most of any */
};

bool engine_room_make(struct engine *engine, int service, int64_t weights_bytes,
                      int64_t activation_bytes, struct engine_room *room);
/* Goes on shrinking for models that want room, when the units' requests are not in flight. Grows
 * again by what is left over when all models have their room or gave up. */
void engine_room_press(struct engine *engine);
void engine_room_open(struct engine *engine, int service, const struct perf *perf);
bool engine_room_empty(struct engine *engine, int service);
/* Returns all of its requests to the gateway; those in flight when their batch commits. */
void engine_room_return_all(struct engine *engine, int service, enum service_why why);
bool engine_room_close(struct engine *engine, int service);
/* Notes that a request is returned at the end of its slice, and may come back. Models that want
 * room wait for it too, but not without end. */
void engine_room_sliced(struct engine *engine, const struct request *request);
void engine_room_back(struct engine *engine, const struct request *request);
int64_t engine_room_wake_ns(const struct engine *engine); /* when that is over; TIME_NEVER */
/* Returns whether this request could run if the pool were empty. While a model wants room, a
 * request whose answer has not begun may only use what that leaves. */
bool engine_room_fits(const struct engine *engine, const struct request *request);
/* Returns the most tokens of prompt and answer that the service's KV could hold if no other model
 * had taken from the pool. */
int64_t engine_room_most_tokens(const struct engine *engine, int service);
