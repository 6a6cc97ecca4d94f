/* The model's tokenizer and chat template, for clients that count tokens or want to see prompts. */
#pragma once
#include "api/house.h"

/* POST /v1/messages/count_tokens */
void api_texts_count(struct api *api, struct api_http_exchange *x);
/* POST /v1/chat/completions/input_tokens: the same of a chat, as llama-server has it */
void api_texts_count_chat(struct api *api, struct api_http_exchange *x);
/* POST /apply-template, and /v1/chat/completions/render, which has the token ids too */
void api_texts_apply(struct api *api, struct api_http_exchange *x);
void api_texts_render(struct api *api, struct api_http_exchange *x);
void api_texts_tokenize(struct api *api, struct api_http_exchange *x);
void api_texts_detokenize(struct api *api, struct api_http_exchange *x);
