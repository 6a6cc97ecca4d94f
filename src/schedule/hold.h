/* Holds: plans of several rounds. */
#pragma once
#include "schedule/fill.h"

/* Turns the plan into a hold when nothing but its one batch of decodes can change anything: more
 * rounds, as far as every request goes on and no cached block is evicted. */
void schedule_hold(struct schedule_fill *fill, int64_t until_ns);
/* A batch of the first service after `last` that has one, with all its parts, which is held where
 * nothing else can change. */
void schedule_hold_turn(struct schedule_fill *fill, int32_t last);
