/* POST /tokenize and /detokenize: the model's tokenizer, for clients that count tokens. */
#pragma once
#include "api/house.h"

void api_texts_tokenize(struct api *api, struct api_http_exchange *x);
void api_texts_detokenize(struct api *api, struct api_http_exchange *x);
