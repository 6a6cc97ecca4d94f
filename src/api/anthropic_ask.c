/* Blocks become messages: the results of calls are messages of their own, before the user's text.
 *
 * Tools of the service itself (web search and the like) are not offered, since nothing here could
 * run them. Thinking is off unless it is asked for, as with the service. */
#include "api/anthropic_ask.h"
#include "api/chat_json.h"
#include "api/refused.h"
#include "core/limits.h"
#include <stdio.h>
#include <string.h>

enum { MESSAGES_MAX = 4096, BLOCKS_MAX = 65536 };

struct reader {
    json_t *messages; /* of the chat */
    json_t *names;    /* of functions, by the id of the call */
    struct api_error *error;
    size_t index; /* of the message */
};

/* Reads a text, or an array of text blocks. `where` names the field. */
static json_t *read_texts(const json_t *content, const char *where, struct api_error *error)
{
    json_t *parts = json_array();
    if (json_is_string(content))
        api_chat_json_add_part(parts, content);
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *block = json_array_get(content, i), *text = json_object_get(block, "text");
        if (api_chat_json_is_type(block, "text") && json_is_string(text))
            api_chat_json_add_part(parts, text);
        else
            api_error_set(
                error, ERROR_INVALID, where,
                "%s: block %zu must be of type \"text\", got \"%.40s\"", where, i,
                api_chat_json_text(block, "type") != NULL ? api_chat_json_text(block, "type") : "");
    }
    if (content != NULL && !json_is_string(content) && !json_is_array(content))
        api_error_set(error, ERROR_INVALID, where, "%s must be a text or an array of blocks",
                      where);
    return parts;
}

static void read_result(struct reader *reader, const json_t *block)
{
    const char *id = api_chat_json_text(block, "tool_use_id");
    json_t *content = json_object_get(block, "content");
    if (id == NULL)
        api_error_set(reader->error, ERROR_INVALID, "messages",
                      "messages[%zu]: a tool_result needs its tool_use_id", reader->index);
    char where[48];
    snprintf(where, sizeof(where), "messages[%zu].tool_result", reader->index);
    json_t *parts = read_texts(content, where, reader->error);
    if (json_is_true(json_object_get(block, "is_error"))) {
        json_t *mark = json_string("The call failed: ");
        json_t *first = json_array();
        api_chat_json_add_part(first, mark);
        json_decref(mark);
        json_array_extend(first, parts);
        json_decref(parts);
        parts = first;
    }
    json_array_append_new(reader->messages, api_chat_json_result(reader->names, id, parts));
}

static void read_use(struct reader *reader, const json_t *block, json_t *calls)
{
    const json_t *input = json_object_get(block, "input");
    json_t *id = json_object_get(block, "id"), *name = json_object_get(block, "name");
    if (!json_is_string(id) || !json_is_string(name) || !json_is_object(input)) {
        api_error_set(reader->error, ERROR_INVALID, "messages",
                      "messages[%zu]: a tool_use needs id, name and input (an object)",
                      reader->index);
        return;
    }
    char *arguments = json_dumps(input, 0);
    api_chat_json_add_call(calls, json_string_value(id), json_string_value(name),
                           arguments != NULL ? arguments : "{}");
    json_object_set(reader->names, json_string_value(id), name);
    json_free_t give;
    json_get_alloc_funcs(NULL, &give);
    give(arguments);
}

static void refuse_block(struct reader *reader, const json_t *block)
{
    const char *type = api_chat_json_text(block, "type");
    api_error_set(reader->error, ERROR_INVALID, "messages",
                  "messages[%zu].content: blocks of type \"%.40s\" are not supported",
                  reader->index, type != NULL ? type : "");
}

