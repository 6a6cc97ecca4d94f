/* Tests: "value is name(arguments)". */
#pragma once
#include "text/jinja_eval.h"

bool jinja_is_known(struct view name);
bool jinja_is_apply(struct jinja_run *run, struct view name, struct jinja_value v,
                    const struct jinja_args *args);
