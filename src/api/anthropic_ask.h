/* Translates requests of Anthropic's messages into chats. */
#pragma once
#include "api/family.h"

/* Returns the body of a chat, or NULL with the error set. */
json_t *api_anthropic_ask(const json_t *body, const struct api_past *past, struct api_error *error);
/* Does the same for a request that counts tokens, which has no max_tokens. */
json_t *api_anthropic_ask_count(const json_t *body, const struct api_past *past,
                                struct api_error *error);
