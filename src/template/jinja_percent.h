/* Python's "..." % values. */
#pragma once
#include "template/jinja.h"

/* Formats values: a TUPLE of arguments, a DICT for %(name)s, or one argument. Returns a STRING. */
struct jinja_value jinja_percent_format(struct jinja_run *run, struct view format,
                                        struct jinja_value values);
