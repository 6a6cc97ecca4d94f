/* The filters, by name. */
#pragma once
#include "template/jinja_args.h"

struct jinja_filter;
/* Returns NULL when there is no filter of this name here. */
const struct jinja_filter *jinja_filter_find(struct view name);
/* Returns whether jinja2 has a filter of this name that is refused here. */
bool jinja_filter_is_refused(struct view name);
struct jinja_value jinja_filter_apply(struct jinja_run *run, const struct jinja_filter *filter,
                                      struct jinja_value v, const struct jinja_args *args);
/* Calls a filter by a name that is a value, as map does. The run fails when there is no such
 * filter. */
struct jinja_value jinja_filter_call(struct jinja_run *run, struct jinja_value name,
                                     struct jinja_value v, const struct jinja_args *args);
