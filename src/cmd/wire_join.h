/* Models that join and leave a house while it runs: see wire.h. Only wire.c includes it. */
#pragma once
#include "base/base.h"

struct house;

/* Continues the running change, and removes models that leave. Returns the next wake. */
int64_t wire_join_step(struct house *house, int64_t now_ns);
/* Waits for the opener's thread, before a house closes. */
void wire_join_end(struct house *house);
