/* Fields of the service that change the answer and have no meaning here are refused by name. Its
 * own tools (web search and the like) are not offered, since nothing here could run them. */
#include "api/responses_ask.h"
#include "api/chat_json.h"
#include "api/refused.h"
#include "api/responses_items.h"
#include "api/responses_store.h"
#include <string.h>

/* Fields of this API. `neutral`: refused unless the value is this text or asks for nothing. */
static const struct own {
    const char *name;
    bool is_refused;
    const char *neutral;
} owns[] = {
    { "background", true, NULL },
    { "client_metadata", false, NULL },
    { "context_management", true, NULL },
    { "conversation", true, NULL },
    { "include", false, NULL },
    { "input", false, NULL },
    { "instructions", false, NULL },
    { "max_output_tokens", false, NULL },
    { "max_tool_calls", false, NULL }, /* it bounds the service's own tools */
    { "moderation", true, NULL },
    { "parallel_tool_calls", false, NULL },
    { "previous_response_id", false, NULL },
    { "prompt", true, NULL },
    { "prompt_cache_options", false, NULL },
    { "reasoning", false, NULL },
    { "store", false, NULL },
    { "stream_options", false, NULL },
    { "text", false, NULL },
    { "tool_choice", false, NULL },
    { "tools", false, NULL },
    { "top_logprobs", true, NULL },
    { "truncation", true, "disabled" },
};

/* Fields that chats have too, with the same meaning. */
static const char *const same[][2] = {
    { "model", "model" },
    { "max_output_tokens", "max_tokens" },
    { "stream", "stream" },
    { "temperature", "temperature" },
    { "top_p", "top_p" },
    { "parallel_tool_calls", "parallel_tool_calls" },
    { "metadata", "metadata" },
    { "user", "user" },
    { "service_tier", "service_tier" },
    { "safety_identifier", "safety_identifier" },
    { "prompt_cache_key", "prompt_cache_key" },
    { "prompt_cache_retention", "prompt_cache_retention" },
    { "top_k", "top_k" },
    { "min_p", "min_p" },
    { "seed", "seed" },
    { "stop", "stop" },
    { "frequency_penalty", "frequency_penalty" },
    { "presence_penalty", "presence_penalty" },
    { "repetition_penalty", "repetition_penalty" },
    { "priority", "priority" },
    { "chat_template_kwargs", "chat_template_kwargs" },
};

static bool is_neutral(const struct own *own, const json_t *value)
{
    const char *text = json_string_value(value);
    return api_chat_json_is_empty(value) ||
           (json_is_integer(value) && json_integer_value(value) == 0) ||
           (own->neutral != NULL && text != NULL && strcmp(text, own->neutral) == 0);
}

static bool is_same(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(same); i++)
        if (strcmp(same[i][0], name) == 0)
            return true;
    return false;
}

static void take_field(json_t *chat, const char *name, json_t *value, struct api_error *error)
{
    bool is_lost = api_refused_is_known(name), is_own = false;
    for (size_t i = 0; i < COUNT_OF(owns); i++)
        if (strcmp(owns[i].name, name) == 0) {
            is_own = true;
            is_lost = owns[i].is_refused && !is_neutral(&owns[i], value);
        }
    if (is_own ? !is_lost : is_same(name) || api_chat_json_is_empty(value))
        return;
    if (is_lost)
        api_error_set(error, ERROR_INVALID, name,
                      "%.60s is not supported by /v1/responses: leave it out", name);
    else
        json_object_set(chat, name, value); /* refused there when it is strict */
}

