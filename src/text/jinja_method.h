/* Methods of strings, lists, dictionaries and loops. */
#pragma once
#include "text/jinja_eval.h"

bool jinja_method_is_known(struct jinja_value self, struct view name);
struct jinja_value jinja_method_call(struct jinja_run *run, const struct jinja_method *method,
                                     const struct jinja_args *args);
