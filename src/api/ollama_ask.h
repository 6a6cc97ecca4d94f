/* Translates requests of Ollama's /api/chat and /api/generate into chats, or (raw) completions. */
#pragma once
#include "api/family.h"

json_t *api_ollama_ask_chat(const json_t *body, const struct api_past *past,
                            struct api_error *error);
json_t *api_ollama_ask_generate(const json_t *body, const struct api_past *past,
                                struct api_error *error);
/* Returns which of the two a body of /api/generate becomes. */
enum api_ask_kind api_ollama_ask_kind(const json_t *body);
