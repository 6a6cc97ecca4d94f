/* The real executor: computes an engine's batches on a backend, on a thread of its own (one lane).
 *
 * begin hands batches over and returns at once; the thread flattens each, runs the forward pass,
 * draws tokens and posts the result. It always does one round, however many were offered: clients
 * see every token as it is drawn. Services are put in and taken out between batches by the thread
 * that drives the engine. */
#pragma once
#include "engine/exec.h"
#include "run/model.h"

struct run_executor;

struct run_executor_options {
    struct run_device *device;
    int32_t n_rows_max;       /* tokens of one batch */
    int32_t n_logit_rows_max; /* requests of one batch */
    enum dtype kv_dtype;
    uint16_t id; /* of its engine, for the thread's name */
};
struct run_executor *run_executor_open(const struct run_executor_options *options);
void run_executor_close(struct run_executor *executor);
struct engine_exec run_executor_exec(struct run_executor *executor);
/* The model must outlive its stay. Neither may be called while a batch of that service is in
 * flight. */
void run_executor_put_model(struct run_executor *executor, int service,
                            const struct run_model *model);
void run_executor_remove_model(struct run_executor *executor, int service);
