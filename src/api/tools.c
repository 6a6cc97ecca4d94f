/* A tool is refused when its name could not be told from the text around it. */
#include "api/tools.h"
#include <string.h>

static bool is_name(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == '\x7f' || strchr("\"'\\<>()[]{}=", name[i]))
            return false;
    return n > 0 && n <= CALLS_NAME_BYTES_MAX;
}

static const char *read_tool(struct api_tools *tools, const json_t *tool, size_t index,
                             struct pile *pile, struct api_error *error)
{
    const char *type = json_string_value(json_object_get(tool, "type"));
    const json_t *function = json_object_get(tool, "function");
    const char *name = json_string_value(json_object_get(function, "name"));
    const json_t *parameters = json_object_get(function, "parameters");
    struct calls_tool *to = &tools->calls.of[index];
    if (type == NULL || strcmp(type, "function") != 0)
        api_error_set(error, ERROR_INVALID, "tools",
                      "tools[%zu].type must be \"function\", got \"%.40s\"", index,
                      type != NULL ? type : "");
    else if (name == NULL || !is_name(name))
        api_error_set(error, ERROR_INVALID, "tools",
                      "tools[%zu].function.name must be a text of 1 to %d bytes without spaces, "
                      "quotes and brackets",
                      index, CALLS_NAME_BYTES_MAX);
    else if (parameters != NULL && !json_is_object(parameters) && !json_is_null(parameters))
        api_error_set(error, ERROR_INVALID, "tools",
                      "tools[%zu].function.parameters must be a JSON Schema (an object)", index);
    else if (json_object_size(json_object_get(parameters, "properties")) > CALLS_PARAMS_MAX)
        api_error_set(error, ERROR_TOO_LARGE, "tools",
                      "tools[%zu].function.parameters may have %d properties", index,
                      CALLS_PARAMS_MAX);
    else if (calls_tools_find(&tools->calls, view_text(name)) != NULL)
        api_error_set(error, ERROR_INVALID, "tools", "tools: two functions are called \"%.100s\"",
                      name);
    if (error->is_set)
        return NULL;
    size_t n = strlen(name);
    to->name = view_of(pile_text(pile, name, n), n);
    calls_tools_read(to, parameters, pile);
    tools->calls.n++;
    return to->name.at;
}

static void read_tools(struct api_tools *tools, const struct api_fields *fields, struct pile *pile)
{
    const json_t *value = api_fields_find(fields, "tools");
    size_t n = json_array_size(value);
    if (value != NULL && !json_is_array(value))
        api_error_set(fields->error, ERROR_INVALID, "tools", "tools must be an array of functions");
    if (n > CALLS_TOOLS_MAX)
        api_error_set(fields->error, ERROR_TOO_LARGE, "tools",
                      "tools may hold %d functions, got %zu", CALLS_TOOLS_MAX, n);
    if (n == 0 || fields->error->is_set)
        return;
    tools->calls.of = pile_take(pile, sizeof(*tools->calls.of) * n);
    for (size_t i = 0; i < n; i++)
        if (read_tool(tools, json_array_get(value, i), i, pile, fields->error) == NULL)
            return;
    size_t n_bytes = json_dumpb(value, NULL, 0, 0);
    char *text = pile_take(pile, n_bytes + 1);
    json_dumpb(value, text, n_bytes, 0);
    tools->json = text;
}

/* Reads {"type": "function", "function": {"name": ...}}. */
static void read_chosen(struct api_tools *tools, const json_t *value, struct api_error *error)
{
    const char *type = json_string_value(json_object_get(value, "type"));
    const json_t *function = json_object_get(value, "function");
    const char *name = json_string_value(json_object_get(function, "name"));
    if (type == NULL || strcmp(type, "function") != 0 || name == NULL) {
        api_error_set(error, ERROR_INVALID, "tool_choice",
                      "tool_choice must be \"none\", \"auto\", \"required\" or {\"type\": "
                      "\"function\", \"function\": {\"name\": ...}}");
        return;
    }
    const struct calls_tool *tool = calls_tools_find(&tools->calls, view_text(name));
    if (tool == NULL)
        api_error_set(error, ERROR_INVALID, "tool_choice",
                      "tool_choice names \"%.100s\", which is none of the tools", name);
    else
        tools->chosen = (int32_t)(tool - tools->calls.of);
    tools->is_needed = true;
}

static void read_choice(struct api_tools *tools, const struct api_fields *fields)
{
    const json_t *value = api_fields_find(fields, "tool_choice");
    const char *text = json_string_value(value);
    bool are_none = false;
    if (value == NULL || (text != NULL && strcmp(text, "auto") == 0))
        return;
    if (text != NULL && strcmp(text, "none") == 0)
        are_none = true;
    else if (text != NULL && strcmp(text, "required") == 0)
        tools->is_needed = true;
    else
        read_chosen(tools, value, fields->error);
    if (tools->is_needed && tools->calls.n == 0)
        api_error_set(fields->error, ERROR_INVALID, "tool_choice",
                      "tool_choice needs tools to choose from");
    if (tools->is_needed)
        api_error_set(fields->error, ERROR_INVALID, "tool_choice",
                      "tool_choice \"required\" and a named function are not supported yet (only "
                      "\"none\" and \"auto\")");
    if (are_none) {
        tools->json = NULL;
        tools->calls = (struct calls_tools){ 0 };
    }
}

static void read_reasoning(struct api_tools *tools, const struct api_fields *fields)
{
    const char *format = api_fields_text(fields, "reasoning_format");
    bool is_shown = true, is_split = true;
    api_fields_bool(fields, "include_reasoning", &is_shown);
    api_fields_bool(fields, "separate_reasoning", &is_split);
    bool is_none = format != NULL && strcmp(format, "none") == 0;
    if (format != NULL && !is_none && strcmp(format, "auto") != 0 &&
        strcmp(format, "deepseek") != 0)
        api_error_set(fields->error, ERROR_INVALID, "reasoning_format",
                      "reasoning_format must be \"auto\", \"deepseek\" or \"none\"");
    tools->is_raw = is_none || !is_split;
    tools->hides_thoughts = !is_shown;
}

void api_tools_read(struct api_tools *tools, const struct api_fields *fields, struct pile *pile)
{
    bool is_parallel = true;
    tools->chosen = -1;
    read_tools(tools, fields, pile);
    if (fields->error->is_set)
        return;
    read_choice(tools, fields);
    api_fields_bool(fields, "parallel_tool_calls", &is_parallel);
    tools->is_serial = !is_parallel;
    read_reasoning(tools, fields);
}
