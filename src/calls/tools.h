/* The functions that a request offers to the model, as far as a parser needs them: their names, and
 * the types that each parameter may have. */
#pragma once
#include "base/pile.h"
#include "base/str.h"

enum { CALLS_TOOLS_MAX = 512, CALLS_PARAMS_MAX = 4096, CALLS_NAME_BYTES_MAX = 256 };
enum { /* types of a parameter */
       CALLS_TYPE_TEXT = 1,
       CALLS_TYPE_NUMBER = 2,
       CALLS_TYPE_BOOL = 4,
       CALLS_TYPE_NULL = 8,
       CALLS_TYPE_ARRAY = 16,
       CALLS_TYPE_OBJECT = 32,
       CALLS_TYPE_ANY = 63,
};
struct calls_param {
    struct view name;
    unsigned types;
};
struct calls_tool {
    struct view name;
    int32_t n_params;
    const struct calls_param *params;
};
struct calls_tools {
    int32_t n;
    struct calls_tool *of;
};
/* Reads a parameter object's schema (a json_t) into the tool. Its texts are copied into the pile.
 */
void calls_tools_read(struct calls_tool *tool, const void *schema, struct pile *pile);
const struct calls_tool *calls_tools_find(const struct calls_tools *tools, struct view name);
/* Returns the types of a parameter; CALLS_TYPE_ANY when the schema does not have it. */
unsigned calls_tools_types(const struct calls_tool *tool, struct view name);
