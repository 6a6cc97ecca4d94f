/* Facts about a model, in the shapes of other servers: its tokenizer (vLLM), its properties
 * (llama-server). With several models the query names one: ?model=NAME. */
#pragma once
#include "api/house.h"

void api_about_tokenizer(struct api *api, struct api_http_exchange *x); /* GET /tokenizer_info */
void api_about_props(struct api *api, struct api_http_exchange *x);     /* GET /props */
