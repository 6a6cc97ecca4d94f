/* An item without a type is a message, as the service has it. */
#include "api/responses_items.h"
#include "api/chat_json.h"
#include <stdio.h>
#include <string.h>

enum { ITEMS_MAX = 65536 };

struct reader {
    json_t *messages;
    json_t *names;     /* of functions, by the id of the call */
    json_t *assistant; /* the message that the model's items go to; NULL: none is open */
    struct api_error *error;
    size_t index; /* of the item */
};

/* Appends the texts of a content. Parts that are no texts are refused. */
static json_t *read_texts(struct reader *reader, const json_t *content, const char *field)
{
    static const char *const types[] = { "input_text", "output_text", "text", "reasoning_text" };
    json_t *parts = json_array();
    if (json_is_string(content))
        api_chat_json_add_part(parts, content);
    else if (!json_is_array(content))
        api_error_set(reader->error, ERROR_INVALID, "input",
                      "input[%zu].%s must be a text or an array of parts", reader->index, field);
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i), *text = json_object_get(part, "text");
        const char *type = api_chat_json_text(part, "type");
        bool is_text = false;
        for (size_t k = 0; k < COUNT_OF(types); k++)
            is_text = is_text || api_chat_json_is_type(part, types[k]);
        if (api_chat_json_is_type(part, "refusal")) {
            text = json_object_get(part, "refusal");
            is_text = true;
        }
        if (is_text && json_is_string(text))
            api_chat_json_add_part(parts, text);
        else
            api_error_set(reader->error, ERROR_INVALID, "input",
                          "input[%zu].%s[%zu]: parts of type \"%.40s\" are not supported, only "
                          "texts are",
                          reader->index, field, i, type != NULL ? type : "");
    }
    return parts;
}

static void close_assistant(struct reader *reader)
{
    if (reader->assistant == NULL)
        return;
    if (json_object_get(reader->assistant, "content") == NULL)
        json_object_set_new(reader->assistant, "content", json_null());
    json_array_append_new(reader->messages, reader->assistant);
    reader->assistant = NULL;
}

/* Opens a message of the model, unless one is open that has none of this member yet. */
static json_t *open_assistant(struct reader *reader, const char *member)
{
    if (reader->assistant != NULL && json_object_get(reader->assistant, member) != NULL)
        close_assistant(reader);
    if (reader->assistant == NULL)
        reader->assistant = api_chat_json_message("assistant");
    return reader->assistant;
}

static void read_message(struct reader *reader, const json_t *item)
{
    static const char *const roles[] = { "user", "system", "developer" };
    const char *role = api_chat_json_text(item, "role");
    bool is_known = false;
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        is_known = is_known || (role != NULL && strcmp(role, roles[i]) == 0);
    json_t *parts = read_texts(reader, json_object_get(item, "content"), "content");
    if (role != NULL && strcmp(role, "assistant") == 0) {
        if (json_object_get(reader->assistant, "tool_calls") != NULL)
            close_assistant(reader); /* the text came after these calls */
        api_chat_json_set_content(open_assistant(reader, "content"), parts);
        return;
    }
    close_assistant(reader);
    if (!is_known)
        api_error_set(reader->error, ERROR_INVALID, "input",
                      "input[%zu].role must be user, assistant, system or developer",
                      reader->index);
    json_t *message = api_chat_json_message(role != NULL ? role : "");
    if (json_array_size(parts) == 0) /* an empty content is an empty text */
        json_array_append_new(parts, json_pack("{ssss}", "type", "text", "text", ""));
    api_chat_json_set_content(message, parts);
    json_array_append_new(reader->messages, message);
}

