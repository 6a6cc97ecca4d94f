/* Ollama's /api/chat and /api/generate: whole answers, and streams of JSON lines. */
#pragma once
#include "api/call_state.h"

void api_ollama_chat(struct api *api, struct api_http_exchange *x); /* POST /api/chat */
void api_ollama_text(struct api *api, struct api_http_exchange *x); /* POST /api/generate */
