/* Parsing expressions and their operands. Each needs the other, because of brackets and arguments.
 */
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

/* Operands (jinja_operand.c). No function returns NULL. */
struct jinja_node *jinja_operand_literal(struct jinja_parse *p, struct jinja_value value);
/* Parses an operand with its signs, and with its filters and tests where they bind here. */
struct jinja_node *jinja_operand_parse(struct jinja_parse *p, bool with_filters);

enum jinja_operand_items { /* of a tuple */
                           JINJA_ITEMS_CONDITIONAL,
                           JINJA_ITEMS_PLAIN,
                           JINJA_ITEMS_TARGETS,
                           JINJA_ITEMS_SET_TARGETS
};
/* Does jinja2's parse_tuple: returns a TUPLE when there is a comma, or nothing in parentheses. end
 * is a name that ends it, or NULL. */
struct jinja_node *jinja_operand_tuple(struct jinja_parse *p, enum jinja_operand_items what,
                                       const char *end, bool in_parentheses);
/* Parses the chain "|a|b". A NULL `of` stands for the text of a block. */
struct jinja_node *jinja_operand_filters(struct jinja_parse *p, struct jinja_node *of);
/* Parses "a|b" of a filter block, which has no bar before the first filter. */
struct jinja_node *jinja_operand_first_filter(struct jinja_parse *p);