static void read_user(struct reader *reader, const json_t *content)
{
    json_t *parts = json_array();
    size_t n_before = json_array_size(reader->messages);
    for (size_t i = 0; i < json_array_size(content) && !reader->error->is_set; i++) {
        const json_t *block = json_array_get(content, i), *text = json_object_get(block, "text");
        if (api_chat_json_is_type(block, "text") && json_is_string(text))
            api_chat_json_add_part(parts, text);
        else if (api_chat_json_is_type(block, "tool_result"))
            read_result(reader, block);
        else
            refuse_block(reader, block);
    }
    bool has_results = json_array_size(reader->messages) > n_before;
    json_t *message = api_chat_json_message("user");
    bool is_empty = json_array_size(parts) == 0;
    api_chat_json_set_content(message, parts);
    if (!is_empty || !has_results)
        json_array_append(reader->messages, message);
    json_decref(message);
}

/* Thoughts of one message become one text. */
static void add_thought(json_t *message, const json_t *thought)
{
    const char *before = api_chat_json_text(message, "reasoning_content");
    json_object_set_new(message, "reasoning_content",
                        json_sprintf("%s%s%s", before != NULL ? before : "",
                                     before != NULL ? "\n\n" : "", json_string_value(thought)));
}

static void read_assistant(struct reader *reader, const json_t *content)
{
    json_t *parts = json_array(), *calls = json_array(),
           *message = api_chat_json_message("assistant");
    for (size_t i = 0; i < json_array_size(content) && !reader->error->is_set; i++) {
        const json_t *block = json_array_get(content, i), *text = json_object_get(block, "text");
        json_t *thought = json_object_get(block, "thinking");
        if (api_chat_json_is_type(block, "text") && json_is_string(text))
            api_chat_json_add_part(parts, text);
        else if (api_chat_json_is_type(block, "thinking") && json_is_string(thought))
            add_thought(message, thought);
        else if (api_chat_json_is_type(block, "tool_use"))
            read_use(reader, block, calls);
        else if (!api_chat_json_is_type(block, "redacted_thinking"))
            refuse_block(reader, block);
    }
    api_chat_json_set_content(message, parts);
    if (json_array_size(calls) > 0)
        json_object_set(message, "tool_calls", calls);
    json_decref(calls);
    json_array_append_new(reader->messages, message);
}

static void read_message(struct reader *reader, const json_t *message)
{
    const char *role = api_chat_json_text(message, "role");
    const json_t *content = json_object_get(message, "content");
    bool is_user = role != NULL && strcmp(role, "user") == 0;
    bool is_system = role != NULL && strcmp(role, "system") == 0;
    if (!is_user && !is_system && (role == NULL || strcmp(role, "assistant") != 0)) {
        api_error_set(reader->error, ERROR_INVALID, "messages",
                      "messages[%zu].role must be \"user\" or \"assistant\"", reader->index);
    } else if (json_is_string(content) || is_system) {
        json_t *plain = api_chat_json_message(role);
        api_chat_json_set_content(plain, read_texts(content, "messages", reader->error));
        json_array_append_new(reader->messages, plain);
    } else if (!json_is_array(content) || json_array_size(content) > BLOCKS_MAX) {
        api_error_set(reader->error, ERROR_INVALID, "messages",
                      "messages[%zu].content must be a text or an array of up to %d blocks",
                      reader->index, BLOCKS_MAX);
    } else if (is_user) {
        read_user(reader, content);
    } else {
        read_assistant(reader, content);
    }
}

static json_t *read_messages(const json_t *body, struct api_error *error)
{
    const json_t *list = json_object_get(body, "messages"), *system;
    struct reader reader = { .messages = json_array(), .names = json_object(), .error = error };
    if (json_array_size(list) == 0 || json_array_size(list) > MESSAGES_MAX)
        api_error_set(error, ERROR_INVALID, "messages",
                      "messages must be an array of 1 to %d messages", MESSAGES_MAX);
    system = json_object_get(body, "system");
    if (system != NULL && !json_is_null(system)) {
        json_t *message = api_chat_json_message("system");
        json_t *parts = read_texts(system, "system", error);
        bool is_empty = json_array_size(parts) == 0;
        api_chat_json_set_content(message, parts);
        if (!is_empty)
            json_array_append(reader.messages, message);
        json_decref(message);
    }
    for (size_t i = 0; i < json_array_size(list) && !error->is_set; i++) {
        reader.index = i;
        read_message(&reader, json_array_get(list, i));
    }
    json_decref(reader.names);
    return reader.messages;
}

