/* The global functions. */
#pragma once
#include "template/jinja_args.h"

struct jinja_function;
/* NULL: there is none of this name. */
const struct jinja_function *jinja_function_find(struct view name);
struct jinja_value jinja_function_call(struct jinja_run *run, const struct jinja_function *function,
                                       const struct jinja_args *args);
/* Whether jinja2 has it and it is refused here, since its result is drawn by chance. */
bool jinja_function_is_refused(struct view name);
