/* Operators on values. */
#pragma once
#include "text/jinja_value.h"

struct jinja_value jinja_arith_unary(struct jinja_run *run, enum jinja_op op, struct jinja_value v);
struct jinja_value jinja_arith_binary(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                                      struct jinja_value b);
bool jinja_arith_compare(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                         struct jinja_value b);
/* of[start:stop:step]; NONE: not given. */
struct jinja_value jinja_arith_slice(struct jinja_run *run, struct jinja_value of,
                                     const struct jinja_value bounds[3]);
