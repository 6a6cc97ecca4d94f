/* The variables of a template: messages, special tokens and others, as transformers passes them. */
#pragma once
#include "template/chat.h"
#include "template/jinja_node.h"

struct chat_template {
    struct pile pile;
    struct jinja_node *body;
    struct jinja_block root;
    void *specials; /* a json_t of jansson, NULL: none */
    char *time, *text;
    struct chat_needs needs;
};
/* Sets run->context. kwargs is a json_t or NULL. */
void chat_context_make(struct jinja_run *run, const struct chat_template *t,
                       const struct chat_options *options, const void *kwargs);
