/* One completion call: one exchange with one or more choices. Each choice is a request at the
 * service.
 *
 * READING (perhaps on a worker) --> RUNNING (submitted) --> WRITING (perhaps on a worker) -->
 * answered, failed, or its client left; in each state the client may leave, and everything is given
 * back. */
#pragma once
#include "api/call_state.h"

/* Answers a request of this family. */
void api_call_take(struct api *api, struct api_http_exchange *x, const struct api_family *family);
/* POST /v1/chat/completions and /v1/completions. */
void api_call_chat(struct api *api, struct api_http_exchange *x);
void api_call_completion(struct api *api, struct api_http_exchange *x);
void api_call_messages(struct api *api, struct api_http_exchange *x);  /* POST /v1/messages */
void api_call_responses(struct api *api, struct api_http_exchange *x); /* POST /v1/responses */
void api_call_event(struct api *api, const struct service_event *event, const void *payload);
void api_call_submit(struct api *api); /* submits some of the choices that are not submitted yet */
/* Sends pings on streams that were quiet for a while. */
void api_call_sweep(struct api *api, int64_t now_ns);
/* Ends every call with this error. */
void api_call_fail_all(struct api *api, const struct api_error *error);
