/* Finds the fewest devices or workers that meet a target. */
#include "cmd/repro_needed.h"

static const double targets[REPRO_TARGETS] = { 1, 0.99, 0.95 };

void repro_needed_init(const struct repro *repro, struct repro_needed *needed)
{
    *needed = (struct repro_needed){ .n_open = { 0 } };
    for (int t = 0; t < REPRO_TARGETS; t++)
        needed->n_open[t] = repro_n_seeds(repro);
}

bool repro_needed_saw(const struct repro *repro, struct repro_needed *needed, const char *key,
                      double n_devices)
{
    int n_seeds = repro_n_seeds(repro), n_open = 0;
    for (int t = 0; t < REPRO_TARGETS; t++) {
        for (int seed = 0; seed < n_seeds; seed++) {
            if (needed->has[t][seed] || repro_attained(repro_score(repro, key, seed)) < targets[t])
                continue;
            needed->has[t][seed] = true;
            needed->devices[t] += n_devices / n_seeds;
            needed->n_open[t]--;
        }
        n_open += needed->n_open[t];
    }
    return n_open == 0;
}

void repro_needed_end(const struct repro *repro, struct repro_needed *needed, double n_devices)
{
    for (int t = 0; t < REPRO_TARGETS; t++)
        needed->devices[t] += n_devices * needed->n_open[t] / repro_n_seeds(repro);
}
