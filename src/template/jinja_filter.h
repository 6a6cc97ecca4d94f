/* The filters, by name. */
#pragma once
#include "template/jinja_args.h"

struct jinja_filter;
/* NULL: there is none of this name here. */
const struct jinja_filter *jinja_filter_find(struct view name);
/* Whether jinja2 has a filter of this name that is refused here. */
bool jinja_filter_is_refused(struct view name);
struct jinja_value jinja_filter_apply(struct jinja_run *run, const struct jinja_filter *filter,
                                      struct jinja_value v, const struct jinja_args *args);
/* By a name that is a value, as map has it; fails the run when there is none. */
struct jinja_value jinja_filter_call(struct jinja_run *run, struct jinja_value name,
                                     struct jinja_value v, const struct jinja_args *args);
