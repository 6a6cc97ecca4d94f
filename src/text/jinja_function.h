/* Global functions of templates. */
#pragma once
#include "text/jinja_eval.h"

bool jinja_function_is_known(struct view name);
struct jinja_value jinja_function_call(struct jinja_run *run, struct view name,
                                       const struct jinja_args *args);
