/* Chains in a simulation: an engine whose model is spread by layers over unlike devices, which
 * leave and join while it runs.
 *
 * Every chain is an engine (sim/chain.h). Its pool is bounded by the device with the least room for
 * KV of its layers.
 *
 * HELR, or another planner of layers, plans anew when place/watch.h gives a reason.
 *
 * If all devices of a map are present, a better map replaces it only when that pays
 * (sim/chain_weigh.h), or when KV is short. If it did not pay, the question comes up again after a
 * while.
 *
 *     SERVING --another map--> CLOSING --all went back--> LOADING --weights are there--> SERVING
 *                                              \--no map--> DOWN --a device joins--> LOADING
 *
 * Running requests return to the gateway (door.c) at the end of their step, wait there, and
 * recompute their KV. A device that leaves first finishes the step that it is in. A device that
 * crashes loses the step. All requests return at once, with the tokens of earlier steps, and the
 * chain is DOWN until there is a map. A device keeps the layers that its new part shares with the
 * old one. The other layers come from the host, for all devices side by side.
 *
 * The result is the same with and without holds. */
#pragma once
#include "base/base.h"

/* Private to this room. */
struct sim;
struct sim_engine_spec;
struct sim_chains;
struct sim_chain_map;
struct request;
struct sim_chains *sim_chains_open(struct sim *sim); /* before engines; NULL: there are none */
void sim_chains_close(struct sim_chains *chains);
/* Returns the engine's spec on its present map; NULL: it is no chain. */
const struct sim_engine_spec *sim_chains_spec(const struct sim_chains *chains, int32_t engine);
const struct sim_chain_map *sim_chains_map(const struct sim_chains *chains, int32_t engine);
/* Notes that a request of the service arrived which will have n_tokens tokens; negative: it is
 * over. */
void sim_chains_saw(struct sim *sim, int32_t service, int64_t n_tokens);
void sim_chains_stepped(struct sim *sim, int32_t engine);
/* Returns when the next thing happens to them. *is_waiting: waiting requests may depend on it. */
int64_t sim_chains_wake_ns(const struct sim_chains *chains, bool *is_waiting);
/* Returns whether one of them has no map. */
bool sim_chains_is_down(const struct sim_chains *chains);
void sim_chains_tick(struct sim *sim);
void sim_chains_end(struct sim *sim);
