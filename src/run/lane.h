/* One lane of the real executor: it lays batches out as passes, keeps the device's lane busy with
 * them, and reads what they drew. It belongs to the engine's thread and never waits.
 *
 *   a batch:  given --laid out, pass by pass--> all begun --the last pass ended--> told
 *
 * As many passes are in flight as the device's lane is deep, so the next one is prepared while one
 * runs. A batch of more rows than a pass may have is computed in several: a row's result depends on
 * neither its neighbours nor its pass. pads.h says how a static batch is laid out.
 *
 * A batch fails when one of its passes does. Batches behind a copy that failed on the same lane
 * fail too, since they would read what it should have brought. */
#pragma once
#include "run/lane_state.h"

void run_lane_open(struct run_lane *lane, const struct run_lane_options *options, int index,
                   const struct run_lane_shared *shared);
/* Begins nothing more; true once all work in flight has ended. Then it may be closed. */
bool run_lane_end(struct run_lane *lane);
void run_lane_close(struct run_lane *lane);
/* What the lane computes a model's batches in comes and goes with the model. */
enum status run_lane_put_model(struct run_lane *lane, int service, const struct run_model *model,
                               struct fault *fault) MUST_USE;
void run_lane_remove_model(struct run_lane *lane, int service);
/* Begins one round of batches, in turn; those before were told. */
void run_lane_begin(struct run_lane *lane, const struct batch *batches, int n_batches);
/* Tells the next batch that ended; its results stay until the next begin. */
bool run_lane_poll(struct run_lane *lane, struct engine_exec_done *done);
