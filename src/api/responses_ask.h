/* Translates requests of /v1/responses into chats. */
#pragma once
#include "api/family.h"

struct api_responses_ask { /* kept for the answer, in the ask's pile */
    const char *fields;    /* members of the answer that repeat the request, as JSON */
    const char *items;     /* the request's own input, a JSON array */
    const char *previous;  /* NULL: none */
    bool is_kept;          /* unless it is too large */
};
/* Returns the body of a chat, or NULL with the error set. */
json_t *api_responses_ask(const json_t *body, const struct api_past *past, struct api_error *error);
void api_responses_ask_keep(struct api_ask *ask, const json_t *body);
