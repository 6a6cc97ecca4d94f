/* Plans a live cluster on the last window: the work of a planner's process.
 *
 * It is what `shoal plan` and the simulator's re-placement do, with other inputs. Each engine is a
 * device of a machine of its own, so that a group has one device: no model spans devices while it
 * serves. Services have the profiles that their engines measured. Requests are drawn from the
 * window: as many as came in each bin, with lengths of the measured means and deviations.
 *
 * The present placement is simulated beside the new one, and place/replace.h decides. A live move
 * loads a copy before an old one leaves. So what it costs is not the time without a copy: requests
 * that run at a copy that leaves wait until they are computed anew elsewhere, and the plan gains
 * nothing before its weights are there. */
#pragma once
#include "live/job.h"

/* Writes job->result. */
void live_plan(struct live_job *job);
/* Runs the job at the descriptor PROCESS_CHILD_FDS. Returns the exit code. */
int live_plan_run(int fd);
/* Returns whether a result that a process wrote can be one of this job. */
bool live_plan_is_sane(const struct live_job *job, const struct live_result *result);
const char *live_plan_verdict_name(int32_t verdict);
