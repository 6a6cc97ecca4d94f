/* Counts requests and tokens: each request is one sample when it ends, tokens count as they arrive.
 *
 * A request is one answer: a call with n choices for each of p prompts is n * p requests. A call
 * that is refused before these numbers are known counts once. */
#pragma once
#include "api/call_state.h"

/* Counts n more tokens of an answer. With its first tokens, those of the prompt are counted too. */
void api_tally_tokens(const struct api_choice *choice, int32_t n);
/* Counts the end of the choice's request (enum service_why). */
void api_tally_end(const struct api_choice *choice, uint8_t why);
/* Counts a call that ended before its choices were made. */
void api_tally_call(const struct api_call *call, uint8_t why);
/* Counts an exchange that ends with this error before there is a call. */
void api_tally_refused(struct api *api, const struct api_error *error);
/* Returns the end (enum service_why) of a request that is refused with this error. */
uint8_t api_tally_why(enum api_error_kind kind);
