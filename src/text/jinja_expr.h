/* Parsing expressions. */
#pragma once
#include "text/jinja_parse.h"

/* allow_cond: a conditional expression may stand here ("a if b else c"). Never NULL. */
struct jinja_node *jinja_expr_parse(struct jinja_parse *p, bool allow_cond);
/* One or more separated by commas: a TUPLE when there is a comma. */
struct jinja_node *jinja_expr_tuple(struct jinja_parse *p, bool allow_cond);
struct jinja_node *jinja_expr_target(struct jinja_parse *p); /* of for and set */
/* One filter from its name on, and a chain of "|filter" and "is test". of NULL: of a block. */
struct jinja_node *jinja_expr_filter(struct jinja_parse *p, struct jinja_node *of);
struct jinja_node *jinja_expr_filters(struct jinja_parse *p, struct jinja_node *of);
