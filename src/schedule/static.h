/* Static batches: the seam between the policies that make them (static.c) and the room. */
#pragma once
#include "schedule/policy.h"

/* Are the batch's pads legal? No row is longer than they say, no fewer rows than members. NULL, or
 * what is wrong with them. */
const char *schedule_static_check(const struct schedule_view *view, const struct batch *batch);
