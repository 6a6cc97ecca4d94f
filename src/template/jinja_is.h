/* The tests ("x is ..."), by name. */
#pragma once
#include "template/jinja_args.h"

struct jinja_is;
const struct jinja_is *jinja_is_find(struct view name); /* NULL: jinja2 has none of this name */
bool jinja_is_apply(struct jinja_run *run, const struct jinja_is *test, struct jinja_value v,
                    const struct jinja_args *args);
/* Applies a test by a name that is a value, as select does. The run fails when there is no such
 * test. */
bool jinja_is_call(struct jinja_run *run, struct jinja_value name, struct jinja_value v,
                   const struct jinja_args *args);
