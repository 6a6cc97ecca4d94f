/* Adaptive re-placement in a simulation: the running system is watched, planned anew, and moved
 * when that pays (place/replace.h has the decisions, SeaLLM's section 4.5).
 *
 * Every interval the monitor reports how it went. Equation 8 shortens the next interval when that
 * deviates from the prediction.
 *
 * The planner plans on a window: the last n_window requests of the interval, with their true
 * lengths, or the predicted ones if they still run. The new plan is aligned with the old one
 * (place/align.h), and both are simulated on the window. The new one is installed when its gain
 * pays for the move. Weights that no machine of the node has had before come from its disk while
 * the old plan still serves. The rest is in sim/moves.h. The real gain is measured when the next
 * plan is due: both plans are simulated on the window that followed.
 *
 * The result is the same with and without holds, as long as engines believe the truth. */
#pragma once
#include "sim/replan_options.h"

struct sim;
struct sim_engine_part;
struct sim_engine_spec;

/* Sets the defaults: 24 GB/s from host to a device, 3 GB/s from disk, 25 GB/s between devices. */
void sim_replan_settings_init(struct sim_replan_settings *settings);
/* Sets one by its name: "first_ns=600000" (times in ms), "host_bytes_per_s=24e9", "on", "off". */
enum status sim_replan_set(struct sim_replan_settings *settings, const char *text,
                           struct fault *fault) MUST_USE;

/* Makes the engines that a simulation with re-placement needs: one for every possible group. perfs:
 * (n_kinds * PLACE_DEGREES, n_services) times of services on each; lent to the engines. parts:
 * (sim_replan_n_engines, n_services) zeroed, gets the plan's shares and quotas; also lent. With
 * parts, engines have the lanes of the plan's divisions. NULL: engines have no lanes, which is
 * required if models move, because lanes stay as they were opened. engines:
 * (sim_replan_n_engines). */
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
/* Returns when it wants a call. *is_moving: waiting requests may depend on the move. */
int64_t sim_replan_wake_ns(const struct sim_replanning *r, bool *is_moving);
void sim_replan_tick(struct sim_replanning *r, struct sim *sim);
void sim_replan_end(struct sim_replanning *r, struct sim *sim);
