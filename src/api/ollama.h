/* Ollama's /api/chat and /api/generate: whole answers, and streams of JSON lines. */
#pragma once
#include "api/call_state.h"

extern const struct api_family api_ollama_chats, api_ollama_texts;
