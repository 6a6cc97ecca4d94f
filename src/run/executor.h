/* The real executor: computes an engine's batches on a device, on a thread per lane.
 *
 * begin hands the batches of one lane over and returns at once; the lane's thread flattens each,
 * runs the forward pass, draws tokens and posts the result. It always does one round, however many
 * were offered: clients see every token as it is drawn. Services are put in and taken out between
 * batches by the thread that drives the engine. */
#pragma once
#include "run/lane.h"

struct run_executor;

/* A lane for each that the device has. */
struct run_executor *run_executor_open(const struct run_lane_options *options);
void run_executor_close(struct run_executor *executor);
struct engine_exec run_executor_exec(struct run_executor *executor);
/* The model must outlive its stay. Neither may be called while a batch of that service is in
 * flight. What the lanes compute it in comes and goes with it. */
void run_executor_put_model(struct run_executor *executor, int service,
                            const struct run_model *model);
/* From now on a batch of the service takes no less than perf says: its lane idles on its core after
 * it has computed. Steady times on a machine whose speed is not its own. Before the service's first
 * batch. */
void run_executor_hold_steady(struct run_executor *executor, int service, const struct perf *perf);
void run_executor_remove_model(struct run_executor *executor, int service);
/* Rows of pads and of members that ended, computed ever. Only while nothing is in flight. */
int64_t run_executor_pad_rows(const struct run_executor *executor);
