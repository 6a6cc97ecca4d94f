/* The tools that a chat offers, which of them may be called, and how reasoning is shown. */
#pragma once
#include "api/fields.h"
#include "calls/tools.h"

struct api_tools {
    const char *json;         /* as they were sent; NULL: none are offered */
    struct calls_tools calls; /* n = 0: none */
    bool is_needed;           /* an answer without a call is not wanted */
    int32_t chosen;           /* the only tool that may be called; -1: any */
    bool is_serial;           /* at most one call */
    bool is_raw;              /* reasoning stays in the text */
    bool hides_thoughts;      /* reasoning is left out */
};
/* Reads tools, tool_choice, parallel_tool_calls, reasoning_format, include_reasoning and
 * separate_reasoning. The pile holds its texts. */
void api_tools_read(struct api_tools *tools, const struct api_fields *fields, struct pile *pile);
