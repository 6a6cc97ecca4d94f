/* Blocks that the engines of this process pull from elsewhere: the way from their threads to the
 * door's thread (bulk/door.h), and back.
 *
 *   slot of a block:  EMPTY --pulled--> WANTED --asked by the door--> ASKED --came--> HERE
 * --copied--> EMPTY
 *                                          ^--- the sender is at its bounds: 5 ms ---|--gone-->
 * GONE
 *
 * An engine asks for its blocks in order. A few of the next ones are asked for with each, so that
 * the network does not wait for the engine. Tickets and bytes are bounded. A ticket beyond the
 * bound is GONE. A block beyond it is LATER, whose time the engine bounds in turn. */
#pragma once
#include "base/wake.h"
#include "engine/exchange.h"

struct bulk_pulls;
struct evbuffer;
struct bulk_pulls *bulk_pulls_open(void);
void bulk_pulls_close(struct bulk_pulls *pulls); /* no engine and no door uses it any more */
/* For the engines' exchange. */
struct exchange_remote bulk_pulls_remote(struct bulk_pulls *pulls);

/* ---- For the door's thread. ---- */

int bulk_pulls_wake_fd(const struct bulk_pulls *pulls); /* readable when there may be wishes */
struct bulk_pulls_wish {
    uint64_t ticket;
    uint64_t serial; /* 0: the ticket is acknowledged */
    int32_t index;
    int64_t n_bytes;
};
/* Takes the next wish; false: there is none. */
bool bulk_pulls_next(struct bulk_pulls *pulls, struct bulk_pulls_wish *wish);
/* Answers a wish. BLOCK: takes the stamp and its bytes from the front of `from`, which has them. An
 * answer that is not wanted any more is dropped. */
void bulk_pulls_answer(struct bulk_pulls *pulls, uint64_t serial, enum exchange_said said,
                       struct evbuffer *from);
