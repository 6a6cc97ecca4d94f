/* The nodes of a parsed template, and the results of the scope pass about their variables. */
#pragma once
#include "template/jinja.h"

enum jinja_node_kind { /* children in the order in which jinja2 visits them */
                       /* expressions */
                       JINJA_NODE_LITERAL,
                       JINJA_NODE_NAME,      /* text */
                       JINJA_NODE_NSREF,     /* text.attr, to be assigned */
                       JINJA_NODE_LIST,      /* a: items */
                       JINJA_NODE_TUPLE,     /* a: items */
                       JINJA_NODE_DICT,      /* a: key, value, key, value ... */
                       JINJA_NODE_ATTR,      /* a.text */
                       JINJA_NODE_ITEM,      /* a[b] */
                       JINJA_NODE_SLICE,     /* a[b:c:d]; b, c and d may be NULL */
                       JINJA_NODE_CALL,      /* a(b ...) */
                       JINJA_NODE_KEYWORD,   /* text=a, among arguments */
                       JINJA_NODE_STAR,      /* *a */
                       JINJA_NODE_STAR_STAR, /* **a */
                       JINJA_NODE_FILTER,    /* a|text(b ...); a NULL: the text of a block */
                       JINJA_NODE_TEST,      /* a is text(b ...) */
                       JINJA_NODE_UNARY,     /* op a */
                       JINJA_NODE_BINARY,    /* a op b */
                       JINJA_NODE_CONCAT,    /* a: operands of ~ */
                       JINJA_NODE_COMPARE,   /* a, then b: a chain of OPERAND */
                       JINJA_NODE_OPERAND,   /* op a */
                       JINJA_NODE_AND,
                       JINJA_NODE_OR,
                       JINJA_NODE_NOT,
                       JINJA_NODE_COND, /* b if a else c */
                       /* statements */
                       JINJA_NODE_TEXT,  /* text */
                       JINJA_NODE_PRINT, /* a: expressions */
                       JINJA_NODE_IF,  /* a: condition, b: body, c: the elif branches (IF), d: else
                                          body */
                       JINJA_NODE_FOR, /* a: target, b: iterable, c: body, d: else body, e:
                                          condition */
                       JINJA_NODE_SET, /* a: target, b: value */
                       JINJA_NODE_CAPTURE, /* set block; a: target, b: filters or NULL, c: body */
                       JINJA_NODE_MACRO,   /* text; a: parameters (NAME), b: defaults of the last
                                              ones, c: body */
                       JINJA_NODE_CALL_BLOCK, /* a: parameters, b: defaults, c: body, d: the CALL */
                       JINJA_NODE_GENERATION, /* c: body: a call block of a function that returns
                                                 its text */
                       JINJA_NODE_FILTERED,   /* filter block; a: body, b: filters */
                       JINJA_NODE_WITH,       /* a: targets, b: values, c: body */
                       JINJA_NODE_BREAK,
                       JINJA_NODE_CONTINUE,
};
enum jinja_op {
    JINJA_ADD,
    JINJA_SUB,
    JINJA_MUL,
    JINJA_DIV,
    JINJA_FLOOR_DIV,
    JINJA_MOD,
    JINJA_POW,
    JINJA_EQ,
    JINJA_NE,
    JINJA_LT,
    JINJA_LE,
    JINJA_GT,
    JINJA_GE,
    JINJA_IN,
    JINJA_NOT_IN,
};
enum jinja_use { JINJA_LOAD, JINJA_STORE, JINJA_PARAM }; /* of a NAME */

/* A variable: a slot of the function that is `hops` functions out from the reader. */
struct jinja_slot {
    int32_t hops, index;
};
enum jinja_load_kind {
    JINJA_LOAD_PARAMETER, /* set by the code that enters */
    JINJA_LOAD_RESOLVE,   /* looked up in the caller's variables */
    JINJA_LOAD_ALIAS,     /* begins with the value of a variable further out */
    JINJA_LOAD_UNDEFINED,
};
struct jinja_load {
    enum jinja_load_kind kind;
    int32_t slot; /* of the function that enters */
    struct jinja_slot from;
    struct view name;
};
struct jinja_scope { /* done when it is entered; on leaving, its slots become MISSING */
    const struct jinja_load *loads;
    int32_t n_loads;
};
struct jinja_block {                /* of a statement that opens scopes */
    struct jinja_scope scope;       /* of its body */
    struct jinja_scope else_scope;  /* FOR */
    struct jinja_scope test_scope;  /* FOR with a condition */
    struct jinja_node *test_target; /* its target, with the variables of the condition's function */
    int32_t n_slots;      /* of its own function: MACRO, CALL_BLOCK, GENERATION, recursive FOR */
    int32_t n_test_slots; /* FOR with a condition */
    int32_t loop_slot;    /* FOR; -1: the body does not use loop */
    int32_t caller, kwargs, varargs; /* slots of a macro; -1: not used */
};
struct jinja_node {
    enum jinja_node_kind kind;
    enum jinja_op op;
    enum jinja_use use;
    bool is_negated;   /* TEST: is not */
    bool is_recursive; /* FOR */
    bool is_constant;  /* it consists of literals alone: jinja2 evaluates it when it compiles */
    bool is_unchecked; /* NAME: jinja2 reads the variable without a check for a value */
    int16_t depth;     /* of the tree below */
    int32_t line;
    struct view text, attr;
    struct jinja_value literal;
    const void *row; /* FILTER, TEST: its row in the table; NULL: jinja2 has none of this name */
    struct jinja_slot slot; /* NAME, NSREF, MACRO */
    struct jinja_block *block;
    struct jinja_node *a, *b, *c, *d, *e;
    struct jinja_node *next; /* in a list */
};
