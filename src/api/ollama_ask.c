/* Options become fields. An option that is absent has this server's default. Options about how a
 * model is run have no meaning here and are ignored. */
#include "api/ollama_ask.h"
#include "api/chat_json.h"
#include "api/refused.h"
#include <stdio.h>
#include <string.h>

enum { MESSAGES_MAX = 4096, PENDING_MAX = 1024 };

static const char *const options[][2] = {
    { "num_predict", "max_tokens" },
    { "temperature", "temperature" },
    { "top_k", "top_k" },
    { "top_p", "top_p" },
    { "min_p", "min_p" },
    { "seed", "seed" },
    { "stop", "stop" },
    { "repeat_penalty", "repetition_penalty" },
    { "presence_penalty", "presence_penalty" },
    { "frequency_penalty", "frequency_penalty" },
    { "typical_p", "typical_p" }, /* from here on a chat refuses all values with an effect */
    { "tfs_z", "tfs_z" },
    { "mirostat", "mirostat" },
};
/* Options about how a model is run, and those of samplers that are off. */
static const char *const ignored[] = {
    "num_ctx",    "num_keep",     "num_batch",    "num_gpu",        "main_gpu", "use_mmap",
    "use_mlock",  "num_thread",   "low_vram",     "numa",           "f16_kv",   "vocab_only",
    "logits_all", "mirostat_tau", "mirostat_eta", "embedding_only",
};
static const char *const own[] = {
    "model", "prompt",   "system", "raw",        "format",   "options", "stream",
    "think", "messages", "tools",  "keep_alive", "truncate", "shift",
};

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void read_option(json_t *chat, const char *name, json_t *value, struct api_error *error)
{
    bool is_number = json_is_number(value);
    double number = json_number_value(value);
    if (json_is_null(value) || is_among(name, ignored, COUNT_OF(ignored)))
        return;
    if (strcmp(name, "num_predict") == 0 && is_number && number < 0)
        return; /* as many as there is room for */
    if (strcmp(name, "seed") == 0 && is_number && number == -1)
        return; /* any */
    if (strcmp(name, "repeat_last_n") == 0 && is_number && (number == -1))
        return; /* the whole text, as here */
    if (strcmp(name, "penalize_newline") == 0 && json_is_true(value))
        return;
    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (strcmp(options[i][0], name) == 0) {
            json_object_set(chat, options[i][1], value);
            return;
        }
    if (strcmp(name, "repeat_last_n") == 0)
        api_error_set(error, ERROR_INVALID, "options",
                      "options.repeat_last_n must be -1, since repeat_penalty looks at the whole "
                      "text here");
    else if (api_refused_is_known(name) || strcmp(name, "penalize_newline") == 0)
        api_error_set(error, ERROR_INVALID, "options", "options.%.60s is not supported", name);
    else
        json_object_set(chat, name, value); /* unknown: refused there when it is strict */
}

static void read_options(const json_t *body, json_t *chat, struct api_error *error)
{
    json_t *all = json_object_get(body, "options"), *value;
    const char *name;
    if (all != NULL && !json_is_null(all) && !json_is_object(all))
        api_error_set(error, ERROR_INVALID, "options", "options must be an object");
    json_object_foreach(all, name, value) {
        read_option(chat, name, value, error);
    }
}

static void read_format(const json_t *body, json_t *chat, struct api_error *error)
{
    json_t *format = json_object_get(body, "format"), *inner, *outer;
    const char *text = json_string_value(format);
    if (format == NULL || json_is_null(format) || (text != NULL && text[0] == '\0'))
        return;
    if (text != NULL && strcmp(text, "json") == 0) {
        json_object_set_new(chat, "response_format", json_pack("{ss}", "type", "json_object"));
    } else if (json_is_object(format)) {
        inner = json_pack("{ss}", "name", "answer");
        outer = json_pack("{ss}", "type", "json_schema");
        json_object_set(inner, "schema", format);
        json_object_set_new(outer, "json_schema", inner);
        json_object_set_new(chat, "response_format", outer);
    } else {
        api_error_set(error, ERROR_INVALID, "format",
                      "format must be \"json\" or a JSON Schema (an object)");
    }
}

/* Reads think: a switch, or an effort. */
static void read_think(const json_t *body, json_t *chat, struct api_error *error)
{
    json_t *think = json_object_get(body, "think");
    if (think == NULL || json_is_null(think))
        return;
    if (json_is_boolean(think)) {
        json_object_set(chat, "enable_thinking", think);
    } else if (json_is_string(think)) {
        json_object_set_new(chat, "enable_thinking", json_true());
        json_object_set(chat, "reasoning_effort", think);
    } else {
        api_error_set(error, ERROR_INVALID, "think", "think must be true, false or a text");
    }
}

