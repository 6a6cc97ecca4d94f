/* Models as Ollama's clients see them. */
#pragma once
#include "api/house.h"

enum { OLLAMA_TIME_BYTES = 40 };

void api_ollama_models_tags(struct api *api, struct api_http_exchange *x);    /* GET /api/tags */
void api_ollama_models_ps(struct api *api, struct api_http_exchange *x);      /* GET /api/ps */
void api_ollama_models_show(struct api *api, struct api_http_exchange *x);    /* POST /api/show */
void api_ollama_models_version(struct api *api, struct api_http_exchange *x); /* GET /api/version */
/* Writes a time of the wall clock as RFC 3339 has it. */
void api_ollama_models_time(int64_t unix_ns, char out[OLLAMA_TIME_BYTES]);
