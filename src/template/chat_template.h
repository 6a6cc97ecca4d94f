/* The inside of chat templates, shared by chat.c, its context, its probes and its check. */
#pragma once
#include "template/chat.h"
#include "template/jinja_node.h"

struct chat_template {
    struct pile pile;
    struct jinja_node *body;
    struct jinja_block root;
    void *specials; /* a json_t of jansson, NULL: none */
    char *time;
    struct chat_needs needs;
};
/* Renders without a check of the result. kwargs is a json_t or NULL. On failure out is as
 * before. */
enum status chat_template_run(const struct chat_template *t, const struct chat_options *options,
                              const void *kwargs, int64_t steps_max, struct str *out,
                              struct fault *fault) MUST_USE;
