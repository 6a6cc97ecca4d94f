/* Evaluating expressions. */
#pragma once
#include "text/jinja_value.h"

struct jinja_args {
    struct jinja_value at[JINJA_ARGS_MAX];
    int n;
    struct jinja_binding named[JINJA_ARGS_MAX];
    int n_named;
};
/* The argument at a place or of a name; NULL when it is not given. */
const struct jinja_value *jinja_eval_arg(const struct jinja_args *args, int index,
                                         const char *name);

struct jinja_value jinja_eval(struct jinja_run *run, const struct jinja_node *node);
struct jinja_value jinja_eval_attr(struct jinja_run *run, struct jinja_value of, struct view name);
struct jinja_value jinja_eval_item(struct jinja_run *run, struct jinja_value of,
                                   struct jinja_value key);
/* Applies a chain of filters (of a block) to a value. */
struct jinja_value jinja_eval_filters(struct jinja_run *run, const struct jinja_node *chain,
                                      struct jinja_value v);
