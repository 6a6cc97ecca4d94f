/* Translates requests of llama-server's own /completion into completions. */
#pragma once
#include "api/family.h"

enum { LLAMA_FIELDS_MAX = 64 };
struct api_llama_kept { /* what the answer needs of the request */
    bool returns_tokens;
    int32_t n_probs, n_predict;           /* n_predict: as the client wrote it, or -1 */
    const char *fields[LLAMA_FIELDS_MAX]; /* (n_fields) response_fields: all that is shown */
    int32_t n_fields;
};
/* Returns the body of a completion, or NULL with the error set. */
json_t *api_llama_ask(const json_t *body, const struct api_past *past, struct api_error *error);
/* Keeps a struct api_llama_kept. */
void api_llama_ask_keep(struct api_ask *ask, const json_t *body);
