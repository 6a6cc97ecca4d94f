/* Running statements. */
#pragma once
#include "text/jinja_eval.h"

void jinja_exec(struct jinja_run *run, const struct jinja_node *list);
/* Binds a name in the innermost scope. */
void jinja_exec_bind(struct jinja_run *run, struct view name, struct jinja_value value);
struct jinja_value jinja_exec_macro(struct jinja_run *run, const struct jinja_node *macro,
                                    const struct jinja_args *args);
