/* How a unit's models sleep. A sleeping model is an unloaded one whose packed weights stay in host
 * memory, so that it comes back without its file:
 *
 *   LOADED --sleep--> LEAVING --emptied--> DOZING --copied to the host--> GONE --closed--> UNLOADED
 *                        | it has requests    | that failed: it is unloaded      (is_asleep)
 *                        v                    v                                      |
 *                     LOADED                GONE            the states of a load <--load
 *
 * The host's bytes are booked from the order on, against options.sleep_bytes. They are free when
 * the model is loaded again, or unloaded. On a device whose memory is the host's nothing is copied:
 * the engine's ledger gives the bytes of the weights back, and this account has them. */
#pragma once
#include "run/unit_state.h"

/* Returns the packed bytes that sleeping and dozing models have. */
int64_t run_unit_sleep_booked(const struct run_unit *unit);
/* Orders a model to sleep: run_unit_sleep. */
void run_unit_sleep_order(struct run_unit *unit, int service);
/* A step of the owner: lets the loader copy one model after the other, and takes what it did. */
void run_unit_sleep_step(struct run_unit *unit);