/* Offers the functions. allowed: the tools that tool_choice admits; NULL: all. */
static void read_tools(const json_t *body, const json_t *allowed, json_t *chat,
                       struct api_error *error)
{
    const json_t *list = json_object_get(body, "tools");
    json_t *tools = json_array();
    if (list != NULL && !json_is_null(list) && !json_is_array(list))
        api_error_set(error, ERROR_INVALID, "tools", "tools must be an array");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *tool = json_array_get(list, i);
        const char *name = api_chat_json_text(tool, "name");
        bool is_allowed = allowed == NULL;
        if (api_chat_json_text(tool, "type") == NULL)
            api_error_set(error, ERROR_INVALID, "tools", "tools[%zu] needs a type", i);
        if (!api_chat_json_is_type(tool, "function"))
            continue;
        if (name == NULL)
            api_error_set(error, ERROR_INVALID, "tools", "tools[%zu] needs a name, beside its type",
                          i);
        for (size_t k = 0; k < json_array_size(allowed) && name != NULL; k++) {
            const char *one = api_chat_json_text(json_array_get(allowed, k), "name");
            is_allowed = is_allowed || (one != NULL && strcmp(one, name) == 0);
        }
        if (is_allowed && name != NULL)
            api_chat_json_add_tool(tools, json_object_get(tool, "name"),
                                   json_object_get(tool, "description"),
                                   json_object_get(tool, "parameters"));
    }
    if (json_array_size(tools) > 0)
        json_object_set(chat, "tools", tools);
    json_decref(tools);
}

static void read_choice(const json_t *body, json_t *chat, struct api_error *error)
{
    json_t *choice = json_object_get(body, "tool_choice");
    const json_t *allowed = NULL;
    if (api_chat_json_is_type(choice, "allowed_tools")) {
        allowed = json_object_get(choice, "tools");
        if (!json_is_array(allowed))
            api_error_set(error, ERROR_INVALID, "tool_choice",
                          "tool_choice.tools must be an array of tools");
        choice = json_object_get(choice, "mode");
    }
    if (json_is_string(choice))
        json_object_set(chat, "tool_choice", choice);
    else if (api_chat_json_is_type(choice, "function"))
        json_object_set_new(chat, "tool_choice",
                            api_chat_json_choice(json_object_get(choice, "name")));
    else if (choice != NULL && !json_is_null(choice))
        api_error_set(error, ERROR_INVALID, "tool_choice",
                      "tool_choice must be \"none\", \"auto\", \"required\", a function or "
                      "allowed_tools: the service's own tools are not offered here");
    read_tools(body, allowed, chat, error);
}

static void read_text(const json_t *body, json_t *chat)
{
    const json_t *text = json_object_get(body, "text");
    json_t *verbosity = json_object_get(text, "verbosity");
    json_t *format = json_object_get(text, "format");
    if (verbosity != NULL)
        json_object_set(chat, "verbosity",
                        verbosity); /* which a chat refuses unless it is medium */
    if (format == NULL || json_is_null(format))
        return;
    if (!api_chat_json_is_type(format, "json_schema")) {
        json_object_set(chat, "response_format", format);
        return;
    }
    json_t *inner = json_copy(format), *outer = json_object();
    json_object_del(inner, "type");
    json_object_set(outer, "type", json_object_get(format, "type"));
    json_object_set_new(outer, "json_schema", inner);
    json_object_set_new(chat, "response_format", outer);
}

static void read_include(const json_t *body, struct api_error *error)
{
    const json_t *include = json_object_get(body, "include");
    for (size_t i = 0; i < json_array_size(include); i++) {
        const char *name = json_string_value(json_array_get(include, i));
        if (name != NULL && strcmp(name, "message.output_text.logprobs") == 0)
            api_error_set(error, ERROR_INVALID, "include",
                          "include: logprobs are not supported by /v1/responses");
    }
}

/* Appends the messages: instructions, then the conversation so far, then the input. */
static void read_input(const json_t *body, const struct api_past *past, json_t *messages,
                       struct api_error *error)
{
    const char *previous = api_chat_json_text(body, "previous_response_id");
    json_t *instructions = json_object_get(body, "instructions"), *all = json_array();
    json_t *items = api_responses_items_of(json_object_get(body, "input"), error);
    if (json_is_string(instructions)) {
        json_t *message = api_chat_json_message("system");
        json_object_set(message, "content", instructions);
        json_array_append_new(messages, message);
    } else if (instructions != NULL && !json_is_null(instructions)) {
        api_error_set(error, ERROR_INVALID, "instructions", "instructions must be a text");
    }
    if (previous == NULL && !json_is_null(json_object_get(body, "previous_response_id")) &&
        json_object_get(body, "previous_response_id") != NULL)
        api_error_set(error, ERROR_INVALID, "previous_response_id",
                      "previous_response_id must be a text");
    if (previous != NULL && past != NULL && !error->is_set)
        (void)api_responses_store_replay(
            past->responses, &(struct api_responses_wanted){ previous, past->tenant, past->peers },
            all, error);
    if (!error->is_set)
        json_array_extend(all, items);
    if (!error->is_set && json_array_size(all) == 0)
        api_error_set(error, ERROR_INVALID, "input", "input must not be empty");
    api_responses_items_read(all, messages, error);
    json_decref(items);
    json_decref(all);
}

