/* Finds the fewest devices, or workers, with which a given part of the requests meets the setting's
 * rule: the cost of a target. */
#pragma once
#include "cmd/repro.h"

enum { REPRO_TARGETS = 3, REPRO_SEEDS_MAX = 1000 };
struct repro_needed {              /* for 100, 99 and 95% */
    double devices[REPRO_TARGETS]; /* mean over seeds */
    int n_open[REPRO_TARGETS];     /* seeds that no number was enough for yet */
    bool has[REPRO_TARGETS][REPRO_SEEDS_MAX];
};
void repro_needed_init(const struct repro *repro, struct repro_needed *needed);
/* Notes that a key was run on n_devices devices, in ascending order. Returns true when no target is
 * open any more. */
bool repro_needed_saw(const struct repro *repro, struct repro_needed *needed, const char *key,
                      double n_devices);
/* Ends the search. Seeds without a sufficient number count as the largest that was tried. */
void repro_needed_end(const struct repro *repro, struct repro_needed *needed, double n_devices);
