/* Adaptive re-placement in a simulation: what runs is watched, planned anew, and moved when that
 * pays (place/replace.h has the decisions, SeaLLM's section 4.5).
 *
 * Every interval the monitor says how it went; Equation 8 makes the next interval shorter when it
 * went otherwise than foretold. The requests of the interval, the last n_window of them, are the
 * window that the planner plans on: with the lengths that they had, of those that still run as
 * predicted. The new plan is laid upon the old one (place/align.h), both are simulated on the
 * window, and the new one is installed when its gain pays for the move. Weights that no machine of
 * the node has had before come from its disk while the old plan still serves; the rest is
 * sim/moves.h. What was gained is looked at when the next plan is due: both plans, simulated on the
 * window that came.
 *
 * With holds and without them it is the same, as long as engines believe the truth. */
#pragma once
#include "sim/replan_options.h"

struct sim;
struct sim_engine_part;
struct sim_engine_spec;

/* 24 GB/s from host to a device, 3 GB/s from disk, 25 GB/s between devices. */
void sim_replan_settings_init(struct sim_replan_settings *settings);
/* Sets one by its name: "first_ns=600000" (times in ms), "host_bytes_per_s=24e9", "on", "off". */
enum status sim_replan_set(struct sim_replan_settings *settings, const char *text,
                           struct fault *fault) MUST_USE;

/* The engines that a simulation with re-placement must have: one for every group that there may be.
 * perfs: (n_kinds * PLACE_DEGREES, n_services) what services take on each; lent to the engines.
 * parts: (sim_replan_n_engines, n_services) zeroed, gets the plan's shares and quotas; lent too.
 * With them engines have the lanes of its divisions. NULL: engines have none, as must be where
 * models move: their lanes stay as they were opened. engines: (sim_replan_n_engines). */
int32_t sim_replan_n_engines(const struct place_problem *problem);
void sim_replan_engines(const struct place_problem *problem, const struct place_plan *plan,
                        const struct perf *perfs, struct sim_engine_part *parts,
                        struct sim_engine_spec *engines);

/* Private to this room. */
struct sim_replanning;
struct sim_client;
struct service_event;
struct sim_replanning *sim_replan_open(struct sim *sim);
void sim_replan_close(struct sim_replanning *r);
void sim_replan_arrived(struct sim_replanning *r, const struct sim *sim, uint32_t index);
void sim_replan_ended(struct sim_replanning *r, const struct sim *sim,
                      const struct sim_client *client, uint8_t why);
void sim_replan_stepped(struct sim_replanning *r, struct sim *sim, uint16_t engine);
/* When it wants to be asked; *is_moving: what waits may wait for it. */
int64_t sim_replan_wake_ns(const struct sim_replanning *r, bool *is_moving);
void sim_replan_tick(struct sim_replanning *r, struct sim *sim);
void sim_replan_end(struct sim_replanning *r, struct sim *sim);
