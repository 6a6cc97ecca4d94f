/* Small pieces of OpenAI's chat bodies. */
#include "api/chat_json.h"
#include <string.h>

const char *api_chat_json_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

bool api_chat_json_is_type(const json_t *object, const char *type)
{
    const char *own = api_chat_json_text(object, "type");
    return own != NULL && strcmp(own, type) == 0;
}

bool api_chat_json_is_empty(const json_t *value)
{
    return value == NULL || json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

json_t *api_chat_json_message(const char *role)
{
    json_t *message = json_object();
    json_object_set_new(message, "role", json_string(role));
    return message;
}

void api_chat_json_add_part(json_t *parts, const json_t *text)
{
    json_t *part = json_object();
    json_object_set_new(part, "type", json_string("text"));
    json_object_set(part, "text", (json_t *)(uintptr_t)text);
    json_array_append_new(parts, part);
}

void api_chat_json_set_content(json_t *message, json_t *parts)
{
    if (json_array_size(parts) == 1)
        json_object_set(message, "content", json_object_get(json_array_get(parts, 0), "text"));
    else if (json_array_size(parts) > 0)
        json_object_set(message, "content", parts);
    else
        json_object_set_new(message, "content", json_null());
    json_decref(parts);
}

void api_chat_json_add_call(json_t *calls, const char *id, const char *name, const char *arguments)
{
    json_t *function = json_object(), *call = json_object();
    json_object_set_new(function, "name", json_string(name));
    json_object_set_new(function, "arguments", json_string(arguments));
    json_object_set_new(call, "id", json_string(id));
    json_object_set_new(call, "type", json_string("function"));
    json_object_set_new(call, "function", function);
    json_array_append_new(calls, call);
}

void api_chat_json_add_tool(json_t *tools, json_t *name, json_t *description, json_t *parameters)
{
    json_t *function = json_object(), *row = json_object();
    json_object_set(function, "name", name);
    if (json_is_string(description))
        json_object_set(function, "description", description);
    if (parameters != NULL && !json_is_null(parameters))
        json_object_set(function, "parameters", parameters);
    json_object_set_new(row, "type", json_string("function"));
    json_object_set_new(row, "function", function);
    json_array_append_new(tools, row);
}

json_t *api_chat_json_result(const json_t *names, const char *id, json_t *parts)
{
    json_t *message = api_chat_json_message("tool");
    json_object_set_new(message, "tool_call_id", json_string(id != NULL ? id : ""));
    json_t *name = id != NULL ? json_object_get(names, id) : NULL;
    if (name != NULL)
        json_object_set(message, "name", name);
    api_chat_json_set_content(message, parts);
    if (json_is_null(json_object_get(message, "content")))
        json_object_set_new(message, "content", json_string(""));
    return message;
}

json_t *api_chat_json_choice(json_t *name)
{
    json_t *function = json_object(), *named = json_object();
    json_object_set(function, "name", name);
    json_object_set_new(named, "type", json_string("function"));
    json_object_set_new(named, "function", function);
    return named;
}

void api_chat_json_copy(const json_t *body, json_t *chat, const char *const (*names)[2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_object_get(body, names[i][0]);
        if (value != NULL)
            json_object_set(chat, names[i][1], value);
    }
}
