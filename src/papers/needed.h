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
/* A search: its runs with more and more devices. */
struct papers_search {
    int first, last, step; /* what a run has of them: workers, devices */
    int n_devices;         /* of each */
    const void *self;
    void (*name)(const void *self, int n, char key[PAPERS_KEY_MAX]);
    /* Simulates with n under the key; no run, where nothing can be placed, is no fault. */
    enum status (*run)(struct papers *repro, const void *self, int n, const char *key,
                       struct fault *fault);
};
/* Runs the search until every target is met with every seed. */
enum status papers_needed_run(struct papers *repro, const struct papers_search *search,
                              struct fault *fault) MUST_USE;
/* Counts from the records of the runs. Seeds without a sufficient number count as the largest. */
void papers_needed_count(const struct papers *repro, const struct papers_search *search,
                         struct papers_needed *needed);