/* Returns the functions of the client; the tools of the service are left out. */
static json_t *read_tools(const json_t *body, struct api_error *error)
{
    const json_t *list = json_object_get(body, "tools");
    json_t *tools = json_array();
    if (list != NULL && !json_is_null(list) && !json_is_array(list))
        api_error_set(error, ERROR_INVALID, "tools", "tools must be an array");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *tool = json_array_get(list, i);
        json_t *schema = json_object_get(tool, "input_schema");
        const char *type = api_chat_json_text(tool, "type");
        if (type != NULL && strcmp(type, "custom") != 0)
            continue;
        if (api_chat_json_text(tool, "name") == NULL || !json_is_object(schema)) {
            api_error_set(error, ERROR_INVALID, "tools",
                          "tools[%zu] needs a name and an input_schema (an object)", i);
            break;
        }
        api_chat_json_add_tool(tools, json_object_get(tool, "name"),
                               json_object_get(tool, "description"), schema);
    }
    return tools;
}

static void read_choice(const json_t *body, json_t *chat, struct api_error *error)
{
    const json_t *choice = json_object_get(body, "tool_choice");
    if (choice == NULL || json_is_null(choice))
        return;
    if (json_is_true(json_object_get(choice, "disable_parallel_tool_use")))
        json_object_set_new(chat, "parallel_tool_calls", json_false());
    if (api_chat_json_is_type(choice, "auto") || api_chat_json_is_type(choice, "none")) {
        json_object_set(chat, "tool_choice", json_object_get(choice, "type"));
    } else if (api_chat_json_is_type(choice, "any")) {
        json_object_set_new(chat, "tool_choice", json_string("required"));
    } else if (api_chat_json_is_type(choice, "tool") &&
               api_chat_json_text(choice, "name") != NULL) {
        json_object_set_new(chat, "tool_choice",
                            api_chat_json_choice(json_object_get(choice, "name")));
    } else {
        api_error_set(error, ERROR_INVALID, "tool_choice",
                      "tool_choice.type must be auto, any, none, or tool with a name");
    }
}

/* Fields that have the same meaning under another name, or the same one. */
static void copy_fields(const json_t *body, json_t *chat, struct api_error *error)
{
    static const char *const fields[][2] = {
        { "model", "model" },         { "max_tokens", "max_tokens" },
        { "stream", "stream" },       { "temperature", "temperature" },
        { "top_p", "top_p" },         { "top_k", "top_k" },
        { "stop_sequences", "stop" }, { "chat_template_kwargs", "chat_template_kwargs" },
    };
    api_chat_json_copy(body, chat, fields, COUNT_OF(fields));
    const json_t *config = json_object_get(body, "output_config");
    json_t *effort = json_object_get(config, "effort"), *format = json_object_get(config, "format");
    if (effort != NULL && !json_is_null(effort))
        json_object_set(chat, "reasoning_effort", effort);
    if (format != NULL && !json_is_null(format)) {
        json_t *inner = json_object(), *outer = json_object();
        json_object_set_new(inner, "name", json_string("answer"));
        json_object_set(inner, "schema", json_object_get(format, "schema"));
        json_object_set(outer, "type", json_object_get(format, "type"));
        json_object_set_new(outer, "json_schema", inner);
        json_object_set_new(chat, "response_format", outer);
    }
    const json_t *stops = json_object_get(body, "stop_sequences");
    if (stops != NULL && !json_is_null(stops) &&
        (!json_is_array(stops) || json_array_size(stops) > LIMIT_STOP_TEXTS))
        api_error_set(error, ERROR_INVALID, "stop_sequences",
                      "stop_sequences must be an array of up to %d strings", LIMIT_STOP_TEXTS);
}