static void read_call(struct reader *reader, const json_t *item)
{
    const char *id = api_chat_json_text(item, "call_id"), *name = api_chat_json_text(item, "name");
    const char *arguments = api_chat_json_text(item, "arguments");
    if (id == NULL || name == NULL || arguments == NULL) {
        api_error_set(reader->error, ERROR_INVALID, "input",
                      "input[%zu]: a function_call needs call_id, name and arguments (texts)",
                      reader->index);
        return;
    }
    if (reader->assistant == NULL)
        reader->assistant = api_chat_json_message("assistant");
    json_t *calls = json_object_get(reader->assistant, "tool_calls");
    if (calls == NULL) {
        calls = json_array();
        json_object_set_new(reader->assistant, "tool_calls", calls);
    }
    api_chat_json_add_call(calls, id, name, arguments[0] != '\0' ? arguments : "{}");
    json_object_set_new(reader->names, id, json_string(name));
}

static void read_output(struct reader *reader, const json_t *item)
{
    const char *id = api_chat_json_text(item, "call_id");
    close_assistant(reader);
    json_t *parts = read_texts(reader, json_object_get(item, "output"), "output");
    if (id == NULL)
        api_error_set(reader->error, ERROR_INVALID, "input",
                      "input[%zu]: a function_call_output needs its call_id", reader->index);
    json_array_append_new(reader->messages, api_chat_json_result(reader->names, id, parts));
}

/* Only the reasoning itself goes on: a summary is no reasoning, and nothing here could read it
 * encrypted. */
static void read_reasoning(struct reader *reader, const json_t *item)
{
    const json_t *content = json_object_get(item, "content");
    if (api_chat_json_is_empty(content))
        return;
    json_t *parts = read_texts(reader, content, "content");
    json_t *message = open_assistant(reader, "reasoning_content");
    struct str whole;
    str_init(&whole);
    str_add_text(&whole, "");
    for (size_t i = 0; i < json_array_size(parts); i++)
        str_add_text(&whole, api_chat_json_text(json_array_get(parts, i), "text"));
    json_object_set_new(message, "reasoning_content", json_string(whole.at));
    str_free(&whole);
    json_decref(parts);
}

static void read_item(struct reader *reader, const json_t *item)
{
    const char *type = api_chat_json_text(item, "type");
    if (!json_is_object(item))
        api_error_set(reader->error, ERROR_INVALID, "input", "input[%zu] must be an object",
                      reader->index);
    else if (type == NULL || strcmp(type, "message") == 0)
        read_message(reader, item);
    else if (strcmp(type, "function_call") == 0)
        read_call(reader, item);
    else if (strcmp(type, "function_call_output") == 0)
        read_output(reader, item);
    else if (strcmp(type, "reasoning") == 0)
        read_reasoning(reader, item);
    else
        api_error_set(reader->error, ERROR_INVALID, "input",
                      "input[%zu]: items of type \"%.40s\" are not supported", reader->index, type);
}

void api_responses_items_read(const json_t *items, json_t *messages, struct api_error *error)
{
    struct reader reader = { .messages = messages, .names = json_object(), .error = error };
    if (json_array_size(items) > ITEMS_MAX)
        api_error_set(error, ERROR_TOO_LARGE, "input", "a conversation may have %d items, got %zu",
                      ITEMS_MAX, json_array_size(items));
    for (size_t i = 0; i < json_array_size(items) && !error->is_set; i++) {
        reader.index = i;
        read_item(&reader, json_array_get(items, i));
    }
    close_assistant(&reader);
    json_decref(reader.names);
}

json_t *api_responses_items_of(const json_t *input, struct api_error *error)
{
    if (json_is_array(input))
        return json_incref((json_t *)(uintptr_t)input);
    if (!json_is_string(input)) {
        api_error_set(error, ERROR_INVALID, "input", "input must be a text or an array of items");
        return NULL;
    }
    json_t *items = json_array(), *parts = json_array(), *part = json_object();
    json_t *item = api_chat_json_message("user");
    json_object_set_new(part, "type", json_string("input_text"));
    json_object_set(part, "text", (json_t *)(uintptr_t)input);
    json_array_append_new(parts, part);
    json_object_set_new(item, "type", json_string("message"));
    json_object_set_new(item, "content", parts);
    json_array_append_new(items, item);
    return items;
}
