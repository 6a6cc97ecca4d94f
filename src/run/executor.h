/* The real executor: computes an engine's batches on a device.
 *
 * It runs on the engine's thread: begin lays the batches of one lane out and hands them to the
 * device, poll reads what ended and begins what is next. It always does one round, however many
 * were offered: clients see every token as it is drawn. Services are put in and taken out between
 * batches by the thread that drives the engine. The memory of the KV pool and of its host tier is
 * the executor's: attach opens it on the device and lends it to the pool. */
#pragma once
#include "run/lane.h"

struct run_executor;

/* A lane for each that the device has. */
struct run_executor *run_executor_open(const struct run_lane_options *options);
/* Waits for what is in flight. */
void run_executor_close(struct run_executor *executor);
struct engine_exec run_executor_exec(struct run_executor *executor);
/* The model must outlive its stay. Neither may be called while a batch of that service is in
 * flight. What the lanes compute it in comes and goes with it. */
enum status run_executor_put_model(struct run_executor *executor, int service,
                                   const struct run_model *model, struct fault *fault) MUST_USE;
/* From now on a batch of the service takes no less than perf says: its lane keeps its cores after
 * it has computed. Steady times on a machine whose speed is not its own. Before the service's first
 * batch. */
void run_executor_hold_steady(struct run_executor *executor, int service, const struct perf *perf);
void run_executor_remove_model(struct run_executor *executor, int service);
/* Rows of pads and of members that ended, computed ever. Only while nothing is in flight. */
int64_t run_executor_pad_rows(const struct run_executor *executor);
