/* Is another map of a chain worth the time in which its layers are loaded? The rule is that of
 * re-placement (place/replace.h, D-8).
 *
 * Gain: the part of a step that the new map saves, of the time that requests spend there: with the
 * rate and the mean latency of a request that is, by Little's law, the mean number of those who are
 * there, until layers are planned again. Cost: those who are there wait, and who comes meanwhile.
 */
#pragma once
#include "place/replace.h"
#include "sim/chain.h"

struct sim_chain_window { /* since layers were planned last, but not less than a while */
    int64_t from_ns, at_ns;
    int64_t n_there, n_arrived;
    double there_ns; /* requests that were there, by time */
};
/* So many more are there from now on, or fewer. */
void sim_chain_weigh_note(struct sim_chain_window *window, int64_t now_ns, int64_t change);
/* Begins anew, if it was long enough to say something. */
void sim_chain_weigh_close(struct sim_chain_window *window, int64_t now_ns);

struct sim_chain_move {
    const struct layers_plan *kept, *planned;
    int64_t weights_bytes; /* to load onto a device, of all the most */
    int64_t n_tokens;      /* whose KV is computed again */
    int64_t interval_ns;   /* until layers are planned again */
};
enum replace_verdict sim_chain_weigh(const struct sim_chain *chain,
                                     const struct sim_chain_window *window,
                                     const struct sim_chain_move *move);
/* After n plans from the beginning until now: the next is as far away as they were apart. */
int64_t sim_chain_weigh_interval_ns(int64_t now_ns, int64_t n_plans);
