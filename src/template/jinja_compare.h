/* Python's comparisons: ==, the orders, and in. */
#pragma once
#include "template/jinja_node.h"

bool jinja_compare_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
/* Returns whether a and b are equal or the same object, which is how containers compare items. */
bool jinja_compare_same(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
/* Evaluates one of the six orders, "in" or "not in". */
bool jinja_compare(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                   struct jinja_value b);
bool jinja_compare_in(struct jinja_run *run, struct jinja_value item, struct jinja_value container);
/* Returns a < b for keys of a sort. NaN is refused, since its place depends on the algorithm. */
bool jinja_compare_less(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
