/* From a template's source to its nodes. */
#pragma once
#include "template/jinja_lex.h"
#include "template/jinja_node.h"

struct jinja_parse {
    struct jinja_lex lex;
    struct jinja_run *run; /* memory and failure */
    int32_t n_nodes;
    int depth, n_blocks;     /* of the recursion: expressions, statements */
    struct jinja_node spare; /* returned when memory is gone: the run has failed */
};
/* Returns the list of statements, NULL when it is empty or the run has failed. root describes its
 * variables. */
struct jinja_node *jinja_parse_source(struct jinja_run *run, struct view source,
                                      struct jinja_block *root);

/* The functions below are shared by the parsers of statements (jinja_statement.c) and expressions
 * (jinja_expr.h). */
struct jinja_node *jinja_parse_node(struct jinja_parse *p, enum jinja_node_kind kind,
                                    struct jinja_node *a, struct jinja_node *b,
                                    struct jinja_node *c);
bool jinja_parse_is(const struct jinja_parse *p, const char *text); /* this name or operator */
bool jinja_parse_skip(struct jinja_parse *p, const char *text); /* takes it when it comes next */
void jinja_parse_expect(struct jinja_parse *p, const char *text);
/* Takes a token of this kind, which an error calls `what`. */
void jinja_parse_expect_kind(struct jinja_parse *p, enum jinja_token_kind kind, const char *what);
struct view jinja_parse_name(struct jinja_parse *p); /* takes a name, or fails */
bool jinja_parse_enter(struct jinja_parse *p);       /* one level deeper; false: too deep */
/* Appends to a list, unless the parse has failed. */
void jinja_parse_add(struct jinja_parse *p, struct jinja_node **first, struct jinja_node **last,
                     struct jinja_node *node);
