/* Static batches: the interface between the policies that make them (static.c) and the room. */
#pragma once
#include "schedule/policy.h"

/* Checks the batch's pads: no row may be longer than they say, and there must be at least as many
 * rows as members. Returns NULL, or what is wrong with them. */
const char *schedule_static_check(const struct schedule_view *view, const struct batch *batch);
