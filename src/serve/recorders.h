/* The optional records of a server about its engines: a log of each, and one trace of all. */
#pragma once
#include "config/config.h"
#include "engine/engine.h"

struct recorders {
    struct engine_log *logs[LIMIT_DEVICES]; /* per engine */
    struct metrics_trace *trace;
};
/* Could the files be written? */
enum status recorders_check(const struct config *config, struct fault *fault) MUST_USE;
enum status recorders_open(struct recorders *recorders, const struct config *config, int n_engines,
                           struct fault *fault) MUST_USE;
/* The engines are closed. False: not all could be written, which the log has said. */
bool recorders_close(struct recorders *recorders);
