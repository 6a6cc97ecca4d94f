/* Models that join and leave a house while it runs: see wire.h. For wire.c alone. */
#pragma once
#include "base/base.h"

struct house;

/* Moves the change that is under way, and the models that leave. Returns the next wake. */
int64_t wire_join_step(struct house *house, int64_t now_ns);
/* Waits for the opener, before a house closes. */
void wire_join_end(struct house *house);
