/* Python's comparisons: ==, the orders, and in. */
#pragma once
#include "template/jinja_node.h"

bool jinja_compare_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
/* Equal or the same object, as containers compare their items. */
bool jinja_compare_same(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
/* One of the six orders and in, not in. */
bool jinja_compare(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                   struct jinja_value b);
bool jinja_compare_in(struct jinja_run *run, struct jinja_value item, struct jinja_value container);
/* a < b of keys of a sort: NaN, whose place depends on the algorithm, is refused. */
bool jinja_compare_less(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
