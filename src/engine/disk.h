/* Prefixes that come from the disk tier, and go there. Private to this room.
 *
 *   out:  RUNNING --over, has blocks that the disk lacks--> LEAVING --copied to the host tier, or
 *         no room--> ENDED; the copies are written behind it
 *   in:   (engine_submit) --the disk has more than memory--> ARRIVING --all blocks were read-->
 *         WAITING, n_host > 0 --as a swapped request (swap.h)--> ...
 *                         |--a block was not usable, or the disk took too long--> WAITING, n_host =
 * 0
 *                         |--cancelled, returned--> ENDED
 *
 * The disk's thread has the memory of a job (kv/disk.h) until it says that the job is over. So each
 * job has a row of the host tier of its own, which no end of a request frees. A request waits for
 * the disk for a second at most, and as long again as its prefix would take to compute. */
#pragma once
#include "engine/state.h"

#define ENGINE_DISK_LATE_NS (TIME_NS_PER_S)

uint32_t engine_disk_keeps(const struct engine_options *options); /* rows of the host tier */
void engine_disk_open(struct engine *engine);
void engine_disk_close(struct engine *engine); /* ahead of the executor's memory */
/* Returns whether the request, which is over, stays until its new blocks are copied out. Then it
 * ends by itself (engine_queue_over). */
bool engine_disk_leaves(struct engine *engine, uint32_t slot, enum service_why why);
/* Ends a request that leaves for the disk without the copy. Returns false when it does not. */
bool engine_disk_gives_up(struct engine *engine, uint32_t slot);
/* The copy out of a leaving request has ended. Returns false when it leaves for another engine. */
bool engine_disk_came_out(struct engine *engine, uint32_t slot, bool is_failed);
/* A submitted request may have its prefix on the disk. Returns false when it waits at once. */
bool engine_disk_arrives(struct engine *engine, uint32_t slot);
/* An arriving request ends before. Returns false when it comes from another engine. */
bool engine_disk_stays_away(struct engine *engine, uint32_t slot);
/* Ends those of the service that arrive. */
void engine_disk_return_all(struct engine *engine, int service, enum service_why why);
bool engine_disk_is_moving(const struct engine *engine, int service); /* arriving or leaving */
bool engine_disk_is_leaving(const struct engine *engine, int service);
/* Ends all jobs soon, since the host tier's memory goes: then is_idle. */
void engine_disk_drop_all(struct engine *engine);
bool engine_disk_is_idle(const struct engine *engine); /* the disk has no job */
/* Takes what the disk has done, begins copies. Returns when it wants the next call. */
int64_t engine_disk_step(struct engine *engine);
struct engine_report;
void engine_disk_report(const struct engine *engine, struct engine_report *report);
/* Returns whether its lists are sound. *n_away: requests in neither of the policy's lists. */
bool engine_disk_is_sound(const struct engine *engine, uint32_t *n_away);
