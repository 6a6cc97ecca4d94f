/* Reads the trace of an engine with lanes. */
#pragma once
#include <stdint.h>

/* Counts pairs of batches of two models, one that computes prompts and one that decodes, each of
 * which began before the other ended: both computed at once. */
int64_t pairs_count(const char *path);
