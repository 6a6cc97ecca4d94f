/* Turns the items of a conversation of /v1/responses into messages of a chat. */
#pragma once
#include "api/error.h"
#include <jansson.h>

/* Appends the messages of these items. Items of the model that follow each other (reasoning, a
 * message, calls) become one message. */
void api_responses_items_read(const json_t *items, json_t *messages, struct api_error *error);
/* Returns the request's input as items: a text is one message of the user. NULL with the error set
 * when it is neither a text nor an array. */
json_t *api_responses_items_of(const json_t *input, struct api_error *error);
