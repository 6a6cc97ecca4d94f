/* llama-server's own endpoint: POST /completion. */
#pragma once
#include "api/http.h"

struct api;
void api_llama_complete(struct api *api, struct api_http_exchange *x);
