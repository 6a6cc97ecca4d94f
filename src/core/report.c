/* Names of a service's status, as `ps` and the API say them. */
#include "core/report.h"

const char *service_status_name(enum service_status status)
{
    static const char *const names[] = {
        [SERVICE_UNLOADED] = "unloaded", [SERVICE_LOADING] = "loading",
        [SERVICE_LOADED] = "loaded",     [SERVICE_DRAINING_OUT] = "draining",
        [SERVICE_BROKEN] = "broken",
    };
    return (size_t)status < COUNT_OF(names) ? names[status] : "unknown";
}
