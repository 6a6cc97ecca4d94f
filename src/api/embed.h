/* Endpoints that generate nothing: /v1/embeddings, /v1/rerank, /v1/score, and Ollama's /api/embed
 * and /api/embeddings. An embedding model ranks by the cosine of two vectors, a cross-encoder by
 * the score that it gives to a pair. */
#pragma once
#include "api/call_state.h"

void api_embed_openai(struct api *api, struct api_http_exchange *x);
void api_embed_ollama(struct api *api, struct api_http_exchange *x);
void api_embed_ollama_one(struct api *api, struct api_http_exchange *x);
void api_embed_rerank(struct api *api, struct api_http_exchange *x);
void api_embed_score(struct api *api, struct api_http_exchange *x);
