/* Parsing expressions. */
#pragma once
#include "template/jinja_parse.h"

/* allows_cond: a conditional expression may stand here ("a if b else c"). Never NULL. */
struct jinja_node *jinja_expr_parse(struct jinja_parse *p, bool allows_cond);
/* One or more separated by commas: a TUPLE when there is a comma. */
struct jinja_node *jinja_expr_tuple(struct jinja_parse *p, bool allows_cond);
/* The same without conditional expressions, up to this name too. */
struct jinja_node *jinja_expr_tuple_until(struct jinja_parse *p, const char *end);
/* What is assigned to; an attribute of a namespace where allowed. end: a name that ends it, or
 * NULL. */
struct jinja_node *jinja_expr_target(struct jinja_parse *p, bool allows_attribute, const char *end);
/* Sets the use of all names in a target. */
void jinja_expr_use(struct jinja_node *target, enum jinja_use use);
