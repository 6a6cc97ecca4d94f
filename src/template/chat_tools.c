/* The form of calls is the one that the generic parser reads (calls/format.c). */
#include "template/chat_tools.h"
#include <jansson.h>
#include <string.h>

static void add_json(struct str *out, const json_t *value)
{
    size_t n = json_dumpb(value, NULL, 0, JSON_ENCODE_ANY);
    if (!str_try_reserve(out, n + 1))
        return;
    json_dumpb(value, out->at + out->n, n, JSON_ENCODE_ANY);
    out->n += n;
    out->at[out->n] = '\0';
}

static void add_tools(struct str *out, const char *tools_json)
{
    json_t *tools = json_loads(tools_json, 0, NULL);
    str_add_text(out, "You may call these functions. To call some, answer with a JSON array alone: "
                      "[{\"name\": NAME, \"arguments\": {...}}, ...]. Otherwise answer as usual.");
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        const json_t *function = json_object_get(tool, "function");
        str_add_char(out, '\n');
        add_json(out, function != NULL ? function : tool);
    }
    json_decref(tools);
}

/* Adds the calls of an answer, with their arguments as objects if they are JSON. */
static void add_calls(struct str *out, const json_t *calls)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *function = json_object_get(json_array_get(calls, i), "function");
        json_t *arguments = json_object_get(function, "arguments"), *object = NULL;
        json_t *call = json_object();
        if (json_is_string(arguments))
            object =
                json_loadb(json_string_value(arguments), json_string_length(arguments), 0, NULL);
        json_object_set(call, "name", json_object_get(function, "name"));
        json_object_set(call, "arguments", object != NULL ? object : arguments);
        json_array_append_new(list, call);
        json_decref(object);
    }
    if (json_array_size(list) > 0) {
        str_add_text(out, out->n > 0 ? "\n" : "");
        add_json(out, list);
    }
    json_decref(list);
}

/* Makes the message's text, with its calls, or as a result of a call. */
static void make_text(struct str *out, const struct chat_message *message)
{
    json_t *more = message->more_json != NULL ? json_loads(message->more_json, 0, NULL) : NULL;
    str_clear(out);
    str_add(out, "", 0);
    if (strcmp(message->role, "tool") == 0) {
        const char *id = json_string_value(json_object_get(more, "tool_call_id"));
        const char *name = message->name != NULL ? message->name : id;
        str_printf(out, "Result of the call%s%.200s:\n", name != NULL ? " " : "",
                   name != NULL ? name : "");
    }
    str_add_text(out, message->content != NULL ? message->content : "");
    add_calls(out, json_object_get(more, "tool_calls"));
    json_decref(more);
}

/* Adds a message, or joins its text to the last one of the same role. */
static void add_message(struct chat_message *to, int *n, const char *role, const struct str *text,
                        struct pile *pile)
{
    struct chat_message *last = *n > 0 ? &to[*n - 1] : NULL;
    if (last == NULL || strcmp(last->role, role) != 0) {
        to[*n] =
            (struct chat_message){ .role = role, .content = pile_text(pile, text->at, text->n) };
        (*n)++;
        return;
    }
    struct str joined;
    str_init(&joined);
    str_printf(&joined, "%s%s%s", last->content, last->content[0] != '\0' ? "\n\n" : "", text->at);
    last->content = pile_text(pile, joined.at, joined.n);
    str_free(&joined);
}

static const char *role_of(const struct chat_message *message)
{
    bool is_system =
        strcmp(message->role, "system") == 0 || strcmp(message->role, "developer") == 0;
    return is_system ? "system" : strcmp(message->role, "tool") == 0 ? "user" : message->role;
}

void chat_tools_show(const struct chat_options *options, bool in_system, struct pile *pile,
                     struct chat_options *to)
{
    struct chat_message *messages =
        pile_take(pile, sizeof(*messages) * (size_t)(options->n_messages + 1));
    struct str text;
    int n = 0;
    str_init(&text);
    add_tools(&text, options->tools_json);
    add_message(messages, &n, in_system ? "system" : "user", &text, pile);
    for (int i = 0; i < options->n_messages; i++) {
        const char *role = role_of(&options->messages[i]);
        bool is_moved = !in_system && strcmp(role, "system") == 0;
        make_text(&text, &options->messages[i]);
        add_message(messages, &n, is_moved ? "user" : role, &text, pile);
    }
    str_free(&text);
    to->messages = messages;
    to->n_messages = n;
    to->tools_json = NULL;
}
