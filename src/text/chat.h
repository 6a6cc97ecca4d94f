/* Chat templates: the subset of Jinja that real models use, compiled once, run with bounds on
 * steps, depth and output. */
#pragma once
#include "base/str.h"
#include "base/status.h"

struct chat_template;

enum status chat_template_open(struct chat_template **out, const char *source,
                               struct fault *fault) MUST_USE;
void chat_template_close(struct chat_template *t);

struct chat_message {
    const char *role;
    const char *content;   /* zero-terminated UTF-8 */
    const char *name;      /* NULL = absent */
    const char *more_json; /* an object of further fields (tool_calls, tool_call_id), NULL = none */
};
struct chat_options {
    const struct chat_message *messages;
    int n_messages;
    bool add_generation_prompt;
    const char *bos_token, *eos_token; /* texts, "" when none */
    const char *kwargs_json;           /* chat_template_kwargs: a JSON object, NULL = none */
};
/* Appends the prompt. STATUS_BAD_INPUT carries the template's own raise_exception message. */
enum status chat_template_render(const struct chat_template *t, const struct chat_options *options,
                                 struct str *out, struct fault *fault) MUST_USE;
