/* Finds the fewest devices, or workers, with which a given part of the requests meets the setting's
 * rule: the cost of a target. */
#pragma once
#include "papers/papers.h"

enum { PAPERS_TARGETS = 3, PAPERS_SEEDS_MAX = 1000 };
struct papers_needed {              /* for 100, 99 and 95% */
    double devices[PAPERS_TARGETS]; /* mean over seeds */
    int n_open[PAPERS_TARGETS];     /* seeds that no number was enough for yet */
    bool has[PAPERS_TARGETS][PAPERS_SEEDS_MAX];
};
void papers_needed_init(const struct papers *repro, struct papers_needed *needed);
/* Notes that a key was run on n_devices devices, in ascending order. Returns true when no target is
 * open any more. */
bool papers_needed_saw(const struct papers *repro, struct papers_needed *needed, const char *key,
                       double n_devices);
/* Ends the search. Seeds without a sufficient number count as the largest that was tried. */
void papers_needed_end(const struct papers *repro, struct papers_needed *needed, double n_devices);
