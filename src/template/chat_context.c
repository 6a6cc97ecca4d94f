/* The variables of a template.
 *
 * Content takes the form that the template expects. Other fields of a message stay as they came,
 * with two exceptions: a template may need the arguments of tool calls as objects, and templates
 * read reasoning under two names. */
#include "template/chat_context.h"
#include "template/jinja_json.h"
#include "template/jinja_value.h"
#include <jansson.h>
#include <string.h>

static void set(struct jinja_run *run, struct jinja_dict *dict, const char *name,
                struct jinja_value value)
{
    if (!jinja_failed(run))
        jinja_value_set(run, dict, jinja_text(name), value);
}

static struct jinja_value make_part(struct jinja_run *run, const char *text)
{
    struct jinja_value part = jinja_value_dict(run, JINJA_DICT);
    set(run, part.dict, "type", jinja_text("text"));
    set(run, part.dict, "text", jinja_text(text));
    return part;
}

static struct jinja_value make_content(struct jinja_run *run, const struct chat_needs *needs,
                                       const struct chat_message *message)
{
    bool is_array = message->parts != NULL;
    bool wants_parts = needs->parts && (is_array || !needs->text);
    if (!wants_parts)
        return jinja_text(message->content);
    struct jinja_value list = jinja_value_list(run, JINJA_LIST);
    if (!is_array)
        jinja_value_push(run, list, make_part(run, message->content));
    for (int32_t i = 0; i < message->n_parts && !jinja_failed(run); i++)
        jinja_value_push(run, list, make_part(run, message->parts[i]));
    return list;
}

/* Turns the arguments of calls into objects. */
static void open_arguments(struct jinja_run *run, json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *function = json_object_get(json_array_get(calls, i), "function");
        json_t *arguments = json_object_get(function, "arguments"), *object = NULL;
        if (!json_is_string(arguments))
            continue;
        object = json_loadb(json_string_value(arguments), json_string_length(arguments), 0, NULL);
        if (!json_is_object(object))
            jinja_fail(run, STATUS_BAD_INPUT,
                       "tool_calls[%zu].function.arguments is not a JSON object, and this model's "
                       "template needs one",
                       i);
        else
            (void)json_object_set(function, "arguments", object);
        json_decref(object);
    }
}

/* Sets reasoning under both names that templates read: reasoning_content, and gpt-oss's
 * thinking. */
static void name_reasoning(json_t *more)
{
    static const char *const names[] = { "reasoning_content", "thinking", "reasoning" };
    json_t *reasoning = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && reasoning == NULL; i++)
        reasoning = json_object_get(more, names[i]);
    for (size_t i = 0; i < 2 && reasoning != NULL; i++) {
        if (json_object_get(more, names[i]) == NULL)
            (void)json_object_set(more, names[i], reasoning);
    }
}

static void set_more(struct jinja_run *run, const struct chat_needs *needs, struct jinja_dict *dict,
                     const char *more_json)
{
    json_t *more = more_json != NULL ? json_loads(more_json, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const char *key;
    json_t *member;
    if (needs->objects)
        open_arguments(run, json_object_get(more, "tool_calls"));
    name_reasoning(more);
    json_object_foreach(more, key, member) {
        struct jinja_value name = jinja_value_copy(run, view_text(key));
        struct jinja_value value =
            jinja_json_value(run, member, "a message or chat_template_kwargs");
        if (!jinja_failed(run))
            jinja_value_set(run, dict, name, value);
    }
    json_decref(more);
}

static struct jinja_value make_messages(struct jinja_run *run, const struct chat_template *t,
                                        const struct chat_options *options)
{
    struct jinja_value list = jinja_value_list(run, JINJA_LIST);
    for (int i = 0; i < options->n_messages && !jinja_failed(run); i++) {
        const struct chat_message *message = &options->messages[i];
        struct jinja_value dict = jinja_value_dict(run, JINJA_DICT);
        set(run, dict.dict, "role", jinja_text(message->role));
        if (message->content != NULL)
            set(run, dict.dict, "content", make_content(run, &t->needs, message));
        else if (message->is_null)
            set(run, dict.dict, "content", jinja_none());
        if (message->name != NULL)
            set(run, dict.dict, "name", jinja_text(message->name));
        if (!jinja_failed(run))
            set_more(run, &t->needs, dict.dict, message->more_json);
        jinja_value_push(run, list, dict);
    }
    return list;
}

static void set_all(struct jinja_run *run, struct jinja_dict *dict, const json_t *object,
                    bool of_client)
{
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)object, key, member) {
        struct jinja_value name = jinja_value_copy(run, view_text(key));
        struct jinja_value value =
            jinja_json_value(run, member, "a message or chat_template_kwargs");
        if (of_client && strcmp(key, "messages") == 0)
            jinja_fail(run, STATUS_BAD_INPUT, "chat_template_kwargs may not replace the messages");
        if (jinja_failed(run))
            return;
        jinja_value_set(run, dict, name, value);
    }
}

static struct jinja_value make_tools(struct jinja_run *run, const struct chat_options *options)
{
    json_t *tools = options->tools_json != NULL ? json_loads(options->tools_json, 0, NULL) : NULL;
    struct jinja_value value = tools != NULL ? jinja_json_value(run, tools, "tools") : jinja_none();
    json_decref(tools);
    return value;
}

void chat_context_make(struct jinja_run *run, const struct chat_template *t,
                       const struct chat_options *options, const void *kwargs)
{
    struct jinja_value context = jinja_value_dict(run, JINJA_DICT);
    if (jinja_failed(run))
        return;
    run->context = context.dict;
    set(run, context.dict, "messages", make_messages(run, t, options));
    set(run, context.dict, "tools", make_tools(run, options));
    set(run, context.dict, "documents", jinja_none());
    set(run, context.dict, "add_generation_prompt", jinja_bool(options->add_generation_prompt));
    set_all(run, context.dict, t->specials, false);
    set_all(run, context.dict, kwargs, true);
}
