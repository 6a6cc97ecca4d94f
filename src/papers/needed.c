/* Finds the fewest devices or workers that meet a target. */
#include "papers/needed.h"

static const double targets[PAPERS_TARGETS] = { 1, 0.99, 0.95 };

void papers_needed_init(const struct papers *repro, struct papers_needed *needed)
{
    *needed = (struct papers_needed){ .n_open = { 0 } };
    for (int t = 0; t < PAPERS_TARGETS; t++)
        needed->n_open[t] = papers_n_seeds(repro);
}

bool papers_needed_saw(const struct papers *repro, struct papers_needed *needed, const char *key,
                       double n_devices)
{
    int n_seeds = papers_n_seeds(repro), n_open = 0;
    for (int t = 0; t < PAPERS_TARGETS; t++) {
        for (int seed = 0; seed < n_seeds; seed++) {
            if (needed->has[t][seed] ||
                papers_attained(papers_score(repro, key, seed)) < targets[t])
                continue;
            needed->has[t][seed] = true;
            needed->devices[t] += n_devices / n_seeds;
            needed->n_open[t]--;
        }
        n_open += needed->n_open[t];
    }
    return n_open == 0;
}

void papers_needed_end(const struct papers *repro, struct papers_needed *needed, double n_devices)
{
    for (int t = 0; t < PAPERS_TARGETS; t++)
        needed->devices[t] += n_devices * needed->n_open[t] / papers_n_seeds(repro);
}
