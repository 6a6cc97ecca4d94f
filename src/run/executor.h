/* The real executor: computes an engine's batches on a device.
 *
 * It runs on the engine's thread. begin lays the batches of one lane out and passes them to the
 * device. poll reads the ended ones and begins the next. Rounds of decodes are chained, and other
 * batches do one round: see lane.h.
 *
 * The thread that drives the engine adds and removes services between batches. The memory of the KV
 * pool and of its host tier belongs to the executor: attach opens it on the device and lends it to
 * the pool. */
#pragma once
#include "run/lane.h"

struct run_executor;
struct tokenizer;

/* Opens an executor with a lane for each lane of the device. */
struct run_executor *run_executor_open(const struct run_lane_options *options);
/* Waits for all work in flight, then closes. */
void run_executor_close(struct run_executor *executor);
struct engine_exec run_executor_exec(struct run_executor *executor);
/* Add and remove a service's model, which must outlive its stay. Neither may be called while a
 * batch of that service is in flight. The lanes' workspaces for it come and go with it. */
enum status run_executor_put_model(struct run_executor *executor, int service,
                                   const struct run_model *model, struct fault *fault) MUST_USE;
/* From now on a batch of the service takes at least as long as perf predicts: its lane keeps its
 * cores after it has computed. This gives steady times on a machine of unsteady speed. Call it
 * before the service's first batch. */
void run_executor_hold_steady(struct run_executor *executor, int service, const struct perf *perf);
/* Sets the tokenizer of a service whose model is there, for requests with a grammar. It outlives
 * the model's stay. */
void run_executor_put_tokenizer(struct run_executor *executor, int service,
                                const struct tokenizer *tokenizer);
void run_executor_remove_model(struct run_executor *executor, int service);
/* Replace a lost device. The executor has no model, nothing is in flight, and the engine's thread
 * begins nothing meanwhile. drop returns the device, which the caller closes. take leaves the
 * executor without a device when it fails. */
struct compute_device *run_executor_drop_device(struct run_executor *executor);
enum status run_executor_take_device(struct run_executor *executor, struct compute_device *device,
                                     struct fault *fault) MUST_USE;
/* Returns the passes that were ever begun before the ids of their rows were known. */
int64_t run_executor_chained(const struct run_executor *executor);
/* Returns the rows of pads and of ended members that were ever computed. Call it only while nothing
 * is in flight. */
int64_t run_executor_pad_rows(const struct run_executor *executor);