/* Makes a chat with all fields except its prompt. */
static json_t *begin_chat(const json_t *body, struct api_error *error)
{
    json_t *chat = json_object(), *value, *stream = json_object_get(body, "stream");
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)body, name, value) {
        bool is_empty = api_chat_json_is_empty(value) ||
                        (json_is_string(value) && json_string_length(value) == 0);
        if (is_among(name, own, COUNT_OF(own)) || is_empty ||
            (strcmp(name, "top_logprobs") == 0 && json_integer_value(value) == 0))
            continue;
        if (api_refused_is_known(name))
            api_error_set(error, ERROR_INVALID, name,
                          "%.60s is not supported by Ollama's endpoints: leave it out", name);
        else
            json_object_set(chat, name, value);
    }
    value = json_object_get(body, "model");
    if (!json_is_string(value))
        api_error_set(error, ERROR_INVALID, "model", "model is missing");
    else
        json_object_set(chat, "model", value);
    json_object_set_new(chat, "stream", json_true());
    if (stream != NULL && !json_is_null(stream))
        json_object_set(chat, "stream", stream);
    read_options(body, chat, error);
    read_format(body, chat, error);
    return chat;
}

static json_t *end_chat(json_t *chat, const struct api_error *error)
{
    if (!error->is_set)
        return chat;
    json_decref(chat);
    return NULL;
}

/* --- messages --- */

struct reader {
    json_t *messages, *pending; /* pending: calls {id, name} without a result yet */
    struct api_error *error;
    size_t index;
    int32_t n_calls;
};

/* Reads the calls of a message. They have no ids in this API, so that they are numbered. */
static void read_calls(struct reader *reader, const json_t *from, json_t *message)
{
    const json_t *list = json_object_get(from, "tool_calls");
    json_t *calls = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *call = json_array_get(list, i), *function = json_object_get(call, "function");
        const json_t *arguments = json_object_get(function, "arguments");
        const char *name = api_chat_json_text(function, "name");
        const char *id = api_chat_json_text(call, "id");
        char own_id[16];
        snprintf(own_id, sizeof(own_id), "call%05d", (int)(reader->n_calls++ % 100000));
        if (json_array_size(reader->pending) == PENDING_MAX) {
            api_error_set(reader->error, ERROR_INVALID, "messages",
                          "messages[%zu].tool_calls: more than %d calls have no result",
                          reader->index, PENDING_MAX);
            break;
        }
        if (name == NULL || (arguments != NULL && !json_is_object(arguments))) {
            api_error_set(reader->error, ERROR_INVALID, "messages",
                          "messages[%zu].tool_calls[%zu]: a call needs function.name and "
                          "function.arguments (an object)",
                          reader->index, i);
            break;
        }
        size_t n = arguments != NULL ? json_dumpb(arguments, NULL, 0, 0) : 0;
        struct str text;
        str_init(&text);
        for (size_t k = 0; k <= n; k++)
            str_add_char(&text, '\0');
        if (n > 0)
            (void)json_dumpb(arguments, text.at, n, 0);
        if (id == NULL)
            id = own_id;
        api_chat_json_add_call(calls, id, name, n > 0 ? text.at : "{}");
        json_array_append_new(reader->pending, json_pack("{ssss}", "id", id, "name", name));
        str_free(&text);
    }
    if (json_array_size(calls) > 0)
        json_object_set(message, "tool_calls", calls);
    json_decref(calls);
}

/* Gives a result the id of its call: the first without one that has its name, or any name. */
static void match_result(struct reader *reader, const json_t *from, json_t *message)
{
    const char *name = api_chat_json_text(from, "tool_name");
    const char *id = api_chat_json_text(from, "tool_call_id");
    size_t n = json_array_size(reader->pending), at = n;
    if (name == NULL)
        name = api_chat_json_text(from, "name");
    if (id == NULL && name == NULL)
        at = 0;
    for (size_t i = 0; i < n && at == n; i++) {
        const json_t *call = json_array_get(reader->pending, i);
        const char *own_name = api_chat_json_text(call, "name");
        const char *own_id = api_chat_json_text(call, "id");
        if (id != NULL ? strcmp(id, own_id) == 0 : name != NULL && strcmp(name, own_name) == 0)
            at = i;
    }
    const json_t *call = json_array_get(reader->pending, at);
    if (id == NULL)
        id = call != NULL ? api_chat_json_text(call, "id") : "";
    if (name == NULL && call != NULL)
        name = api_chat_json_text(call, "name");
    json_object_set_new(message, "tool_call_id", json_string(id));
    if (name != NULL)
        json_object_set_new(message, "name", json_string(name));
    json_array_remove(reader->pending, at);
}

