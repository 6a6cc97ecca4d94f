/* The errors that end answers. */
#include "api/ends.h"

#include "api/mirror_state.h"
#include <stdio.h>

uint8_t api_ends_by(const struct api_choice *choice, const struct service_event *event,
                    const char *payload, struct api_error *error)
{
    static const struct {
        enum api_error_kind kind;
        const char *text;
    } rows[SERVICE_WHY_N] = {
        [SERVICE_CANCELLED] = { ERROR_STOPPED, "the request was cancelled by the server" },
        [SERVICE_DEADLINE] = { ERROR_LATE, "the deadline passed before the answer was complete" },
        [SERVICE_FAILED] = { ERROR_HOUSE, "the request could not be served" },
        [SERVICE_TOO_LARGE] = { ERROR_TOO_LARGE, "the request can never fit here" },
        [SERVICE_NOT_READY] = { ERROR_LOADING, "the model is not loaded yet, try again later" },
        [SERVICE_LOAD_FAILED] = { ERROR_LOAD_FAILED,
                                  "the model could not be loaded, and is tried again after a "
                                  "while: the server's log says why" },
        [SERVICE_LEASE_OVER] = { ERROR_HOUSE, "the engine returned the request unanswered" },
        [SERVICE_FULL] = { ERROR_QUEUE_FULL, "the server is full, try again later" },
        [SERVICE_NO_SPACE] = { ERROR_QUEUE_FULL, "other models have the memory that the request "
                                                 "needs, try again later" },
        [SERVICE_DRAINING] = { ERROR_DRAINING, "the server is shutting down" },
        [SERVICE_CRASHED] = { ERROR_HOUSE, "the engine failed" },
    };
    const struct api_call *call = choice->call;
    uint8_t why =
        event->why < SERVICE_WHY_N && rows[event->why].text != NULL ? event->why : SERVICE_FAILED;
    enum api_error_kind kind = rows[why].kind;
    bool is_at_work = choice->n_generated > 0;
    if (why == SERVICE_DEADLINE && is_at_work)
        kind = ERROR_LATE_AT_WORK;
    if (why == SERVICE_FULL && is_at_work)
        kind = ERROR_EVICTED;
    if (event->what == SERVICE_ENDED && event->n_bytes > 0 && why != SERVICE_DEADLINE)
        api_error_set(error, kind, NULL, "%.*s", (int)event->n_bytes, payload);
    else if (why == SERVICE_FAILED && call->prompts.ask.guided.kind != 0)
        api_error_set(error, kind, NULL,
                      "the answer can't go on by %s, which is too ambiguous or contradicts itself: "
                      "simplify it",
                      call->prompts.ask.guided.field);
    else
        api_error_set(error, kind, NULL, "%s", rows[why].text);
    if (kind == ERROR_LOADING) {
        struct api_model_state state = api_mirror_state(call->api, call->prompts.model->service);
        snprintf(error->extra, sizeof(error->extra),
                 ",\"loading\":{\"status\":\"%s\",\"progress\":%.2f}",
                 service_status_name(state.status), state.percent / 100.0);
    }
    return why;
}
