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

/* The filters that return a generator (jinja_generator.c), for the table of filters: map, select
 * and similar ones, unique, batch, slice, items. */
enum jinja_select { /* bits */
                    JINJA_REJECTS = 1,
                    JINJA_OF_ATTRIBUTE = 2
};
jinja_callee jinja_generator_map, jinja_generator_select, jinja_generator_unique,
    jinja_generator_batch, jinja_generator_slice, jinja_generator_items;
