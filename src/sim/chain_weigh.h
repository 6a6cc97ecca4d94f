/* Decides whether another map of a chain is worth the time in which its layers are loaded. The rule
 * is that of re-placement (place/replace.h, D-8).
 *
 * The gain is the part of a step that the new map saves, times the time that requests spend in the
 * chain until layers are planned again. By Little's law, rate times mean latency is the mean number
 * of present requests. The cost is the wait of the requests that are present, and of those that
 * arrive meanwhile. */
#pragma once
#include "place/replace.h"
#include "sim/chain.h"

struct sim_chain_window { /* since layers were last planned, but at least a while */
    int64_t from_ns, at_ns;
    int64_t n_there, n_arrived;
    double there_ns; /* requests that were there, by time */
};
/* Notes that the number of present requests changes by this much from now on. */
void sim_chain_weigh_note(struct sim_chain_window *window, int64_t now_ns, int64_t change);
/* Begins a new window, if this one was long enough to mean something. */
void sim_chain_weigh_close(struct sim_chain_window *window, int64_t now_ns);

struct sim_chain_move {
    const struct layers_plan *kept, *planned;
    int64_t weights_bytes; /* to load onto a device: the maximum over all */
    int64_t n_tokens;      /* KV to compute again */
    int64_t interval_ns;   /* until layers are planned again */
};
enum replace_verdict sim_chain_weigh(const struct sim_chain *chain,
                                     const struct sim_chain_window *window,
                                     const struct sim_chain_move *move);
/* Returns the interval to the next plan, after n plans from the beginning until now: it is as long
 * as their mean distance. */
int64_t sim_chain_weigh_interval_ns(int64_t now_ns, int64_t n_plans);
