/* Names the reasons of a request's return and the statuses of a service, for metrics, logs and
 * `ps`. */
#include "core/service.h"
#include "core/report.h"
#include <string.h>

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

/* Checks the log-probabilities behind the tokens: no list may be longer than its room. */
static bool are_logprobs(const struct service_event *event, const void *payload)
{
    size_t n = (size_t)event->n_tokens;
    size_t n_id_bytes = event->what == SERVICE_TOKENS ? n * sizeof(int32_t) : 0;
    const unsigned char *at = (const unsigned char *)payload + n_id_bytes;
    if ((size_t)event->n_bytes - n_id_bytes < n * sizeof(struct token_logprobs))
        return event->what == SERVICE_TOKENS; /* it has none */
    for (size_t i = 0; i < n; i++) {
        struct token_logprobs logprobs;
        memcpy(&logprobs, at + i * sizeof(logprobs), sizeof(logprobs));
        if (logprobs.n_top < 0 || logprobs.n_top > LIMIT_TOP_LOGPROBS)
            return false;
    }
    return true;
}

bool service_event_is_valid(const struct service_event *e, const void *payload, size_t n_bytes)
{
    if (e->what > SERVICE_VECTOR || e->why >= SERVICE_WHY_N || e->n_bytes < 0 || e->n_tokens < 0 ||
        e->position < 0 || e->device_ns < 0 || (size_t)e->n_bytes != n_bytes)
        return false;
    if (e->what == SERVICE_SCORES)
        return e->n_tokens > 0 && are_logprobs(e, payload);
    if (e->what == SERVICE_VECTOR)
        return e->n_tokens > 0 && e->position <= LIMIT_VECTOR &&
               (size_t)e->n_tokens * sizeof(float) == n_bytes;
    return e->what != SERVICE_TOKENS ||
           ((size_t)e->n_tokens * sizeof(int32_t) <= (size_t)e->n_bytes &&
            are_logprobs(e, payload));
}
