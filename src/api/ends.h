/* How an answer ends that its service could not complete. */
#pragma once
#include "api/call_state.h"

/* Sets the error by the reason of the event, and returns the reason (enum service_why). */
uint8_t api_ends_by(const struct api_choice *choice, const struct service_event *event,
                    const char *payload, struct api_error *error);
