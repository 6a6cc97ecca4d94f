/* Anthropic's messages: whole answers, and streams of content blocks. */
#pragma once
#include "api/call_state.h"

extern const struct api_family api_anthropic_messages;
