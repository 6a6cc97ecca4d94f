/* Logs and traces of a server's engines. */
#include "serve/recorders.h"

#include "base/file.h"
#include "engine/log.h"
#include "metrics/trace.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* They are opened without change; a new file needs its folder. */
static enum status check(const char *path, struct fault *fault)
{
    if (path == NULL || (file_exists(path) && !file_is_directory(path) && access(path, W_OK) == 0))
        return STATUS_OK;
    if (file_exists(path) && !file_is_directory(path))
        return fault_set(fault, STATUS_IO, "%.150s: %s", path, strerror(errno));
    return file_may_write(path, fault);
}

enum status recorders_check(const struct config *config, struct fault *fault)
{
    enum status status = check(config->log_engine, fault);
    return status == STATUS_OK ? check(config->trace, fault) : status;
}

enum status recorders_open(struct recorders *recorders, const struct config *config, int n_engines,
                           struct fault *fault)
{
    enum status status = STATUS_OK;
    *recorders = (struct recorders){ .trace = NULL };
    for (int e = 0; e < n_engines && config->log_engine != NULL && status == STATUS_OK; e++)
        status = engine_log_open_numbered(&recorders->logs[e], config->log_engine, e,
                                          config->log_engine_bytes, fault);
    if (status == STATUS_OK && config->trace != NULL)
        status =
            metrics_trace_open(&recorders->trace, config->trace, config->log_engine_bytes, fault);
    return status;
}

bool recorders_close(struct recorders *recorders)
{
    bool is_written = metrics_trace_close(recorders->trace);
    for (int e = 0; e < LIMIT_DEVICES; e++)
        is_written = engine_log_close(recorders->logs[e]) && is_written;
    return is_written;
}
