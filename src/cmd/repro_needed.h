/* The fewest devices, or workers, of which so much of the requests meets the setting's rule: what a
 * target costs. */
#pragma once
#include "cmd/repro.h"

enum { REPRO_TARGETS = 3, REPRO_SEEDS_MAX = 1000 };
struct repro_needed {              /* for 100, 99 and 95% */
    double devices[REPRO_TARGETS]; /* mean over seeds */
    int n_open[REPRO_TARGETS];     /* seeds that no number was enough for yet */
    bool has[REPRO_TARGETS][REPRO_SEEDS_MAX];
};
void repro_needed_init(const struct repro *repro, struct repro_needed *needed);
/* A key was run on so many devices, in ascending order. True when no target is open any more. */
bool repro_needed_saw(const struct repro *repro, struct repro_needed *needed, const char *key,
                      double n_devices);
/* Seeds that nothing was enough for count as the most that was tried. */
void repro_needed_end(const struct repro *repro, struct repro_needed *needed, double n_devices);
