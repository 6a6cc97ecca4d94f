/* Batches of copies, for swaps and hand-overs. Private to this room. */
#pragma once
#include "engine/state.h"

/* Returns the lane that disturbs the others least: the last free one, -1 when none is. */
int32_t engine_copies_lane(const struct engine *engine);
/* Make a batch of copies without items: for a free lane, or for a place on it. */
void engine_copies_start(struct engine *engine, struct engine_flight *flight, uint8_t kind,
                         uint16_t service, uint16_t lane);
void engine_copies_start_at(struct engine *engine, struct engine_flight *flight, uint8_t kind,
                            uint16_t service, uint16_t lane, uint8_t place);
/* Begins n of them, which are on one lane. */
void engine_copies_begin(struct engine *engine, const struct batch *batches, int n);
