/* Requests that continue on another engine with their KV. Private to this room.
 *
 *   source:    RUNNING --returned (its lease is over, its model leaves)--> LEAVING --copied out,
 *              or no room--> ENDED; what was copied is kept for 10 s, or until it is acknowledged
 *   receiver:  (engine_submit with a ticket) --> ARRIVING --all blocks match--> WAITING, n_host > 0
 *                                                   |-----a block does not----> WAITING, n_host = 0
 *                                                   |-----cancelled, returned-> ENDED
 *
 * The receiver reserves room in its host tier before it pulls the first block. One block that does
 * not match voids the whole hand-over: the request is computed again. Blocks come to the device
 * like those of a swapped request (swap.h). */
#pragma once
#include "engine/state.h"

enum { ENGINE_KEEPS_MAX = 64 };                /* requests whose KV is kept at once */
#define ENGINE_KEEP_NS    (10 * TIME_NS_PER_S) /* without an acknowledgement */
#define ENGINE_LATER_NS   (TIME_NS_PER_S)      /* a block that is late for so long is lost */
#define ENGINE_PULL_BYTES ((int64_t)8 << 20)   /* of one step, so that the lanes get their work */

uint32_t engine_handover_keeps(const struct engine_options *options);
void engine_handover_open(struct engine *engine);
void engine_handover_close(struct engine *engine);
/* Source: returns whether the request, which is over here, leaves with its KV. Then it ends by
 * itself (engine_queue_over), and the caller is done with it. */
bool engine_handover_leaves(struct engine *engine, uint32_t slot, enum service_what what,
                            enum service_why why);
/* Ends a leaving request without its KV. */
void engine_handover_give_up(struct engine *engine, uint32_t slot);
/* Its copy out has ended. */
void engine_handover_came_out(struct engine *engine, uint32_t slot, bool is_failed);
void engine_handover_withdraw_all(struct engine *engine); /* its memory goes */
bool engine_handover_is_leaving(const struct engine *engine, int service);
bool engine_handover_is_arriving(const struct engine *engine, int service);
/* Receiver: a submitted request has a ticket. Returns false when it is just computed again. */
bool engine_handover_arrives(struct engine *engine, uint32_t slot, uint64_t ticket, int32_t n);
void engine_handover_stays_away(struct engine *engine, uint32_t slot); /* it ends before */
/* Ends those of the service that arrive. */
void engine_handover_return_all(struct engine *engine, int service, enum service_why why);
/* Copies what arrives, begins copies of what leaves, forgets what was kept long enough. Returns
 * when it wants the next call. */
int64_t engine_handover_step(struct engine *engine);
/* Returns whether its lists are sound. n_away: requests in neither of the policy's lists. */
bool engine_handover_is_sound(const struct engine *engine, uint32_t *n_away);
bool engine_handover_is_idle(const struct engine *engine); /* nothing is kept */
