/* Finds the fewest devices or workers that meet a target. */
#include "papers/needed.h"

static const double targets[PAPERS_TARGETS] = { 1, 0.99, 0.95 };

static void init(const struct papers *repro, struct papers_needed *needed)
{
    *needed = (struct papers_needed){ .n_open = { 0 } };
    for (int t = 0; t < PAPERS_TARGETS; t++)
        needed->n_open[t] = papers_n_seeds(repro);
}

/* Notes that a key was run on n_devices devices, in ascending order. Returns true when no target is
 * open any more. */
static bool note(const struct papers *repro, struct papers_needed *needed, const char *key,
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

enum status papers_needed_run(struct papers *repro, const struct papers_search *search,
                              struct fault *fault)
{
    struct papers_needed needed;
    bool is_over = false;
    init(repro, &needed);
    for (int n = search->first; n <= search->last && !is_over; n += search->step) {
        char key[PAPERS_KEY_MAX];
        search->name(search->self, n, key);
        enum status status = search->run(repro, search->self, n, key, fault);
        if (status != STATUS_OK)
            return status;
        is_over = papers_case(repro, key, 0) != NULL && note(repro, &needed, key, n);
    }
    return STATUS_OK;
}

void papers_needed_count(const struct papers *repro, const struct papers_search *search,
                         struct papers_needed *needed)
{
    init(repro, needed);
    for (int n = search->first; n <= search->last; n += search->step) {
        char key[PAPERS_KEY_MAX];
        search->name(search->self, n, key);
        if (papers_case(repro, key, 0) != NULL)
            (void)note(repro, needed, key, n * search->n_devices);
    }
    for (int t = 0; t < PAPERS_TARGETS; t++)
        needed->devices[t] +=
            (double)search->last * search->n_devices * needed->n_open[t] / papers_n_seeds(repro);
}
