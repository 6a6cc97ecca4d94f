/* Running statements. */
#pragma once
#include "template/jinja_args.h"
#include "template/jinja_node.h"

/* Runs a whole template. root describes its variables. */
void jinja_exec_template(struct jinja_run *run, const struct jinja_node *body,
                         const struct jinja_block *root);
struct jinja_value jinja_exec_macro(struct jinja_run *run, const struct jinja_macro *macro,
                                    const struct jinja_args *args);
/* Runs loop(items) in a recursive loop. */
struct jinja_value jinja_exec_recursion(struct jinja_run *run, const struct jinja_loop *loop,
                                        const struct jinja_args *args);
