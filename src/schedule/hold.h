/* Holds: plans of several rounds. */
#pragma once
#include "schedule/fill.h"

/* Turns the plan into a hold if only its single batch of decodes can change anything. It gets more
 * rounds, as long as every request goes on and no cached block is evicted. */
void schedule_hold(struct schedule_fill *fill, int64_t until_ns);
/* Plans a batch of the first service after `last` that has one, with all its parts. It is held when
 * nothing else can change. */
void schedule_hold_turn(struct schedule_fill *fill, int32_t last);
