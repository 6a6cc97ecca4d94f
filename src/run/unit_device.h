/* A unit whose device is lost opens it again:
 *
 *   OPEN --the engine says LOST: all requests are returned--> LOST: models are unloaded, loads wait
 *    ^                                                        |  ^
 *    |                                         the loader closes and opens it
 *    |                                                        |  `-- it can't be opened: later
 *    |<--the engine takes requests again-- REVIVING <---------|
 *
 * The first try comes at once. A failed one is repeated after 1 s, 2 s, 4 s and so on, at most
 * 60 s. For the unit's own files alone. */
#pragma once
#include "run/unit_state.h"

void run_unit_device_lost(struct run_unit *unit, int64_t now_ns);
/* Takes the loader's answer, and asks it to open the device when that is due. Returns the time of
 * its next call. */
int64_t run_unit_device_step(struct run_unit *unit, int64_t now_ns);
void run_unit_device_revived(struct run_unit *unit);
/* Closes the lost device and opens it again, on the loader's thread. */
enum status run_unit_device_reopen(struct run_unit *unit, struct fault *fault) MUST_USE;
