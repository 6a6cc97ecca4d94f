/* Names the reasons of a request's return and the statuses of a service, for metrics, logs and
 * `ps`. */
#include "core/service.h"
#include "core/report.h"

static const char *const names[SERVICE_WHY_N] = {
    [SERVICE_WHY_NONE] = "none",
    [SERVICE_STOPPED] = "stop",
    [SERVICE_LENGTH] = "length",
    [SERVICE_CANCELLED] = "cancelled",
    [SERVICE_DEADLINE] = "deadline",
    [SERVICE_FAILED] = "failed",
    [SERVICE_TOO_LARGE] = "too-large",
    [SERVICE_NOT_READY] = "not-ready",
    [SERVICE_LOAD_FAILED] = "load-failed",
    [SERVICE_LEASE_OVER] = "lease-over",
    [SERVICE_FULL] = "full",
    [SERVICE_NO_SPACE] = "no-space",
    [SERVICE_DRAINING] = "draining",
    [SERVICE_CRASHED] = "crashed",
};

const char *service_why_name(enum service_why why)
{
    bool is_known = (unsigned)why < SERVICE_WHY_N && names[why] != NULL;
    return is_known ? names[why] : "unknown";
}

const char *service_status_name(enum service_status status)
{
    static const char *const status_names[] = {
        [SERVICE_UNLOADED] = "unloaded", [SERVICE_LOADING] = "loading",
        [SERVICE_LOADED] = "loaded",     [SERVICE_DRAINING_OUT] = "draining",
        [SERVICE_BROKEN] = "broken",
    };
    return (size_t)status < COUNT_OF(status_names) ? status_names[status] : "unknown";
}
