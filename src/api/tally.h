/* What is counted of requests: each is one sample when it is over, and tokens as they come.
 *
 * A request is an answer that was asked for: a call with n choices of p prompts is n * p of them.
 * One that is refused before it is known how many it asks for counts once. */
#pragma once
#include "api/call.h"

/* n more tokens came; with the first the prompt counts. */
void api_tally_tokens(const struct api_choice *choice, int32_t n);
/* The choice's request is over (enum service_why). */
void api_tally_end(const struct api_choice *choice, uint8_t why);
/* The call is over without choices. */
void api_tally_call(const struct api_call *call, uint8_t why);
/* An exchange ends by this error before there is a call. */
void api_tally_refused(struct api *api, const struct api_error *error);
/* How a request ends that is refused with this error. */
uint8_t api_tally_why(enum api_error_kind kind);
