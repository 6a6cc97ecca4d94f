/* A process's door for bulk data: KV of requests, and model files. It has a thread of its own, so
 * that neither engines nor messages wait for it.
 *
 *   engine's thread --pulls--> door ==TCP==> door of another node --> its exchange
 *   engine's process: engine's thread --> door --socket--> door of its parent ==TCP==> ...
 *
 * The door of a process with engines answers from its exchange. A parent of engines that are
 * processes passes questions on to them, and theirs to other doors. A ticket's place was learned
 * with the request, so that no engine's process names an address. Strangers reach the node's own
 * engines and no further.
 *
 *   dialled:   FREE --wanted--> CONNECTING --> HELLO --hello came--> UP --broken, 60 s idle--> FREE
 *   accepted:  FREE --accepted--> (CONNECTING: TLS) --> HELLO --> UP --broken, 120 s idle--> FREE
 *
 * Whatever breaks, each question gets an answer: GONE. Memory is bounded: the bytes of answers that
 * one connection is owed, and those of all, have limits, beyond which the answer is LATER. */
#pragma once
#include "bulk/options.h"
#include "cluster/message.h"

struct bulk_door;
/* NULL after a fault. */
struct bulk_door *bulk_door_open(const struct bulk_door_options *options, struct fault *fault);
void bulk_door_close(struct bulk_door *door);
/* Returns the place that others are told; its engine is 0. */
struct cluster_place bulk_door_place(const struct bulk_door *door);
uint16_t bulk_door_port(const struct bulk_door *door); /* at which it listens; 0: it does not */

/* ---- From any thread. ---- */

/* Remembers where a ticket's KV is; the oldest of many are forgotten. */
void bulk_door_learn(struct bulk_door *door, uint64_t ticket, const struct cluster_place *place);
/* Makes the connection with a new process of this engine, instead of an earlier one. Returns the
 * descriptor for the process, which the caller closes; -1: the system has none. */
int bulk_door_take_child(struct bulk_door *door, int engine);
