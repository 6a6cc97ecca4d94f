/* Parsing expressions. */
#pragma once
#include "template/jinja_parse.h"

/* Parses an expression. allows_cond: it may be conditional ("a if b else c"). Never returns
 * NULL. */
struct jinja_node *jinja_expr_parse(struct jinja_parse *p, bool allows_cond);
/* Parses one or more separated by commas. Returns a TUPLE when there is a comma. */
struct jinja_node *jinja_expr_tuple(struct jinja_parse *p, bool allows_cond);
/* Does the same without conditional expressions. This name ends it too. */
struct jinja_node *jinja_expr_tuple_until(struct jinja_parse *p, const char *end);
/* Parses the target of an assignment, which may be an attribute of a namespace where allowed. end
 * is a name that ends it, or NULL. */
struct jinja_node *jinja_expr_target(struct jinja_parse *p, bool allows_attribute, const char *end);
/* Sets the use of all names in a target. */
void jinja_expr_use(struct jinja_node *target, enum jinja_use use);
