/* Logs and traces of a server's engines. */
#include "cmd/recorders.h"

#include "engine/log.h"
#include "metrics/trace.h"
#include <stdio.h>

enum status recorders_open(struct recorders *recorders, const struct config *config, int n_engines,
                           struct fault *fault)
{
    enum status status = STATUS_OK;
    *recorders = (struct recorders){ .trace = NULL };
    for (int e = 0; e < n_engines && config->log_engine != NULL && status == STATUS_OK; e++) {
        char path[1024];
        int n = e == 0 ? snprintf(path, sizeof path, "%s", config->log_engine)
                       : snprintf(path, sizeof path, "%s.%d", config->log_engine, e);
        if (n >= (int)sizeof path)
            return fault_set(fault, STATUS_TOO_LARGE, "log_engine: a path of %d bytes", n);
        status = engine_log_open(&recorders->logs[e], path, config->log_engine_bytes, fault);
    }
    if (status == STATUS_OK && config->trace != NULL)
        status =
            metrics_trace_open(&recorders->trace, config->trace, config->log_engine_bytes, fault);
    return status;
}

void recorders_close(struct recorders *recorders)
{
    for (int e = 0; e < LIMIT_ENGINES; e++)
        engine_log_close(recorders->logs[e]);
    metrics_trace_close(recorders->trace);
}
