/* Reads the tools that a chat offers, which of them may be called, and how reasoning is shown. */
#pragma once
#include "api/ask.h"
#include "api/fields.h"

/* Reads tools, tool_choice, parallel_tool_calls, reasoning_format, include_reasoning and
 * separate_reasoning. */
void api_tools_read(struct api_ask *ask, const struct api_fields *fields);