/* Refuses what is of other APIs, since the translation would lose it. Unknown fields go on to the
 * chat, which refuses them when it is strict. */
static void take_others(const json_t *body, json_t *chat, struct api_error *error)
{
    static const char *const own[] = {
        "model",         "messages",       "system",
        "max_tokens",    "stream",         "temperature",
        "top_p",         "top_k",          "tools",
        "tool_choice",   "stop_sequences", "thinking",
        "metadata",      "service_tier",   "user",
        "output_config", "cache_control",  "chat_template_kwargs",
    };
    static const char *const of_service[] = { "mcp_servers", "container", "output_format" };
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)body, name, value) {
        bool is_own = false, is_lost = api_refused_is_known(name);
        for (size_t i = 0; i < COUNT_OF(own); i++)
            is_own = is_own || strcmp(name, own[i]) == 0;
        for (size_t i = 0; i < COUNT_OF(of_service); i++)
            is_lost = is_lost || strcmp(name, of_service[i]) == 0;
        if (is_own || api_chat_json_is_empty(value))
            continue;
        if (is_lost)
            api_error_set(error, ERROR_INVALID, name,
                          "%s is not supported by /v1/messages: leave it out", name);
        else
            json_object_set(chat, name, value);
    }
}

json_t *api_anthropic_ask_count(const json_t *body, const struct api_past *past,
                                struct api_error *error)
{
    (void)past;
    json_t *chat = json_object(), *tools = read_tools(body, error);
    const json_t *thinking = json_object_get(body, "thinking");
    copy_fields(body, chat, error);
    take_others(body, chat, error);
    if (json_array_size(tools) > 0)
        json_object_set(chat, "tools", tools);
    read_choice(body, chat, error);
    json_decref(tools);
    if (thinking != NULL && !json_is_null(thinking) &&
        !api_chat_json_is_type(thinking, "adaptive") &&
        !api_chat_json_is_type(thinking, "enabled") && !api_chat_json_is_type(thinking, "disabled"))
        api_error_set(error, ERROR_INVALID, "thinking",
                      "thinking.type must be \"enabled\", \"adaptive\" or \"disabled\"");
    const json_t *budget = json_object_get(thinking, "budget_tokens");
    if (budget != NULL && api_chat_json_is_type(thinking, "enabled"))
        json_object_set(chat, "thinking_budget", (json_t *)(uintptr_t)budget);
    if (!api_chat_json_is_type(thinking, "adaptive"))
        json_object_set_new(chat, "enable_thinking",
                            json_boolean(api_chat_json_is_type(thinking, "enabled")));
    json_t *messages = read_messages(body, error);
    const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    const char *role = api_chat_json_text(last, "role");
    const json_t *content = json_object_get(last, "content");
    bool has_text = json_array_size(content) > 0 || json_string_length(content) > 0;
    if (role != NULL && strcmp(role, "assistant") == 0 && has_text &&
        json_object_get(last, "tool_calls") == NULL)
        json_object_set_new(chat, "continue_final_message", json_true());
    json_object_set_new(chat, "messages", messages);
    if (!error->is_set)
        return chat;
    json_decref(chat);
    return NULL;
}

json_t *api_anthropic_ask(const json_t *body, const struct api_past *past, struct api_error *error)
{
    const json_t *n_max = json_object_get(body, "max_tokens");
    if (n_max == NULL || json_is_null(n_max))
        api_error_set(error, ERROR_INVALID, "max_tokens", "max_tokens is missing");
    return error->is_set ? NULL : api_anthropic_ask_count(body, past, error);
}
