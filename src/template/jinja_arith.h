/* Arithmetic and slices. */
#pragma once
#include "template/jinja_node.h"

struct jinja_value jinja_arith_unary(struct jinja_run *run, enum jinja_op op, struct jinja_value v);
struct jinja_value jinja_arith_binary(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                                      struct jinja_value b);
/* Computes of[first:end:step]. An absent bound is NONE. */
struct jinja_value jinja_arith_slice(struct jinja_run *run, struct jinja_value of,
                                     const struct jinja_value bounds[3]);
/* Returns a RANGE. step is not 0. The run fails for more than JINJA_RANGE_MAX items. */
struct jinja_value jinja_arith_range(struct jinja_run *run, int64_t start, int64_t stop,
                                     int64_t step);
