/* OpenAI's responses: whole answers, and streams of items. */
#pragma once
#include "api/call_state.h"

extern const struct api_family api_responses_family;
