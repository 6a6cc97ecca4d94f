/* The variables of a template: messages, special tokens and others, as transformers passes them. */
#pragma once
#include "template/chat_template.h"

/* Sets run->context. kwargs is a json_t or NULL. */
void chat_context_make(struct jinja_run *run, const struct chat_template *t,
                       const struct chat_options *options, const void *kwargs);
