/* Python's "...".format(...), as in jinja2's sandbox. */
#pragma once
#include "template/jinja_args.h"

/* Returns a STRING. */
struct jinja_value jinja_brace_format(struct jinja_run *run, struct view format,
                                      const struct jinja_args *args);
/* Does format(v, spec) alone. */
void jinja_brace_field(struct jinja_run *run, struct jinja_value v, struct view spec,
                       struct str *out);
