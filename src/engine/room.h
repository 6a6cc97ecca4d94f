/* Models come and go in an engine. For the files of this room alone. */
#pragma once
#include "engine/state.h"

struct engine_away {         /* answers of a service between two slices, for which models wait */
    int32_t n, n_tokens_max; /* the most of any */
};

bool engine_room_make(struct engine *engine, int service, int64_t weights_bytes,
                      int64_t activation_bytes, struct engine_room *room);
/* Goes on shrinking for whoever wants room, when what holds the units is not in flight; grows again
 * by what was left over when they all have theirs or gave up. */
void engine_room_press(struct engine *engine);
void engine_room_open(struct engine *engine, int service, const struct perf *perf);
bool engine_room_empty(struct engine *engine, int service);
/* All of its requests go home; those in flight when their batch commits. */
void engine_room_return_all(struct engine *engine, int service, enum service_why why);
bool engine_room_close(struct engine *engine, int service);
/* A request goes home at the end of its slice, and may be back: models that want in wait for it,
 * too, but not for ever. */
void engine_room_sliced(struct engine *engine, const struct request *request);
void engine_room_back(struct engine *engine, const struct request *request);
int64_t engine_room_wake_ns(const struct engine *engine); /* when that is over; TIME_NEVER */
/* Could this request run, were the pool empty? While a model wants in, a request whose answer has
 * not begun could only in what that leaves. */
bool engine_room_fits(const struct engine *engine, const struct request *request);
/* Prompt and answer that the service's KV holds at most, had no other model taken from the pool. */
int64_t engine_room_most_tokens(const struct engine *engine, int service);
