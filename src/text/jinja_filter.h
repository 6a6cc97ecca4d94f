/* Filters: "value|name(arguments)". */
#pragma once
#include "text/jinja_eval.h"

bool jinja_filter_is_known(struct view name);
struct jinja_value jinja_filter_apply(struct jinja_run *run, struct view name, struct jinja_value v,
                                      const struct jinja_args *args);
