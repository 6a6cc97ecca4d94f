/* Chat templates: Jinja as in transformers, compiled once, and run with bounds on steps, depth,
 * memory and output.
 *
 * Opening a template renders a few probes. They show whether it expects a message's content as text
 * or as parts, the arguments of tool calls as text or as objects, and whether it shows tools. For a
 * template that shows none, tools and their calls become text of messages (chat_tools.h). A
 * rendering that loses a message's text is an error. */
#pragma once
#include "base/status.h"
#include "base/str.h"

struct chat_template;

struct chat_source {
    const char *text;          /* of the template, zero-terminated */
    const char *specials_json; /* the special tokens by name: a JSON object; NULL = none */
    const char *time; /* time for strftime_now, in a form that chat_time_is_valid accepts; NULL =
                         the local time */
};
/* The template of ChatML, for models that have none. */
extern const char chat_chatml[];
/* Compiles a template. STATUS_UNSUPPORTED names the construct, and its line. */
enum status chat_template_open(struct chat_template **out, const struct chat_source *source,
                               struct fault *fault) MUST_USE;
void chat_template_close(struct chat_template *t);
const char *chat_template_text(const struct chat_template *t); /* as it was opened */

/* Accepts "2026-01-31" and "2026-01-31T12:30:00". */
bool chat_time_is_valid(const char *text);

struct chat_message {
    const char *role;
    const char
        *content;     /* zero-terminated UTF-8: a text, or all parts joined; NULL: none of them */
    const char *name; /* NULL = absent */
    const char *more_json;    /* an object of further fields (tool_calls, reasoning_content), NULL =
                                 none */
    const char *const *parts; /* content as parts of text; NULL: it was no array */
    int32_t n_parts;
    bool is_null; /* content is null; without it and without a text, content is absent */
};
struct chat_options {
    const struct chat_message *messages;
    int n_messages;
    bool add_generation_prompt;
    const char *kwargs_json; /* chat_template_kwargs: a JSON object, NULL = none */
    const char *tools_json;  /* a JSON array of functions in OpenAI's form, NULL = none */
};
/* Appends the prompt. STATUS_BAD_INPUT carries the template's own raise_exception message. */
enum status chat_template_render(const struct chat_template *t, const struct chat_options *options,
                                 struct str *out, struct fault *fault) MUST_USE;

/* The results of the probes. */
struct chat_needs {
    bool text, parts; /* content as a text, as an array of parts; neither: not known */
    bool objects;     /* arguments of tool calls as objects */
    bool tools;       /* it shows the tools that a request offers */
};
struct chat_needs chat_template_needs(const struct chat_template *t);
