/* The global functions. */
#pragma once
#include "template/jinja_args.h"

struct jinja_function;
/* Returns NULL when there is no function of this name. */
const struct jinja_function *jinja_function_find(struct view name);
struct jinja_value jinja_function_call(struct jinja_run *run, const struct jinja_function *function,
                                       const struct jinja_args *args);
/* Returns whether jinja2 has this function and it is refused here, because its result is random. */
bool jinja_function_is_refused(struct view name);
