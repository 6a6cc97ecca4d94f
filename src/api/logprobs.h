/* Writes log probabilities of an answer's and of a prompt's tokens. */
#pragma once
#include "api/call_state.h"
#include "base/json_out.h"

/* Prints those of the tokens that belong to the text just shown, with those of an echoed prompt
 * ahead of the first. */
void api_logprobs_print(struct api_call *call, struct api_choice *choice, struct json_out *json);
/* Prints these tokens with their ids, as llama-server does. */
void api_logprobs_print_ids(const struct api_call *call, const struct api_token *tokens, size_t n,
                            struct json_out *json);
/* Prints vLLM's member prompt_logprobs. */
void api_logprobs_print_prompt(const struct api_choice *choice, struct json_out *json);
