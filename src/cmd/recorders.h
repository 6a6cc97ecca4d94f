/* What a server writes about its engines, when asked: the log of each, one trace of all. */
#pragma once
#include "cmd/config.h"
#include "engine/engine.h"

struct recorders {
    struct engine_log *logs[LIMIT_ENGINES]; /* per engine */
    struct metrics_trace *trace;
};
/* Engine e's log is FILE, FILE.1, FILE.2 and so on. */
enum status recorders_open(struct recorders *recorders, const struct config *config, int n_engines,
                           struct fault *fault) MUST_USE;
/* The engines are closed. */
void recorders_close(struct recorders *recorders);
