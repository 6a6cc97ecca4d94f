/* One lane of the real executor. It lays batches out as passes, keeps the device's lane busy with
 * them, and reads their draws. It belongs to the engine's thread and never waits.
 *
 *   a batch: given --laid out, pass by pass--> all begun --the last pass ended--> reported
 *
 * As many passes are in flight as the device's lane is deep, so the next one is prepared while one
 * runs. A batch with more rows than a pass may have is computed in several passes, since a row's
 * result depends neither on its neighbours nor on its pass. pads.h describes the layout of a static
 * batch.
 *
 * Several rounds of a batch form a chain if each round is one pass in which every item draws. A
 * round is begun while the round before it runs: its ids and histories name the rows whose draws
 * are not known yet. So the device does not wait for the engine between the tokens of a chain.
 *
 *   round k: laid out when round k - 2 was read --its ids are "drawn by row r"--> runs --> read
 *
 * A chain ends early when an item draws a stop id, when the engine cuts it, and when a pass fails.
 * The round in flight then still counts; the engine discards the rows behind an item's stop.
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
/* Begins batches, in turn. All earlier ones have been reported. A chain has up to n_rounds rounds;
 * other batches have one. */
void run_lane_begin(struct run_lane *lane, const struct batch *batches, int n_batches,
                    int n_rounds);
void run_lane_cut(struct run_lane *lane); /* begins no further round of a chain */
/* Reports the next batch that has ended. Its results stay until the next begin. */
bool run_lane_poll(struct run_lane *lane, struct engine_exec_done *done);
