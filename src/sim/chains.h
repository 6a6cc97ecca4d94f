/* Chains in a simulation: an engine whose model is spread by layers over unlike devices, of which
 * some leave and others join while it runs.
 *
 * Every chain is an engine (sim/chain.h): its pool is what the device that is tightest by its
 * layers has room for. HELR, or another planner of layers, plans anew when place/watch.h says so:
 *
 * A map whose devices are all there is given up for a better one only when that pays
 * (sim/chain_weigh.h), or KV is short; where it did not, it is asked again after a while.
 *
 *     SERVING --another map--> CLOSING --all went back--> LOADING --weights are there--> SERVING
 *                                              \--no map--> DOWN --a device joins--> LOADING
 *
 * What runs goes back to the door at the end of its step, waits there, and computes again what it
 * had: a device that leaves does so after the step that it is in. One that crashes takes the step
 * with it: everybody goes back at once, with the tokens of the steps before, and the chain is DOWN
 * until there is a map. A device keeps the layers that its new part shares with the old; the others
 * come from the host, all devices side by side.
 *
 * With holds and without them it is the same. */
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
/* What the engine is like on the map of now; NULL: it is no chain. */
const struct sim_engine_spec *sim_chains_spec(const struct sim_chains *chains, int32_t engine);
const struct sim_chain_map *sim_chains_map(const struct sim_chains *chains, int32_t engine);
/* A request of the service has come that will have so many tokens; or, negative, is over. */
void sim_chains_saw(struct sim *sim, int32_t service, int64_t n_tokens);
void sim_chains_stepped(struct sim *sim, int32_t engine);
/* When something happens to them; *is_waiting: what waits at the door may wait for it. */
int64_t sim_chains_wake_ns(const struct sim_chains *chains, bool *is_waiting);
/* Has one of them no map? */
bool sim_chains_is_down(const struct sim_chains *chains);
void sim_chains_tick(struct sim *sim);
void sim_chains_end(struct sim *sim);
