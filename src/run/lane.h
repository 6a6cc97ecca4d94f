/* One lane of the real executor. It lays batches out as passes, keeps the device's lane busy with
 * them, and reads their draws. It belongs to the engine's thread and never waits.
 *
 *   a batch: given --laid out, pass by pass--> all begun --the last pass ended--> reported
 *
 * As many passes are in flight as the device's lane is deep, so the next one is prepared while one
 * runs. A batch with more rows than a pass may have is computed in several passes, since a row's
 * result depends neither on its neighbours nor on its pass.
 *
 * pads.h says how a static batch is laid out.
 *
 * A batch fails when one of its passes does. Batches behind a failed copy on the same lane fail
 * too, since they would read the data that it should have brought. */
#pragma once
#include "run/lane_state.h"

void run_lane_open(struct run_lane *lane, const struct run_lane_options *options, int index,
                   const struct run_lane_shared *shared);
/* Begins nothing more. Returns true once all work in flight has ended; then the lane may be
 * closed. */
bool run_lane_end(struct run_lane *lane);
void run_lane_close(struct run_lane *lane);
/* Adds and removes the workspaces for a model's batches, together with the model. */
enum status run_lane_put_model(struct run_lane *lane, int service, const struct run_model *model,
                               struct fault *fault) MUST_USE;
void run_lane_remove_model(struct run_lane *lane, int service);
/* Begins one round of batches, in turn. All earlier ones have been reported. */
void run_lane_begin(struct run_lane *lane, const struct batch *batches, int n_batches);
/* Reports the next batch that has ended. Its results stay until the next begin. */
bool run_lane_poll(struct run_lane *lane, struct engine_exec_done *done);
