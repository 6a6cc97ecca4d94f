/* A template is parsed once into nodes that live in its own pile. A render makes the context, runs
 * the statements, checks that no text was lost and frees everything. */
#include "base/mem.h"
#include "template/chat.h"
#include "template/chat_context.h"
#include "template/chat_probe.h"
#include "template/chat_shown.h"
#include "template/chat_template.h"
#include "template/chat_tools.h"
#include "template/jinja_exec.h"
#include "template/jinja_parse.h"
#include "template/jinja_time.h"
#include <jansson.h>

const char chat_chatml[] =
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}";

bool chat_time_is_valid(const char *text)
{
    return jinja_time_is_valid(text);
}

static enum status parse(struct chat_template *t, const struct chat_source *source,
                         struct fault *fault)
{
    struct jinja_run run = { .line = 1, .steps_max = JINJA_STEPS_MAX };
    struct view text = view_text(source->text);
    if (!utf8_is_valid(text))
        return fault_set(fault, STATUS_BAD_INPUT, "the chat template is not valid UTF-8");
    t->body = jinja_parse_source(&run, text, &t->root);
    t->pile = run.pile;
    return run.status == STATUS_OK ? STATUS_OK : fault_set(fault, run.status, "%s", run.fault.text);
}

enum status chat_template_open(struct chat_template **out, const struct chat_source *source,
                               struct fault *fault)
{
    *out = NULL;
    struct chat_template *t = mem_take(sizeof(*t));
    enum status status = parse(t, source, fault);
    if (status == STATUS_OK && source->specials_json != NULL) {
        t->specials = json_loads(source->specials_json, 0, NULL);
        if (!json_is_object((json_t *)t->specials))
            status = fault_set(fault, STATUS_BAD_INPUT, "the special tokens are not a JSON object");
    }
    if (status == STATUS_OK && source->time != NULL && !jinja_time_is_valid(source->time))
        status =
            fault_set(fault, STATUS_BAD_INPUT, "the time \"%.40s\" is not a date", source->time);
    if (status != STATUS_OK) {
        chat_template_close(t);
        return status;
    }
    t->time = source->time != NULL ? mem_copy_text(source->time) : NULL;
    t->text = mem_copy_text(source->text);
    chat_probe(t);
    *out = t;
    return STATUS_OK;
}

void chat_template_close(struct chat_template *t)
{
    if (t == NULL)
        return;
    json_decref(t->specials);
    pile_free(&t->pile);
    mem_give(t->time);
    mem_give(t->text);
    mem_give(t);
}

const char *chat_template_text(const struct chat_template *t)
{
    return t->text;
}

struct chat_needs chat_template_needs(const struct chat_template *t)
{
    return t->needs;
}

/* Renders and checks. On failure out is as before. */
static enum status render(const struct chat_template *t, const struct chat_options *options,
                          const json_t *kwargs, struct str *out, struct fault *fault)
{
    size_t n_before = out->n;
    enum status status = chat_template_run(t, options, kwargs, JINJA_STEPS_MAX, out, fault);
    if (status == STATUS_OK) {
        struct view prompt = view_of(out->at + n_before, out->n - n_before);
        status = chat_shown_check(t, options, kwargs, prompt, fault);
    }
    if (status != STATUS_OK && out->at != NULL) {
        out->n = n_before;
        out->at[n_before] = '\0';
    }
    return status;
}

enum status chat_template_render(const struct chat_template *t, const struct chat_options *options,
                                 struct str *out, struct fault *fault)
{
    json_t *kwargs = NULL;
    json_error_t error;
    if (options->kwargs_json != NULL) {
        kwargs = json_loads(options->kwargs_json, JSON_REJECT_DUPLICATES, &error);
        if (!json_is_object(kwargs)) {
            enum status status =
                fault_set(fault, STATUS_BAD_INPUT, "chat_template_kwargs is not a JSON object%s%s",
                          kwargs == NULL ? ": " : "", kwargs == NULL ? error.text : "");
            json_decref(kwargs);
            return status;
        }
    }
    enum status status;
    if (options->tools_json == NULL || t->needs.tools) {
        status = render(t, options, kwargs, out, fault);
    } else { /* tools as text: in a system message, or in the user's if it takes none */
        struct chat_options texts = *options;
        struct pile pile;
        pile_init(&pile);
        chat_tools_show(options, true, &pile, &texts);
        status = render(t, &texts, kwargs, out, fault);
        if (status != STATUS_OK) {
            chat_tools_show(options, false, &pile, &texts);
            status = render(t, &texts, kwargs, out, fault);
        }
        pile_free(&pile);
    }
    json_decref(kwargs);
    return status;
}
