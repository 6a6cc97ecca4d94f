/* Logs and traces of a server's engines. */
#include "cmd/recorders.h"

#include "base/file.h"
#include "engine/log.h"
#include "metrics/trace.h"
#include <errno.h>
#include <stdio.h>
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

enum status recorders_log_open(struct engine_log **log, const char *file, int engine,
                               int64_t n_bytes_max, struct fault *fault)
{
    char path[4096];
    int n = engine == 0 ? snprintf(path, sizeof path, "%s", file)
                        : snprintf(path, sizeof path, "%s.%d", file, engine);
    if (n >= (int)sizeof path)
        return fault_set(fault, STATUS_TOO_LARGE, "log_engine: a path of %d bytes", n);
    return engine_log_open(log, path, n_bytes_max, fault);
}

enum status recorders_open(struct recorders *recorders, const struct config *config, int n_engines,
                           struct fault *fault)
{
    enum status status = STATUS_OK;
    *recorders = (struct recorders){ .trace = NULL };
    for (int e = 0; e < n_engines && config->log_engine != NULL && status == STATUS_OK; e++)
        status = recorders_log_open(&recorders->logs[e], config->log_engine, e,
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
