/* Adds up what the engines report of a service. */
#include "api/mirror_state.h"

/* Returns the state that is closer to serving. */
static enum service_status better_status(enum service_status a, enum service_status b)
{
    static const int rank[] = { [SERVICE_UNLOADED] = 0,
                                [SERVICE_BROKEN] = 1,
                                [SERVICE_DRAINING_OUT] = 2,
                                [SERVICE_LOADING] = 3,
                                [SERVICE_LOADED] = 4 };
    if ((size_t)b >= COUNT_OF(rank))
        return a;
    return rank[b] > rank[a] ? b : a;
}

struct api_model_state api_mirror_state(const struct api *api, uint16_t service)
{
    struct api_model_state state = { .status = SERVICE_UNLOADED };
    for (int32_t i = 0; i < api->mirror.n_engines; i++) {
        const struct engine_report *engine = &api->mirror.engines[i];
        const struct service_report *of = &engine->services[service];
        if (service >= engine->n_services || service >= LIMIT_SERVICES)
            continue;
        state.status = better_status(state.status, (enum service_status)of->status);
        state.percent = of->progress_percent > state.percent ? of->progress_percent : state.percent;
        state.weights_bytes += of->weights_bytes;
        state.activation_bytes += of->activation_bytes;
        state.kv_used_bytes += of->kv_used_bytes;
        state.kv_cached_bytes += of->kv_cached_bytes;
        state.sleep_bytes += of->sleep_bytes;
        state.n_waiting += of->n_waiting;
        state.n_running += of->n_running;
    }
    /* A model with a failed load is reported as unloaded. */
    if (state.status == SERVICE_UNLOADED && service < LIMIT_SERVICES &&
        api->mirror.faults[service].text[0] != '\0')
        state.status = SERVICE_BROKEN;
    return state;
}
