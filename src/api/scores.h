/* Scores of a choice's prompt, as they come from the service. */
#pragma once
#include "api/call_state.h"

enum api_scores {
    API_SCORES_TAKEN,
    API_SCORES_LOST,    /* some are missing, or they are not those of the prompt */
    API_SCORES_STARVED, /* there is no memory */
};
enum api_scores api_scores_take(struct api_choice *choice, const struct service_event *event,
                                const void *payload);
/* Returns whether some are missing, which all come ahead of the answer. */
bool api_scores_lack(const struct api_choice *choice);
