/* Chat templates: a template is parsed once into nodes that live in its own pile; a render makes
 * the context, runs the statements and gives everything back. */
#include "text/chat.h"
#include "text/jinja_exec.h"
#include "text/jinja_parse.h"
#include "base/mem.h"
#include <jansson.h>
#include <string.h>

enum { VALUE_DEPTH_MAX = 100 };

struct chat_template {
    struct pile pile;
    struct jinja_node *body;
};

enum status chat_template_open(struct chat_template **out, const char *source, struct fault *fault)
{
    *out = NULL;
    struct chat_template *t = mem_take(sizeof(*t));
    struct jinja_run run = { .line = 1 };
    t->body = jinja_parse_source(&run, view_text(source));
    t->pile = run.pile;
    if (run.status != STATUS_OK) {
        chat_template_close(t);
        return fault_set(fault, run.status, "%s", run.fault.text);
    }
    *out = t;
    return STATUS_OK;
}

void chat_template_close(struct chat_template *t)
{
    if (t == NULL)
        return;
    pile_free(&t->pile);
    mem_give(t);
}

static struct jinja_value from_json(struct jinja_run *run, const json_t *json, int depth);

static struct jinja_value from_object(struct jinja_run *run, const json_t *json, int depth)
{
    struct jinja_value out = jinja_value_dict(run, JINJA_DICT);
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)json, key, member) {
        struct jinja_value name = jinja_value_copy(run, view_text(key));
        struct jinja_value value = from_json(run, member, depth + 1);
        if (!jinja_failed(run))
            jinja_value_set(run, out.dict, name, value);
    }
    return out;
}

static struct jinja_value from_json(struct jinja_run *run, const json_t *json, int depth)
{
    if (depth > VALUE_DEPTH_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "a message or chat_template_kwargs nests deeper than %d",
                   VALUE_DEPTH_MAX);
    if (jinja_failed(run))
        return jinja_none();
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return from_object(run, json, depth);
    case JSON_ARRAY: {
        struct jinja_value out = jinja_value_list(run, JINJA_LIST);
        for (size_t i = 0; i < json_array_size(json); i++)
            jinja_value_push(run, out, from_json(run, json_array_get(json, i), depth + 1));
        return out;
    }
    case JSON_STRING:
        return jinja_value_copy(run, view_of(json_string_value(json), json_string_length(json)));
    case JSON_INTEGER:
        return jinja_int(json_integer_value(json));
    case JSON_REAL:
        return jinja_float(json_real_value(json));
    case JSON_TRUE:
    case JSON_FALSE:
        return jinja_bool(json_is_true(json));
    default:
        return jinja_none();
    }
}

static struct jinja_value borrow(const char *text)
{
    return jinja_string(view_text(text != NULL ? text : ""));
}

/* A message's further fields, as they came. */
static void set_more(struct jinja_run *run, struct jinja_value dict, const char *more_json)
{
    json_t *more = more_json != NULL ? json_loads(more_json, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const char *key;
    json_t *member;
    json_object_foreach(more, key, member) {
        struct jinja_value name = jinja_value_copy(run, view_text(key));
        jinja_value_set(run, dict.dict, name, from_json(run, member, 0));
    }
    json_decref(more);
}

static struct jinja_value make_messages(struct jinja_run *run, const struct chat_options *options)
{
    struct jinja_value list = jinja_value_list(run, JINJA_LIST);
    for (int i = 0; i < options->n_messages && !jinja_failed(run); i++) {
        const struct chat_message *message = &options->messages[i];
        struct jinja_value dict = jinja_value_dict(run, JINJA_DICT);
        if (jinja_failed(run))
            break;
        jinja_value_set(run, dict.dict, borrow("role"), borrow(message->role));
        jinja_value_set(run, dict.dict, borrow("content"), borrow(message->content));
        if (message->name != NULL)
            jinja_value_set(run, dict.dict, borrow("name"), borrow(message->name));
        set_more(run, dict, message->more_json);
        jinja_value_push(run, list, dict);
    }
    return list;
}

/* What transformers puts into the context; kwargs come last and win. */
static void bind_context(struct jinja_run *run, const struct chat_options *options,
                         const json_t *kwargs)
{
    jinja_exec_bind(run, view_text("messages"), make_messages(run, options));
    jinja_exec_bind(run, view_text("tools"), jinja_none());
    jinja_exec_bind(run, view_text("documents"), jinja_none());
    jinja_exec_bind(run, view_text("add_generation_prompt"),
                    jinja_bool(options->add_generation_prompt));
    jinja_exec_bind(run, view_text("bos_token"), borrow(options->bos_token));
    jinja_exec_bind(run, view_text("eos_token"), borrow(options->eos_token));
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)kwargs, key, member) {
        struct view name = jinja_value_copy(run, view_text(key)).string;
        jinja_exec_bind(run, name, from_json(run, member, 0));
    }
    run->n_globals = run->n_stack;
}

static enum status render(const struct chat_template *t, const struct chat_options *options,
                          const json_t *kwargs, struct str *out, struct fault *fault)
{
    size_t n_before = out->n;
    struct jinja_run run = { .out = out, .line = 1 };
    bind_context(&run, options, kwargs);
    if (!jinja_failed(&run))
        jinja_exec(&run, t->body);
    if (jinja_failed(&run)) {
        out->n = n_before;
        if (out->at != NULL)
            out->at[n_before] = '\0';
        (void)fault_set(fault, run.status, "%s", run.fault.text);
    }
    pile_free(&run.pile);
    mem_give(run.stack);
    return run.status;
}

enum status chat_template_render(const struct chat_template *t, const struct chat_options *options,
                                 struct str *out, struct fault *fault)
{
    json_t *kwargs = NULL;
    if (options->kwargs_json != NULL) {
        json_error_t error;
        kwargs = json_loads(options->kwargs_json, JSON_REJECT_DUPLICATES, &error);
        if (!json_is_object(kwargs)) {
            enum status status =
                fault_set(fault, STATUS_BAD_INPUT, "chat_template_kwargs is not a JSON object%s%s",
                          kwargs == NULL ? ": " : "", kwargs == NULL ? error.text : "");
            json_decref(kwargs);
            return status;
        }
    }
    enum status status = render(t, options, kwargs, out, fault);
    json_decref(kwargs);
    return status;
}