static void read_message(struct reader *reader, const json_t *from)
{
    static const char *const roles[] = { "system", "user", "assistant", "tool", "developer" };
    const char *role = api_chat_json_text(from, "role");
    json_t *content = json_object_get(from, "content"), *thoughts;
    if (role == NULL || !is_among(role, roles, COUNT_OF(roles))) {
        api_error_set(reader->error, ERROR_INVALID, "messages",
                      "messages[%zu].role must be system, user, assistant or tool", reader->index);
        return;
    }
    if (content != NULL && !json_is_string(content) && !json_is_null(content))
        api_error_set(reader->error, ERROR_INVALID, "messages",
                      "messages[%zu].content must be a text", reader->index);
    if (!api_chat_json_is_empty(json_object_get(from, "images")))
        api_error_set(reader->error, ERROR_INVALID, "messages",
                      "messages[%zu].images: images are not supported", reader->index);
    json_t *message = api_chat_json_message(role);
    if (json_is_string(content))
        json_object_set(message, "content", content);
    else
        json_object_set_new(message, "content", json_string(""));
    thoughts = json_object_get(from, "thinking");
    if (json_string_length(thoughts) > 0)
        json_object_set(message, "reasoning_content", thoughts);
    read_calls(reader, from, message);
    if (strcmp(role, "tool") == 0)
        match_result(reader, from, message);
    json_array_append_new(reader->messages, message);
}

json_t *api_ollama_ask_chat(const json_t *body, const struct api_past *past,
                            struct api_error *error)
{
    (void)past;
    const json_t *list = json_object_get(body, "messages");
    json_t *chat = begin_chat(body, error), *tools = json_object_get(body, "tools");
    struct reader reader = { .messages = json_array(), .pending = json_array(), .error = error };
    if (json_array_size(list) == 0 || json_array_size(list) > MESSAGES_MAX)
        api_error_set(error, ERROR_INVALID, "messages",
                      "messages must be an array of 1 to %d messages: /models/load loads a model",
                      MESSAGES_MAX);
    for (size_t i = 0; i < json_array_size(list) && !error->is_set; i++) {
        reader.index = i;
        read_message(&reader, json_array_get(list, i));
    }
    if (tools != NULL && !json_is_null(tools))
        json_object_set(chat, "tools", tools);
    read_think(body, chat, error);
    json_object_set_new(chat, "messages", reader.messages);
    json_decref(reader.pending);
    return end_chat(chat, error);
}

enum api_ask_kind api_ollama_ask_kind(const json_t *body)
{
    return json_is_true(json_object_get(body, "raw")) ? ASK_COMPLETION : ASK_CHAT;
}

json_t *api_ollama_ask_generate(const json_t *body, const struct api_past *past,
                                struct api_error *error)
{
    (void)past;
    json_t *chat = begin_chat(body, error), *prompt = json_object_get(body, "prompt");
    json_t *system = json_object_get(body, "system");
    if (json_string_length(prompt) == 0)
        api_error_set(error, ERROR_INVALID, "prompt",
                      "prompt must be a text that is not empty: /models/load loads a model");
    if (system != NULL && !json_is_null(system) && !json_is_string(system))
        api_error_set(error, ERROR_INVALID, "system", "system must be a text");
    if (api_ollama_ask_kind(body) == ASK_COMPLETION) {
        if (json_string_length(system) > 0)
            api_error_set(error, ERROR_INVALID, "system",
                          "system and raw exclude each other: a raw prompt holds all");
        if (json_object_get(chat, "max_tokens") == NULL) /* Ollama has no bound of its own */
            json_object_set_new(chat, "max_tokens", json_integer(LIMIT_CONTEXT));
        json_object_set(chat, "prompt", prompt);
        return end_chat(chat, error);
    }
    json_t *messages = json_array();
    if (json_string_length(system) > 0) {
        json_t *message = api_chat_json_message("system");
        json_object_set(message, "content", system);
        json_array_append_new(messages, message);
    }
    json_t *message = api_chat_json_message("user");
    json_object_set(message, "content", prompt);
    json_array_append_new(messages, message);
    json_object_set_new(chat, "messages", messages);
    read_think(body, chat, error);
    return end_chat(chat, error);
}