json_t *api_responses_ask(const json_t *body, const struct api_past *past, struct api_error *error)
{
    json_t *chat = json_object(), *messages = json_array(), *value;
    const json_t *reasoning = json_object_get(body, "reasoning");
    json_t *effort = json_object_get(reasoning, "effort");
    const char *name;
    api_chat_json_copy(body, chat, same, COUNT_OF(same));
    json_object_foreach((json_t *)(uintptr_t)body, name, value) {
        take_field(chat, name, value, error);
    }
    if (effort != NULL && !json_is_null(effort))
        json_object_set(chat, "reasoning_effort", effort);
    if (reasoning != NULL && !json_is_null(reasoning) && !json_is_object(reasoning))
        api_error_set(error, ERROR_INVALID, "reasoning", "reasoning must be an object");
    value = json_object_get(body, "store");
    if (value != NULL && !json_is_null(value) && !json_is_boolean(value))
        api_error_set(error, ERROR_INVALID, "store", "store must be true or false");
    read_choice(body, chat, error);
    read_text(body, chat);
    read_include(body, error);
    read_input(body, past, messages, error);
    json_object_set_new(chat, "messages", messages);
    if (!error->is_set)
        return chat;
    json_decref(chat);
    return NULL;
}

static const char *keep_json(struct api_ask *ask, const json_t *value)
{
    size_t n = json_dumpb(value, NULL, 0, JSON_COMPACT);
    char *text = pile_take(&ask->pile, n + 1);
    json_dumpb(value, text, n, JSON_COMPACT);
    return text;
}

void api_responses_ask_keep(struct api_ask *ask, const json_t *body)
{
    /* Members of the answer, with what they are when the request has none. */
    static const char *const members[][2] = {
        { "background", "false" },
        { "instructions", "null" },
        { "max_output_tokens", "null" },
        { "max_tool_calls", "null" },
        { "metadata", "{}" },
        { "parallel_tool_calls", "true" },
        { "previous_response_id", "null" },
        { "prompt_cache_key", "null" },
        { "reasoning", "{\"effort\":null,\"summary\":null}" },
        { "safety_identifier", "null" },
        { "service_tier", "\"default\"" },
        { "temperature", "1.0" },
        { "text", "{\"format\":{\"type\":\"text\"}}" },
        { "tool_choice", "\"auto\"" },
        { "tools", "[]" },
        { "top_logprobs", "0" },
        { "top_p", "1.0" },
        { "truncation", "\"disabled\"" },
        { "user", "null" },
    };
    struct api_error error = { 0 };
    struct api_responses_ask *kept = pile_take(&ask->pile, sizeof(*kept));
    json_t *fields = json_object();
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_t *value = json_object_get(body, members[i][0]);
        if (value != NULL && !json_is_null(value))
            json_object_set(fields, members[i][0], value);
        else
            json_object_set_new(fields, members[i][0],
                                json_loads(members[i][1], JSON_DECODE_ANY, NULL));
    }
    char *text = (char *)(uintptr_t)keep_json(ask, fields);
    text[strlen(text) - 1] = '\0'; /* the brackets go */
    kept->fields = text + 1;
    json_t *items = api_responses_items_of(json_object_get(body, "input"), &error);
    kept->items = keep_json(ask, items);
    const char *previous = api_chat_json_text(body, "previous_response_id");
    kept->previous = previous != NULL ? pile_text(&ask->pile, previous, strlen(previous)) : NULL;
    kept->is_kept = !json_is_false(json_object_get(body, "store"));
    json_decref(items);
    json_decref(fields);
    ask->kept = kept;
}
